"""Purge: permanent removal of grains, by people with a fresh code and the shell, never by a token.

Grains that a person or the shell marked for deletion are purged by the worker when the time to undo is over. Those that
an agent marked wait for a person.
"""

from __future__ import annotations

from typing import Any

from accounts import audit
from accounts.capabilities import parsed
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, uptime
from fluxcore.errors import Invalid, NotFound
from fluxcore.work.run import Apply, Run
from memory.grains.lifecycle import derived_grains, erase, jobs, rules, transitions
from memory.grains.lifecycle.rules import PENDING
from memory.grains.lifecycle.transitions import WORKER
from memory.grains.lookup import find_for_change
from memory.grains.models import Grain

# Grains of one commit: all tables that refer to a grain are searched for each.
PAGE = 20


@verb("grains.purge", needs="purge")
def purge(call: RunningCall, *, grain: str) -> Change:
    """Remove a grain permanently: its text, terms, vectors, links, votes, and the words of questions that quote it."""
    if not call.reason.strip():
        raise Invalid("The reason is missing. Purging cannot be undone, so a reason is required.", field="reason")
    row = find_for_change(call, grain)

    def change() -> dict[str, Any]:
        found = list(Grain.objects.filter(pk=row.pk))
        if not found:
            raise NotFound("There is no memory with this id.")
        found += derived_grains.find_derived(row.space_id, found)
        left, *more = erase.erase(row.space_id, found, actor=call.principal.actor)
        for one in (left, *more):
            call.record(str(one.uuid), chain=row.space.uuid.hex, **_told(one))
        return {"grain_id": str(left.uuid), "purged": True, "links": left.links, "votes": left.votes}

    return change


def purge_due(run: Run) -> Apply | None:
    """The handler of `grains.purge`: purges grains that people or the shell marked long enough ago."""
    space = run.space
    if space is None:
        return None
    life = uptime.now()
    if life.doubt:
        run.say(life.doubt)
        return None
    due = _due(space, life.seconds)
    if not due:
        return None
    return lambda: _apply(run, space, due[:PAGE], more=len(due) > PAGE)


def _due(space: int, seconds: float) -> list[int]:
    marked = list(Grain.objects.filter(space=space, status=PENDING).order_by("id").values_list("id", flat=True))
    now = clock.now()
    return [
        grain
        for grain, last in sorted(transitions.last_transitions(space, marked, of_class=False).items())
        if last.after == PENDING
        and not last.actor.startswith("agent:")
        and rules.is_deletion_due(lived=seconds - last.lived, seconds=(now - last.at).total_seconds())
    ]


def _apply(run: Run, space: int, due: list[int], *, more: bool) -> None:
    still = list(Grain.objects.select_related("space").filter(space=space, id__in=due, status=PENDING).order_by("id"))
    if still:
        chain = still[0].space.uuid.hex
        marked = {row.grain_id: row.actor for row in transitions.last_transitions(space, due, of_class=False).values()}
        numbers = {row.uuid: row.pk for row in still}
        for left in erase.erase(space, [*still, *derived_grains.find_derived(space, still)], actor=WORKER):
            details = {**_told(left), "marked_by": marked.get(numbers.get(left.uuid, 0), "")}
            audit.record(_worker(space, chain), "grains.purge", str(left.uuid), details=details)
        run.say(f"{len(still)} memories were purged after their undo period.")
    if more:
        jobs.purge(space)


def _told(left: Any) -> dict[str, Any]:
    return {"links": left.links, "votes": left.votes}


def _worker(space: int, chain: str) -> Principal:
    """Principal of the worker, as the audit chain names it."""
    return Principal(kind="shell", name=WORKER, space=space, chain=chain, capabilities=parsed(()), ceiling="unknown")
