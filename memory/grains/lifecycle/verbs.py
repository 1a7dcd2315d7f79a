"""Lifecycle verbs of people, agents and the shell: archive, restore, quarantine, mark for deletion and undo.

All of them can be undone. An agent cannot undo a person's decision. A person deletes or quarantines the text: other
grains with it follow (`removals.py`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, Verb, verb
from fluxcore import clock, config
from fluxcore.errors import Conflict, Forbidden, NotFound
from memory.grains.lifecycle import removals, revive, transitions
from memory.grains.lifecycle.rules import (
    ACTIVE,
    ARCHIVED,
    BY_HAND,
    CLASSES,
    CORE,
    DORMANT,
    EPHEMERAL,
    PENDING,
    QUARANTINED,
    WORKING,
)
from memory.grains.lifecycle.transitions import PlannedTransition
from memory.grains.lookup import find_for_change
from memory.grains.models import Grain, Transition

_NAMES = {value: name for name, value in CLASSES.items()}


def _made(name: str, says: str, *, after: str, begins: tuple[str, ...]) -> Verb:
    """Verb that changes a grain from some statuses or classes to another; "" means its earlier one."""

    def body(call: RunningCall, *, grain: str) -> Change:
        row = find_for_change(call, grain)

        def change() -> dict[str, Any]:
            return _taken(call, row, after, begins)

        return change

    body.__doc__ = says
    return verb(name, needs="grains.manage")(body)


archive = _made(
    "grains.archive",
    "Archive a memory: it is recalled only after active ones, and becomes active again when it is used.",
    after=ARCHIVED,
    begins=(ACTIVE, DORMANT),
)
restore = _made(
    "grains.restore", "Make a dormant or archived memory active again.", after=ACTIVE, begins=(DORMANT, ARCHIVED)
)
quarantine = _made(
    "grains.quarantine",
    "Exclude a memory from recall unless quarantined memories are requested.",
    after=QUARANTINED,
    begins=(ACTIVE, DORMANT, ARCHIVED),
)
release = _made("grains.release", "End the quarantine of a memory.", after=ACTIVE, begins=(QUARANTINED,))
delete = _made(
    "grains.delete",
    "Mark a memory for deletion: it is excluded from recall, and purged after the undo period.",
    after=PENDING,
    begins=(ACTIVE, DORMANT, ARCHIVED, QUARANTINED),
)
undelete = _made(
    "grains.undelete", "Undo a deletion: the memory has its earlier status again.", after="", begins=(PENDING,)
)
promote = _made(
    "grains.promote", "Make a memory core: its links decay slowest.", after=CORE, begins=(WORKING, EPHEMERAL)
)
demote = _made("grains.demote", "Make a core memory a working one.", after=WORKING, begins=(CORE,))


def _taken(call: RunningCall, seen: Grain, after: str, begins: tuple[str, ...]) -> dict[str, Any]:
    row = Grain.objects.select_related("space").filter(pk=seen.pk).first()
    if row is None:
        raise NotFound("There is no memory with this id.")
    of_class = begins[0] in CLASSES
    now = _NAMES[row.decay_class] if of_class else row.status
    last = transitions.last_transitions(row.space_id, [row.pk], of_class=of_class).get(row.pk)
    wanted = after or (last.before if last is not None and last.after == now else ACTIVE)
    changed = now in begins
    if not changed and now != wanted:
        raise Conflict(
            f"The memory is {now.replace('_', ' ')}. This is only possible for memories that are {_listed(begins)}.",
            status=now,
        )
    if changed:
        _respect(call.principal, row, now, last)
        step = PlannedTransition(row.pk, row.uuid, now, wanted, BY_HAND)
        if not transitions.apply_transitions(row.space_id, [step], actor=call.principal.actor, reason=call.reason):
            raise Conflict("The memory was changed at the same time. Try again.", status=now)
        if wanted == ACTIVE:
            revive.relink_grains(row.space_id, [row])
    others = 0
    if changed and removals.is_person(call.principal) and (now in removals.REMOVED or wanted in removals.REMOVED):
        others = removals.record_decision(row, wanted, actor=call.principal.actor)
    more: dict[str, Any] = {"same_text": others} if others else {}
    call.record(str(row.uuid), chain=row.space.uuid.hex, **{"from": now, "to": wanted}, changed=changed, **more)
    answer = {
        "grain_id": str(row.uuid),
        "before": now,
        "status": row.status if of_class else wanted,
        "changed": changed,
        **more,
    }
    if of_class:
        answer["decay_class"] = wanted
    if wanted == PENDING:
        answer["purged_after"] = _purged_after(call.principal if changed else None, last)
    return answer


def _respect(principal: Principal, row: Grain, now: str, last: Transition | None) -> None:
    if principal.kind != "agent" or now not in removals.REMOVED:
        return
    decided = last is not None and last.after == now and last.actor.startswith(removals.PEOPLE)
    if decided or removals.keeps_removed(row):
        raise Forbidden("A person decided this; only a person can undo it.", status=now)


def _purged_after(principal: Principal | None, last: Transition | None) -> str | None:
    """Earliest time at which a marked grain is purged; None if an agent marked it, since a person must confirm that."""
    actor = principal.actor if principal is not None else last.actor if last is not None else ""
    since = clock.now() if principal is not None or last is None else last.at
    if actor.startswith("agent:"):
        return None
    return clock.rfc3339(since + timedelta(hours=config.current().PURGE_UNDO_WINDOW_HOURS))


def _listed(begins: tuple[str, ...]) -> str:
    *some, one = (name.replace("_", " ") for name in begins)
    return f"{', '.join(some)} or {one}" if some else one
