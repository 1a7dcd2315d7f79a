"""The job `grains.decay`: applies the lifecycle rules to the grains of a space, one page per commit."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np

from fluxcore import clock, config, uptime
from fluxcore.work.run import Apply, Run
from memory.clusters.breadth import count_clusters_used
from memory.engine.graph import decay
from memory.grains import decay_settings
from memory.grains.lifecycle import jobs, rules, transitions
from memory.grains.lifecycle.last_use import unused_days
from memory.grains.lifecycle.rules import ACTIVE, DAY, DORMANT, QUARANTINED, GrainFacts
from memory.grains.lifecycle.transitions import WORKER, PlannedTransition
from memory.grains.models import Conduit, Grain, Transition, Vote

PAGE = 1_000
_CLASSES = {value: name for name, value in rules.CLASSES.items()}


@dataclass(frozen=True)
class AgingGrain:
    id: int
    uuid: UUID
    status: str
    decay_class: int
    pinned: bool
    authority: int
    recorded_at: datetime
    writer: str


def age(run: Run) -> Apply | None:
    """The handler of `grains.decay`."""
    space = run.space
    if space is None:
        return None
    doubt = uptime.now().doubt
    if doubt:
        run.say(doubt)
        return None
    found = _page(space, int(run.args.get("after", 0)))
    steps = plan_transitions(space, found)
    more = len(found) == PAGE
    if not steps and not more:
        return None
    return lambda: _apply(run, space, steps, found[-1].id if more else None)


def _page(space: int, after: int) -> list[AgingGrain]:
    found = Grain.objects.filter(space=space, id__gt=after, status__in=(ACTIVE, DORMANT, QUARANTINED)).order_by("id")
    names = ("id", "uuid", "status", "decay_class", "pinned", "authority", "recorded_at", "writer")
    return [AgingGrain(*row) for row in found.values_list(*names)[:PAGE]]


def plan_transitions(space: int, found: list[AgingGrain]) -> list[PlannedTransition]:
    """Transitions of these grains by the rules, from their present state."""
    if not found:
        return []
    now, numbers = clock.now(), [row.id for row in found]
    unused = unused_days(space, {row.id: row.recorded_at for row in found})
    limit = config.current().DORMANCY_UNUSED_DAYS
    faint = [row.id for row in found if row.status == ACTIVE and unused[row.id] >= limit]
    strongest = _strongest(space, faint, int(now.timestamp()))
    status_of, class_of = (transitions.last_transitions(space, numbers, of_class=flag) for flag in (False, True))
    judged, spread = _judged(space, found), count_clusters_used(space, numbers)
    steps = []
    for row in found:
        votes = judged[row.id]
        known = GrainFacts(
            row.status,
            row.decay_class,
            row.pinned,
            row.authority,
            strongest.get(row.id, 1.0),
            unused[row.id],
            _days(status_of.get(row.id), row.status, now),
            *_by_whom(class_of.get(row.id), _CLASSES[row.decay_class]),
            votes.judged,
            votes.useful,
            votes.corrections,
            spread.get(row.id, 0),
            (now - votes.last_useful).total_seconds() / DAY if votes.last_useful else None,
        )
        for verdict, current in (
            (rules.next_status(known), row.status),
            (rules.next_decay_class(known), _CLASSES[row.decay_class]),
        ):
            if verdict is not None:
                steps.append(PlannedTransition(row.id, row.uuid, current, verdict.after, verdict.why, verdict.numbers))
                break  # one change at a time: a grain that stops being active is not promoted
    return steps


def _apply(run: Run, space: int, steps: list[PlannedTransition], after: int | None) -> None:
    taken = transitions.apply_transitions(space, steps, actor=WORKER)
    counts: dict[str, int] = defaultdict(int)
    for step in taken:
        counts[step.after] += 1
    if counts:
        run.say(", ".join(f"{count} {after}" for after, count in sorted(counts.items())) + ".")
    if after is not None:
        jobs.age(space, after=after)


def _strongest(space: int, grains: list[int], now: int) -> dict[int, float]:
    """Present weight of each grain's strongest link, in either direction: signals between grains go both ways."""
    found = np.zeros(len(grains), np.float32)
    place = {grain: at for at, grain in enumerate(grains)}
    names = ("to_grain_id", "from_grain_id", "weight", "used_at", "made_at", "decay_class")
    here = Conduit.objects.filter(space=space)
    # Two statements, each with an index of its own.
    rows = [
        *here.filter(to_grain__in=grains).values_list(*names),
        *here.filter(from_entry=None, from_grain__in=grains).values_list(*names),
    ]
    if rows:
        to, start, weight, used, made, kind = zip(*rows, strict=True)
        left = decay.effective_weight(
            np.array(weight, np.float32),
            used=np.array(used),
            made=np.array(made),
            decay_class=np.array(kind),
            now=now,
            fading=decay_settings.current(),
        )
        for ends in (to, start):
            for end, strength in zip(ends, left.tolist(), strict=True):
                if end in place:
                    found[place[end]] = max(found[place[end]], strength)
    return dict(zip(grains, found.tolist(), strict=True))


@dataclass
class VoteSummary:
    judged: int = 0
    useful: int = 0
    corrections: int = 0
    last_useful: datetime | None = None

    def __add__(self, other: VoteSummary) -> VoteSummary:
        last = max((one for one in (self.last_useful, other.last_useful) if one), default=None)
        return VoteSummary(
            self.judged + other.judged, self.useful + other.useful, self.corrections + other.corrections, last
        )

    def bounded(self) -> VoteSummary:
        """Votes of one caller, reduced in proportion to at most a limit."""
        here = config.current()
        judged = min(self.judged, rules.bound_per_agent(here.QUARANTINE_MIN_RETRIEVALS))
        useful = round(self.useful * judged / self.judged) if self.judged else 0
        corrections = min(self.corrections, rules.bound_per_agent(here.QUARANTINE_CORRECTION_COUNT))
        return VoteSummary(judged, useful, corrections, self.last_useful)


def _judged(space: int, grains: list[AgingGrain]) -> dict[int, VoteSummary]:
    """Counts of votes on each grain; a caller that repeats a question counts once for it.

    The writer of a grain, or a person, can quarantine it alone. Another agent counts for half of the limit: one agent
    alone must not hide what others use. Votes from before somebody restored the grain manually are not counted.
    """
    last: dict[tuple[int, str, str], tuple[bool, bool, bool, datetime]] = {}
    rows: Any = (
        Vote.objects.filter(space=space, grain__in=[row.id for row in grains], undone_at=None)
        .order_by("id")
        .values_list("grain_id", "judged__actor", "judged__query", "useful", "implied", "corrected", "at")
    )
    for grain, actor, query, useful, implied, corrected, at in rows:
        last[grain, actor, query] = (useful, implied, corrected, at)
    writers = {row.id: row.writer for row in grains}
    settled = transitions.last_reactivated(space, [row.id for row in grains])
    by_caller: dict[int, dict[str, VoteSummary]] = defaultdict(lambda: defaultdict(VoteSummary))
    for (grain, actor, _), (useful, implied, corrected, at) in last.items():
        one = by_caller[grain][actor]
        if useful and (one.last_useful is None or at > one.last_useful):
            one.last_useful = at
        if grain in settled and at <= settled[grain]:
            continue
        one.corrections += corrected
        if not implied:  # inferred votes are too weak to count as a judgement
            one.judged += 1
            one.useful += useful
    found: dict[int, VoteSummary] = defaultdict(VoteSummary)
    for grain, callers in by_caller.items():
        for actor, counts in callers.items():
            alone = actor == writers[grain] or not actor.startswith("agent:")
            found[grain] += counts if alone else counts.bounded()
    return found


def _days(last: Transition | None, status: str, now: datetime) -> float | None:
    """Days since a rule gave it its status; None if it was not a rule, or is unknown."""
    if last is None or last.after != status or last.actor != WORKER:
        return None
    return (now - last.at).total_seconds() / DAY


def _by_whom(last: Transition | None, decay_class: str) -> tuple[bool, bool]:
    """Whether a rule gave it its decay class, and whether a person or agent did."""
    if last is None or last.after != decay_class:
        return False, False
    return last.actor == WORKER, last.actor != WORKER
