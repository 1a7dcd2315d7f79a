"""Transitions: changes of status or decay class, written to the row, its history and the event log. Inside a write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max

from fluxcore import clock, events, raw_sql, uptime
from memory.arena.changes import Changes, conduit_array
from memory.engine.text import words
from memory.grains.lifecycle.rules import ACTIVE, BY_HAND, CLASSES, CORE
from memory.grains.models import Conduit, Grain, Transition

WORKER = "worker"  # actor of changes by rules
COLUMNS = ("space", "grain", "before", "after", "why", "numbers", "actor", "reason", "at", "lived")
_TABLE, _CONDUITS = Grain._meta.db_table, Conduit._meta.db_table
# Only from the status that was read: of two changes at once, one is applied.
_STATUS = f"UPDATE {_TABLE} SET status = %s WHERE id = %s AND space_id = %s AND status = %s"  # noqa: S608
_CLASS = f"UPDATE {_TABLE} SET decay_class = %s WHERE id = %s AND space_id = %s AND decay_class = %s"  # noqa: S608


@dataclass(frozen=True)
class PlannedTransition:
    """A planned change of one grain to another status or decay class."""

    grain: int
    uuid: UUID
    before: str
    after: str
    why: str
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def of_class(self) -> bool:
        return self.after in CLASSES

    @property
    def event(self) -> str:
        if self.of_class:
            return "grain.promoted" if self.after == CORE else "grain.demoted"
        return "grain.revived" if self.after == ACTIVE else f"grain.{self.after}"


def apply_transitions(
    space: int, steps: Sequence[PlannedTransition], *, actor: str, reason: str = ""
) -> list[PlannedTransition]:
    """Apply transitions; returns those applied. A grain whose status changed since it was read is skipped."""
    taken = [step for step in steps if _changed(space, step)]
    if not taken:
        return []
    record_transitions(space, taken, actor=actor, reason=reason)
    links = _reclassed(space, {step.grain: CLASSES[step.after] for step in taken if step.of_class})
    for step in taken:
        packed = Changes((step.grain,), conduit_array(links.get(step.grain, ()))).pack()
        data = {"from": step.before, "to": step.after, "why": step.why, **step.numbers}
        events.append(step.event, space=space, actor=actor, subject=str(step.uuid), data=data, packed=packed)
    return taken


def record_transitions(space: int, steps: Iterable[PlannedTransition], *, actor: str, reason: str = "") -> None:
    """Write applied transitions to the history of their grains."""
    at, seconds = clock.now(), uptime.now().seconds
    raw_sql.insert(
        Transition,
        COLUMNS,
        [
            (space, step.grain, step.before, step.after, step.why, step.numbers, actor, reason, at, seconds)
            for step in steps
        ],
    )


def _changed(space: int, step: PlannedTransition) -> bool:
    values: tuple[Any, Any] = (step.after, step.before)
    if step.of_class:
        values = CLASSES[step.after], CLASSES[step.before]
    with connection.cursor() as cursor:
        cursor.execute(_CLASS if step.of_class else _STATUS, [values[0], step.grain, space, values[1]])
        return bool(cursor.rowcount)


def _reclassed(space: int, classes: dict[int, int]) -> dict[int, list[tuple[object, ...]]]:
    """Set the decay class of conduits to these grains to that of the grain; returns packed conduits by grain."""
    found: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    if not classes:
        return found
    for value in set(classes.values()):
        of = [grain for grain, one in classes.items() if one == value]
        Conduit.objects.filter(space=space, to_grain__in=of).update(decay_class=value)
    for row in packed_rows(Conduit.objects.filter(space=space, to_grain__in=list(classes))):
        found[int(row[4])].append(row)  # type: ignore[call-overload]
    return found


def packed_rows(found: Any) -> list[tuple[object, ...]]:
    """Rows of conduits in the order of `changes.CONDUIT`."""
    return [
        (
            row.pk,
            row.from_entry_id or 0,
            words.key(f"{row.from_entry.kind}:{row.from_entry.feature}") if row.from_entry else 0,
            row.from_grain_id or 0,
            row.to_grain_id,
            row.weight,
            row.affinity,
            row.made_at,
            row.used_at,
            row.relation,
            row.decay_class,
        )
        for row in found.select_related("from_entry").order_by("id")
    ]


def last_transitions(space: int, grains: Sequence[int], *, of_class: bool) -> dict[int, Transition]:
    """By grain, the transition that gave it its status, or its class."""
    found: dict[int, Transition] = {}
    for row in Transition.objects.filter(space=space, grain__in=grains).order_by("id"):
        if (row.after in CLASSES) == of_class:
            found[row.grain_id] = row
    return found


def last_reactivated(space: int, grains: Sequence[int]) -> dict[int, datetime]:
    """By grain, the time at which somebody last restored it manually."""
    found = Transition.objects.filter(space=space, grain__in=grains, after=ACTIVE, why=BY_HAND)
    return dict(found.order_by().values_list("grain_id").annotate(Max("at")))
