"""The job `learning.apply`: applies votes to the graph, with the same result in any order and after any retries.

The earlier effect of each pending vote is first undone, then its present one applied. Conduits, effects and the mark
`applied` are written in one commit. Votes that were given or changed meanwhile wait for the next run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from fluxcore import clock, config, events, raw_sql
from fluxcore.work.run import Apply, Run
from memory.arena.changes import Changes, conduit_array
from memory.clusters import cluster_use, context_shift
from memory.embedding import active_encoder
from memory.engine.index.dense import quantise
from memory.engine.text import words
from memory.grains.lifecycle import jobs as lifecycle_jobs
from memory.grains.lifecycle import revive
from memory.grains.lifecycle.rules import QUARANTINED
from memory.grains.models import Conduit, DecayClass, Entry, Grain, JudgedQuestion, Relation, Trace, Vote, VoteEffect
from memory.learning import credit, jobs, pairs, ranker_weights, weights
from memory.learning.credit import ConduitCredit
from memory.learning.weights import ConduitUses
from memory.recall import filters, trace_record

PAGE = 200  # votes of one commit
MOST_WORDS = 8  # words of a question that are linked to a grain useful for it
_VOTES, _EFFECTS, _CONDUITS = Vote._meta.db_table, VoteEffect._meta.db_table, Conduit._meta.db_table
_WAITING = (
    "SELECT v.id, v.judged_id, v.grain_id, v.useful, v.strength, v.scale, v.missed, v.at, v.undone_at, j.query, "  # noqa: S608
    f"j.uuid, g.text FROM {_VOTES} v JOIN {JudgedQuestion._meta.db_table} j ON j.id = v.judged_id "
    f"JOIN {Grain._meta.db_table} g ON g.id = v.grain_id "
    "WHERE v.space_id = %s AND NOT v.applied ORDER BY v.id LIMIT %s"
)
# Rows are locked on PostgreSQL: a vote that is withdrawn at the same time must not be marked as applied.
_HELD = {"postgresql": f"{_WAITING} FOR UPDATE OF v", "sqlite": _WAITING}
_APPLIED = f"UPDATE {_VOTES} SET applied = %s WHERE id = %s"  # noqa: S608
_EFFECT = ("space", "vote", "conduit", "gain", "loss")
_ENTRY = ("space", "kind", "feature")
_OR_FIND = (
    f"ON CONFLICT (space_id, kind, feature) DO UPDATE SET kind = {Entry._meta.db_table}.kind RETURNING id, feature"
)
_BORN = (
    "space",
    "from_entry",
    "to_grain",
    "relation",
    "weight",
    "affinity",
    "decay_class",
    "made_at",
    "used_at",
    "use_count",
    "base",
    "gain",
    "loss",
)
_OR_THERE = (
    "ON CONFLICT (space_id, from_entry_id, to_grain_id, relation) WHERE from_grain_id IS NULL "
    f"DO UPDATE SET relation = {_CONDUITS}.relation RETURNING id, from_entry_id, to_grain_id"
)


@dataclass(frozen=True)
class PendingVote:
    """A vote that is not applied yet, as read from the database."""

    id: int
    judged: int
    grain: int
    useful: bool
    strength: float
    scale: float
    missed: bool
    at: Any
    undone: bool
    query: str
    trace: Any
    text: str

    @property
    def given(self) -> int:
        """Time of the vote in whole seconds."""
        return filters.epoch_seconds(clock.parse(clock.rfc3339(self.at) or ""))


def apply_votes(run: Run) -> Apply | None:
    """The handler of `learning.apply`."""
    space = run.space
    if space is None:
        return None
    seen = _waiting(space)
    vectors = _encoded({vote.judged: vote.query for vote in seen if not vote.undone})
    return (lambda: _apply(run, space, seen, vectors)) if seen else None


def _waiting(space: int, statement: str = _WAITING) -> list[PendingVote]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [space, PAGE])
        found = cursor.fetchall()
    return [
        PendingVote(
            number,
            judged,
            grain,
            bool(useful),
            strength,
            scale,
            bool(missed),
            at,
            undone is not None,
            query,
            trace,
            text,
        )
        for number, judged, grain, useful, strength, scale, missed, at, undone, query, trace, text in found
    ]


def _encoded(queries: dict[int, str]) -> tuple[str, dict[int, tuple[float, bytes]]]:
    """Vectors of the questions by the active encoder, if there is one."""
    encoder = active_encoder.load_encoder() if queries else None
    if encoder is None:
        return "", {}
    found: dict[int, tuple[float, bytes]] = {}
    for number, query in queries.items():
        vector = active_encoder.encode_query(query)
        if vector is not None:
            data, scale = quantise(vector[None, :])
            found[number] = float(scale[0]), data[0].tobytes()
    return encoder.name, found


def _apply(
    run: Run, space: int, seen: Sequence[PendingVote], vectors: tuple[str, dict[int, tuple[float, bytes]]]
) -> None:
    current = {vote.id: vote for vote in _waiting(space, _HELD[connection.vendor])}
    votes = [vote for vote in seen if current.get(vote.id) == vote]  # others changed meanwhile
    if not votes:
        jobs.ask_for_learning(space)
        return
    earlier = _effects(space, [vote.id for vote in votes])
    after, born = _planned(space, votes)
    change, uses = _taken_back(earlier)
    for vote in votes:
        for conduit, step in after[vote.id].items():
            change[conduit] += step
            if vote.useful:
                uses.add(conduit, vote.given)
    _write_effects(space, earlier, after)
    brought = weights.apply_credits(change, born, uses)
    cluster_use.update_cluster_use(space, [vote.id for vote in votes])
    context_shift.detect_shift(space)
    shortcuts = pairs.recount_pairs(space, {vote.judged for vote in votes}, [vote.id for vote in votes], change)
    with connection.cursor() as cursor:
        cursor.executemany(_APPLIED, [(True, vote.id) for vote in votes])
    _keep_vectors(vectors)
    revive.revive_used(space, [vote.grain for vote in votes if vote.useful and not vote.undone])
    questions = tuple(sorted({vote.judged for vote in votes}))
    packed = Changes(
        (), conduit_array([*brought.changed, *shortcuts.made]), (*brought.gone, *shortcuts.cut), questions
    ).pack()
    data = {
        "votes": len(votes),
        "conduits": len(brought.changed),
        "questions": len(questions),
        "shortcuts": len(shortcuts.made),
        **brought.moved.told(),
    }
    done = f"{len(brought.changed)} links changed, {len(brought.gone)} removed"
    run.say(f"{len(votes)} ratings on {len(questions)} questions: {done}.")
    events.append("votes.applied", space=space, actor="worker", subject="", data=data, packed=packed)
    if len(current) == PAGE or len(votes) < len(seen):
        jobs.ask_for_learning(space)
    ranker_weights.request_fitting(space, at_once=any(vote.undone for vote in votes))
    put_away = Grain.objects.filter(id__in={vote.grain for vote in votes if vote.undone}, status=QUARANTINED)
    if put_away.exists():
        lifecycle_jobs.age(space)  # these votes may change statuses


def unlearn_votes(space: int, votes: Sequence[int]) -> tuple[list[tuple[object, ...]], list[int]]:
    """Undo these votes permanently, inside a write; returns changed conduits for the arena, and removed ones."""
    Vote.objects.filter(space=space, id__in=votes).update(undone_at=clock.now(), applied=True)
    earlier = _effects(space, votes)
    change, uses = _taken_back(earlier)
    _write_effects(space, earlier, {vote: {} for vote in votes})
    brought = weights.apply_credits(change, (), uses)
    judged = set(Vote.objects.filter(space=space, id__in=votes).values_list("judged_id", flat=True))
    shortcuts = pairs.recount_pairs(space, judged, votes, change) if votes else pairs.ShortcutChanges()
    return [*brought.changed, *shortcuts.made], [*brought.gone, *shortcuts.cut]


def _taken_back(effects: dict[int, dict[int, ConduitCredit]]) -> tuple[dict[int, ConduitCredit], ConduitUses]:
    """Credits that undo these effects, and the conduits whose uses must be counted again."""
    change: dict[int, ConduitCredit] = defaultdict(ConduitCredit)
    for of in effects.values():
        for conduit, step in of.items():
            change[conduit] += ConduitCredit(-step.gain, -step.loss)
    return change, ConduitUses(again=set(change))


def _effects(space: int, votes: Sequence[int]) -> dict[int, dict[int, ConduitCredit]]:
    """Effects of these votes when they were last applied, by vote and conduit."""
    found: dict[int, dict[int, ConduitCredit]] = {vote: {} for vote in votes}
    for vote, conduit, gain, loss in VoteEffect.objects.filter(space=space, vote__in=votes).values_list(
        "vote_id", "conduit_id", "gain", "loss"
    ):
        found[vote][conduit] = ConduitCredit(gain, loss)
    return found


def _planned(space: int, votes: Sequence[PendingVote]) -> tuple[dict[int, dict[int, ConduitCredit]], set[int]]:
    """Present effect of each vote, and the conduits that exist only because of it."""
    settings = config.current()
    standing = [vote for vote in votes if not vote.undone]
    paths = _paths(standing)
    entry_links = _create_entry_links(space, standing)
    existing = set(
        Conduit.objects.filter(space=space, id__in={one for path, _ in paths.values() for one in path}).values_list(
            "id", flat=True
        )
    )
    after: dict[int, dict[int, ConduitCredit]] = {vote.id: {} for vote in votes}
    for vote in standing:
        path, share = paths.get(vote.id, ([], 0.0))
        amount = vote.strength * vote.scale
        for conduit in path:
            if conduit in existing:
                after[vote.id][conduit] = (
                    credit.credit_useful(settings.LEARNING_RATE, amount * share)
                    if vote.useful
                    else credit.credit_harmful(settings.DECAY_FACTOR, amount * share)
                )
        for conduit in entry_links.get(vote.id, ()):
            after[vote.id][conduit] = credit.credit_useful(settings.INITIAL_ENTRY_WEIGHT, vote.strength)
    return after, {conduit for some in entry_links.values() for conduit in some}


def _paths(votes: Sequence[PendingVote]) -> dict[int, tuple[list[int], float]]:
    """Conduits of the path to each grain and their share of the credit; none if the trace was deleted."""
    bodies = {
        one: trace_record.unpack_trace(body)
        for one, body in Trace.objects.filter(uuid__in={vote.trace for vote in votes}).values_list("uuid", "body")
    }
    texts = dict(Grain.objects.filter(id__in={vote.grain for vote in votes}).values_list("id", "uuid"))
    found: dict[int, tuple[list[int], float]] = {}
    for vote in votes:
        body = bodies.get(vote.trace if not isinstance(vote.trace, str) else _uuid(vote.trace))
        for grain in body["grains"] if body else ():
            if grain["id"] == str(texts[vote.grain]):
                found[vote.id] = [step["conduit"] for step in grain["path"]], credit.path_credit(grain["parts"])
    return found


def _uuid(value: str) -> Any:
    return Trace._meta.get_field("uuid").to_python(value)


def _create_entry_links(space: int, votes: Sequence[PendingVote]) -> dict[int, list[int]]:
    """Link words of a question to its useful grain if the grain does not have them; conduits by vote."""
    wanted: dict[int, list[str]] = {}
    for vote in votes:
        if vote.useful:
            held = set(words.terms(vote.text))
            terms = [term for term in dict.fromkeys(words.terms(vote.query)) if term not in held]
            wanted[vote.id] = sorted(terms, key=lambda term: (-len(term), term))[:MOST_WORDS]
    features = sorted({term[:128] for terms in wanted.values() for term in terms})
    if not features:
        return {}
    kind = Entry.Kind.TERM.value
    entries = {
        feature: number
        for number, feature in raw_sql.upsert(Entry, _ENTRY, [(space, kind, one) for one in features], _OR_FIND)
    }
    by_vote = {vote.id: vote for vote in votes}
    ends = sorted({(entries[term[:128]], by_vote[vote].grain) for vote, terms in wanted.items() for term in terms})
    at = int(clock.now().timestamp())
    values = [
        (space, entry, grain, Relation.RELATED.value, 0.0, 1.0, DecayClass.WORKING.value, at, at, 0, 0.0, 0, 0)
        for entry, grain in ends
    ]
    numbers = {(entry, grain): number for number, entry, grain in raw_sql.upsert(Conduit, _BORN, values, _OR_THERE)}
    return {
        vote: [numbers[entries[term[:128]], by_vote[vote].grain] for term in terms] for vote, terms in wanted.items()
    }


def _write_effects(
    space: int, earlier: dict[int, dict[int, ConduitCredit]], present: dict[int, dict[int, ConduitCredit]]
) -> None:
    changed = [vote for vote in present if earlier[vote] != present[vote]]
    if any(earlier[vote] for vote in changed):
        VoteEffect.objects.filter(space=space, vote__in=changed).delete()
    found = [
        (space, vote, conduit, step.gain, step.loss) for vote in changed for conduit, step in present[vote].items()
    ]
    if found:
        raw_sql.insert(VoteEffect, _EFFECT, found)


def _keep_vectors(vectors: tuple[str, dict[int, tuple[float, bytes]]]) -> None:
    encoder, found = vectors
    if found:
        with connection.cursor() as cursor:
            cursor.executemany(
                f"UPDATE {JudgedQuestion._meta.db_table} SET encoder = %s, scale = %s, data = %s WHERE id = %s",  # noqa: S608
                [(encoder, scale, data, number) for number, (scale, data) in found.items()],
            )
