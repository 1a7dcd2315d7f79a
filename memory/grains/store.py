"""Storing grains: the raw text is durable before anything else happens to it."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from accounts import origins
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, config, raw_sql
from fluxcore.errors import FluxError, Forbidden, Invalid
from fluxcore.writes.limits import Ticket
from memory.arena.changes import Changes
from memory.grains import full_text, jobs, linking, texts, usage, validity
from memory.grains.grain_input import GrainInput, check_grain_input
from memory.grains.lifecycle import removals, transitions
from memory.grains.lifecycle.removals import StoredAgain
from memory.grains.lifecycle.rules import SAID_AGAIN
from memory.grains.lifecycle.transitions import PlannedTransition
from memory.grains.models import Grain

_COLUMNS = (
    "uuid",
    "space",
    "text",
    "digest",
    "salt",
    "origin",
    "authority",
    "status",
    "writer",
    "label",
    "corroborations",
    "session",
    "ordinal",
    "speaker",
    "tags",
    "said_at",
    "valid_from",
    "valid_to",
    "recorded_at",
)
_TABLE = Grain._meta.db_table
_ACTIVE = Grain.Status.ACTIVE.value
_LEAVING = (Grain.Status.DORMANT.value, Grain.Status.ARCHIVED.value, Grain.Status.PENDING_DELETION.value)


@dataclass(frozen=True)
class StoredGrain:
    """The grain an item became or corroborated, as it is after the write."""

    number: int
    uuid: uuid.UUID
    status: str
    salt: str


_Known = dict[tuple[str, str, str], StoredGrain]  # by the key of the item
# flux-memory's words for what became of a text, beside ours. It had none for a text that was removed.
ACTIONS = {"stored": "stored_wired", "corroborated": "duplicate", **{name: name for name in removals.REMOVED}}
# So many callers (X-Caller-Id) of one agent can store at full speed at the same time.
CALLERS_AT_ONCE = 4


def agent_limit() -> int:
    """Grains all callers of one agent may store together in any 60 seconds."""
    return CALLERS_AT_ONCE * config.current().MAX_GRAINS_PER_MINUTE


def ticket(call: RunningCall, cost: int) -> Ticket:
    return call.share("grains", cost=cost, limit=config.current().MAX_GRAINS_PER_MINUTE, total=agent_limit())


@verb("grains.store", needs="grains.write")
def store(call: RunningCall, **given: Any) -> Change:
    """Remember one text. `items.FIELDS` are what may be said about it."""
    item = check_grain_input(given, ceiling=call.principal.ceiling)
    share = ticket(call, 1)

    def change() -> dict[str, Any]:
        share.take()
        return insert(call, [item])[0]

    return change


@verb("grains.store_batch", needs="grains.write")
def store_batch(call: RunningCall, *, items: Any) -> Change:
    """Remember up to MAX_GRAINS_PER_CALL texts: each is stored or refused on its own, all in one commit."""
    limit = config.current().MAX_GRAINS_PER_CALL
    if not isinstance(items, list) or not 1 <= len(items) <= limit:
        raise Invalid(f"items must be a list of 1 to {limit}.", field="items", limit=limit)
    good: list[tuple[int, GrainInput]] = []
    forbidden: list[Forbidden] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, item in enumerate(items):
        try:
            good.append((index, check_grain_input(item, ceiling=call.principal.ceiling)))
        except FluxError as error:
            if isinstance(error, Forbidden):
                forbidden.append(error)
            results[index] = {"index": index, "grain_id": None, "status": "refused", "error": error.body()}
    # At least one: a batch of nothing but refusals leaves a link too, and must not be free.
    share = ticket(call, max(1, len(good)))

    def change() -> dict[str, Any]:
        share.take()
        answers = insert(call, [item for _, item in good]) if good else []
        for (index, _), answer in zip(good, answers, strict=True):
            results[index] = {"index": index, **answer, "error": None}
        if forbidden:
            call.record("", outcome="refused", code=forbidden[0].code, count=len(forbidden), **forbidden[0].details)
        if not good and not forbidden:
            call.record("", refused=len(items))
        return {
            "results": results,
            "grain_ids": [result["grain_id"] for result in results],
            "count": len(good),
            "refused": len(items) - len(good),
        }

    return change


# A text that is here already from the same origin and session is not stored again: it gains a corroboration.
_OR_CORROBORATE = (
    "ON CONFLICT (space_id, digest, origin, session) DO UPDATE SET "
    f"corroborations = {_TABLE}.corroborations + 1, "
    # Said again, a text that was on its way out is wanted: what we acknowledge must not be purged.
    # The new row says as what: active, unless a person removed the text.
    f"status = CASE WHEN {_TABLE}.status IN {_LEAVING} THEN excluded.status ELSE {_TABLE}.status END, "
    f"salt = CASE WHEN {_TABLE}.salt = '' THEN excluded.salt ELSE {_TABLE}.salt END "
    "RETURNING id, uuid, digest, origin, session, status, salt"
)


def insert(call: RunningCall, given: list[GrainInput]) -> list[dict[str, Any]]:
    """New texts become grains and are wired, equal ones of the same origin and session are corroborated."""
    space, moment = call.principal.space, clock.now()
    if space is None:
        raise Invalid("The space to store in is missing.", field="space")
    first: dict[tuple[str, str, str], GrainInput] = {}
    for item in given:
        first.setdefault(item.key, item)
    unique = list(first.values())
    before = linking.find_existing(space, unique, moment)
    known = _upsert(call, unique, before, moment)
    pairs = list(zip(unique, before, strict=True))
    new = [(item, then) for item, then in pairs if known[item.key].uuid == item.grain]
    told = {}
    if new:
        usage.add_usage(call.principal, [item.text for item, _ in new])
        placed = [linking.NewGrain(known[item.key].number, item) for item, _ in new]
        told = linking.link_grains(space, placed, [then for _, then in new], moment)
        full_text.index_terms(space, [(one.grain, one.item.keys) for one in placed])
        jobs.ask_for_enrichment(space)
    # Said again, it came back: the arenas must show it, and its history tells why.
    moved = [(item, then) for item, then in pairs if then.same and then.status != known[item.key].status]
    back = [(item, then) for item, then in moved if known[item.key].status == _ACTIVE]
    if back:
        steps = [
            PlannedTransition(then.same or 0, known[item.key].uuid, then.status, _ACTIVE, SAID_AGAIN)
            for item, then in back
        ]
        transitions.record_transitions(space, steps, actor=call.principal.actor)
    removed = _removed(call, space, given, known, dict(zip(first, before, strict=True)))
    over = {
        known[item.key].number
        for item, then in pairs
        if (then.over if then.same else not validity.is_valid_at(item, moment))
    }
    again = _true_again(given, known, over, moment) if over else {}
    for number, item in again.items():
        validity.reopen_validity(number, item, moment)
    came = {then.same for _, then in moved if then.same} | again.keys()
    told = {number: Changes((number,)).pack() for number in came} | told
    repeated = Counter(known[item.key].number for item in given)
    _corroborate({number: times - 1 for number, times in repeated.items() if times > 1})
    return [_answer(call, item, known[item.key], told, again, removed) for item in given]


def _removed(
    call: RunningCall, space: int, given: list[GrainInput], known: _Known, before: dict[Any, linking.Existing]
) -> set[int]:
    """Of what was stored, the grains a person's decision removes; it is told of each."""
    repeats: list[StoredAgain] = []
    found: set[int] = set()
    for item in given:
        one, then = known[item.key], before[item.key]
        covered = then.status_for(origins.RANK[item.origin]) != _ACTIVE
        if then.removal is None or not covered or one.status not in removals.REMOVED:
            continue
        # Its history has a step once: where it is new, or was on its way out by another's word.
        stepped = one.number not in found and then.status != one.status
        repeats.append(StoredAgain(then.removal, one.number if stepped else None, then.status or _ACTIVE))
        found.add(one.number)
    if repeats:
        removals.record_stored_again(space, repeats, by=call.principal.actor)
    return found


def _true_again(
    given: list[GrainInput], known: _Known, over: Container[int], moment: datetime
) -> dict[int, GrainInput]:
    """Of grains whose time is over or has not come, the first item that says they are true now."""
    again: dict[int, GrainInput] = {}
    for item in given:
        number = known[item.key].number
        if number in over and number not in again and validity.is_valid_at(item, moment):
            again[number] = item
    return again


def _upsert(call: RunningCall, unique: list[GrainInput], before: list[linking.Existing], moment: datetime) -> _Known:
    """One statement; the grain of each item, new or known."""
    space, who, label = call.principal.space, call.principal.actor, call.principal.label
    values = [
        (
            item.grain,
            space,
            item.text,
            item.digest,
            texts.new_salt(),
            item.origin,
            origins.RANK[item.origin],
            then.status_for(origins.RANK[item.origin]),
            who,
            label,
            0,
            item.session,
            ordinal,
            item.speaker,
            list(item.tags),
            item.said_at,
            item.valid_from,
            item.valid_to,
            moment,
        )
        for item, then, ordinal in zip(unique, before, linking.ordinals(unique, before), strict=True)
    ]
    return {
        (digest, origin, session): StoredGrain(
            number, found if isinstance(found, uuid.UUID) else uuid.UUID(found), *more
        )
        for number, found, digest, origin, session, *more in raw_sql.upsert(Grain, _COLUMNS, values, _OR_CORROBORATE)
    }


def _answer(
    call: RunningCall,
    item: GrainInput,
    one: StoredGrain,
    told: dict[int, bytes],
    again: dict[int, GrainInput],
    removed: set[int],
) -> dict[str, Any]:
    """Leave the audit entry and the event of one item; what its caller is told."""
    grain, status = str(one.uuid), "stored" if one.uuid == item.grain else "corroborated"
    more: dict[str, Any] = {"reopened": True} if again.get(one.number) is item else {}
    kind = "grain.blocked" if one.number in removed else f"grain.{status}"
    reason: dict[str, str] = {}
    if one.status in removals.REMOVED:
        # Whoever stored it must not take it for findable.
        status, reason = one.status, {"reason": removals.explain_removed(one.status, by_person=one.number in removed)}
        more["status"] = status
    call.record(grain, digest=texts.salted(item.digest, one.salt), origin=item.origin, **{"status": status, **more})
    # What the arenas are told goes with the grain's first event: a second one in the same batch changes nothing.
    call.event(kind, grain, {"origin": item.origin, **more}, told.pop(one.number, None))
    return {"grain_id": grain, "status": status, "action": ACTIONS[status], "provenance": item.origin, **reason}


def _corroborate(times: dict[int, int]) -> None:
    """Texts that stand several times in one batch: the statement above counted only their first."""
    if times:
        with connection.cursor() as cursor:
            cursor.executemany(
                f"UPDATE {_TABLE} SET corroborations = corroborations + %s WHERE id = %s",  # noqa: S608
                [(more, number) for number, more in times.items()],
            )
