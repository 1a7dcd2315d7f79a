"""Replay: measures the effect of learning by recalling a space's judged questions with and without it.

The main figure leaves a question's own votes out, so that it measures what votes on *other* questions taught. The other
figure includes them: the gain when the same question is asked again. Both use a limited sample of the newest questions
on an arena of its own, so that recalls of others are not affected.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from accounts.models import Space
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, config
from fluxcore.errors import Invalid
from fluxcore.work.run import Apply, Run
from memory.arena import coherence, files
from memory.arena.arena import Arena
from memory.arena.build import build_arena
from memory.arena.cache import encoder_name
from memory.arena.changes import Changes, conduit_array
from memory.arena.queries import read_votes
from memory.arena.votes import VoteRow
from memory.embedding import active_encoder
from memory.engine.ranking import recall as engine
from memory.engine.text import question, words
from memory.grains.models import Conduit, JudgedQuestion, Vote, VoteEffect
from memory.health.models import CountedQuestion, SpaceHealth
from memory.learning import credit
from memory.recall import engine_settings, filters
from memory.recall.recall_request import RecallRequest

SAMPLE, MOST = 200, 5_000
LEAST = 20  # judged questions below which no result is given
DEPTH = 10  # places of an answer that nDCG counts
FIRST = 5  # places of an answer that a hit counts


@dataclass(frozen=True)
class ReplayScore:
    """Quality of the answers to a sample: share with a right grain among the first five, and nDCG@10."""

    hit_rate: float
    ndcg: float


@dataclass(frozen=True)
class ReplayOutcome:
    questions: int
    without: ReplayScore  # without any learning
    others: ReplayScore  # with votes on other questions
    own: ReplayScore  # with all votes, also on the question itself

    @property
    def gain(self) -> float:
        return self.others.ndcg - self.without.ndcg

    def shape(self) -> dict[str, Any]:
        return {"questions": self.questions, "gain": round(self.gain, 4)} | {
            name: {key: round(value, 4) for key, value in asdict(getattr(self, name)).items()}
            for name in ("without", "others", "own")
        }


@verb("health.replay", needs="jobs.manage")
def replay_now(call: RunningCall, *, sample: int = SAMPLE, step: Callable[[], object] = lambda: None) -> Change:
    """Replay a space's judged questions now and save the result."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")
    if isinstance(sample, bool) or not isinstance(sample, int) or not 1 <= sample <= MOST:
        raise Invalid(f"sample must be from 1 to {MOST}.", field="sample")
    found = measure_outcome(space, sample, step)
    outcome = found.shape() if found else {"questions": 0}

    def change() -> dict[str, Any]:
        _keep(space, found)
        call.record("", **outcome)
        return outcome

    return change


def replay_space(run: Run) -> Apply | None:
    """The handler of `health.replay`."""
    space = run.space
    found = measure_outcome(space, SAMPLE) if space is not None else None
    if space is None or found is None:
        run.say("No feedback yet, so there is nothing to replay.")
        return None
    run.say(
        f"{found.questions} questions: nDCG {found.without.ndcg:.3f} without feedback, {found.others.ndcg:.3f} with."
    )
    return lambda: _keep(space, found)


def _keep(space: int, found: ReplayOutcome | None) -> None:
    if found is not None and found.questions >= LEAST:
        SpaceHealth.objects.get_or_create(space_id=space)
        SpaceHealth.objects.filter(space=space).update(replay={**found.shape(), "at": int(clock.now().timestamp())})


def judged_question_ids(space: int, sample: int) -> list[int]:
    """Ids of the newest judged questions with a useful vote, whose right answer is therefore known."""
    newest = CountedQuestion.objects.filter(space=space, evidence=True).order_by("-judged")
    return list(newest.values_list("judged", flat=True)[:sample])


def measure_outcome(space: int, sample: int, step: Callable[[], object] = lambda: None) -> ReplayOutcome | None:
    numbers = judged_question_ids(space, sample)
    if not numbers or not Space.objects.filter(pk=space).exists():
        return None
    stage = _ReplayArena(space, numbers)
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for number in numbers:
        for way, found in stage.play(number).items():
            scores[way].append(found)
        step()
    if not scores:
        return None
    return ReplayOutcome(len(scores["own"]), *(_mean(scores[way]) for way in ("without", "others", "own")))


def _mean(scores: Sequence[tuple[float, float]]) -> ReplayScore:
    return ReplayScore(sum(hit for hit, _ in scores) / len(scores), sum(ndcg for _, ndcg in scores) / len(scores))


class _ReplayArena:
    """Private arena of a replay, from which the votes of one question can be removed and restored."""

    def __init__(self, space: int, numbers: Sequence[int]) -> None:
        encoder = encoder_name() if active_encoder.load_encoder() is not None else ""
        self.arena: Arena = files.open_newest(space, encoder) or build_arena(space, encoder)
        coherence.catch_up(self.arena)
        self.space = space
        self.questions = {row.pk: row for row in JudgedQuestion.objects.filter(pk__in=numbers)}
        self.evidence: dict[int, set[int]] = defaultdict(set)
        self.votes: dict[int, int] = {}
        for vote, judged, grain, useful in Vote.objects.filter(
            judged__in=numbers, undone_at=None, implied=False
        ).values_list("pk", "judged_id", "grain_id", "useful"):
            self.votes[vote] = judged
            if useful:
                self.evidence[judged].add(grain)

    def play(self, number: int) -> dict[str, tuple[float, float]]:
        """Scores of one question without learning, without its own votes, and with all; none if its grains are gone."""
        row, right = self.questions.get(number), self.evidence.get(number)
        if row is None or not right:
            return {}
        found = {"own": self._ask(row, right)}
        back = self.leave_out(number)
        found["others"] = self._ask(row, right)
        found["without"] = self._ask(row, right, without=frozenset({"learning"}))
        self.arena.apply((), back, [VoteRow(*one) for one in read_votes(self.space, [number])])
        return found

    def leave_out(self, number: int) -> Changes:
        """Remove a question's own votes from the arrays; returns the conduits that restore its links."""
        taken, back = self._links(number)
        self.arena.apply((), replace(taken, judged=(number,)), ())
        return replace(back, judged=(number,))

    def _ask(self, row: JudgedQuestion, right: set[int], without: frozenset[str] = frozenset()) -> tuple[float, float]:
        # Dates are read as of the time of the question; the present memory answers, so that only votes differ.
        index, now = self.arena.index, clock.now()
        read = question.read_question(row.query, filters.epoch_seconds(row.asked_at))
        allowed = filters.allowed_rows(index, RecallRequest(row.query, DEPTH), filters.STATUS_TIERS[0], now)
        vector = active_encoder.encode_query(row.query)
        if vector is not None and (index.dense is None or len(vector) != index.dense.dimension):
            vector = None
        ranking = engine.recall(
            index,
            read,
            vector,
            allowed=allowed,
            k=DEPTH,
            now=filters.epoch_seconds(now),
            settings=replace(engine_settings.current(), without=without),
        )
        ids = index.column("id")[ranking.rows].tolist()
        same = [
            {grain, *index.column("id")[folded].tolist()} for grain, folded in zip(ids, ranking.folded, strict=True)
        ]
        gains = [1.0 if right & one else 0.0 for one in same]
        best = sum(1 / math.log2(place + 2) for place in range(min(len(right), DEPTH)))
        ndcg = sum(gain / math.log2(place + 2) for place, gain in enumerate(gains)) / best
        return float(any(gains[:FIRST])), min(ndcg, 1.0)

    def _links(self, number: int) -> tuple[Changes, Changes]:
        """Conduits changed by a question's own votes, without those votes and as they are."""
        mine = [vote for vote, judged in self.votes.items() if judged == number]
        own: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for conduit, gain, loss in VoteEffect.objects.filter(space=self.space, vote__in=mine).values_list(
            "conduit_id", "gain", "loss"
        ):
            own[conduit][0] += gain
            own[conduit][1] += loss
        ceiling = config.current().WEIGHT_CEILING
        now: list[tuple[object, ...]] = []
        without_votes: list[tuple[object, ...]] = []
        cut: list[int] = []
        for row in Conduit.objects.filter(pk__in=own).select_related("from_entry").order_by("pk"):
            gain, loss = row.gain - own[row.pk][0], row.loss - own[row.pk][1]
            base = row.weight if row.base is None else row.base
            now.append(_packed(row, row.weight, row.affinity))
            if not gain and not loss and base == 0:
                cut.append(row.pk)  # it exists only because of this question's votes
                continue
            affinity = credit.credited_affinity(gain, loss) if row.from_entry_id else 1.0
            without_votes.append(_packed(row, credit.credited_weight(base, gain, loss, ceiling), affinity))
        return Changes((), conduit_array(without_votes), tuple(cut)), Changes((), conduit_array(now))


def _packed(row: Conduit, weight: float, affinity: float) -> tuple[object, ...]:
    key = words.key(f"{row.from_entry.kind}:{row.from_entry.feature}") if row.from_entry else 0
    return (
        row.pk,
        row.from_entry_id or 0,
        key,
        row.from_grain_id or 0,
        row.to_grain_id,
        weight,
        affinity,
        row.made_at,
        row.used_at,
        row.relation,
        row.decay_class,
    )
