"""Store verbs: the text of a grain is committed before any further processing."""

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

COLUMNS = (
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
    """Result of storing an item: its new or corroborated grain, after the write."""

    number: int
    uuid: uuid.UUID
    status: str
    salt: str


_Known = dict[tuple[str, str, str], StoredGrain]  # by `GrainInput.key`
# Results of a store in flux-memory, by ours. It has none for a removed text.
ACTIONS = {"stored": "stored_wired", "corroborated": "duplicate", **{name: name for name in removals.REMOVED}}
# So many callers (X-Caller-Id) of one agent can store at full speed at the same time.
CALLERS_AT_ONCE = 4


def agent_limit() -> int:
    """Most grains that all callers of one agent together may store in any 60 seconds."""
    return CALLERS_AT_ONCE * config.current().MAX_GRAINS_PER_MINUTE


def ticket(call: RunningCall, cost: int) -> Ticket:
    return call.share("grains", cost=cost, limit=config.current().MAX_GRAINS_PER_MINUTE, total=agent_limit())


@verb("grains.store", needs="grains.write")
def store(call: RunningCall, **given: Any) -> Change:
    """Store one text; `grain_input.FIELDS` are its optional fields."""
    item = check_grain_input(given, ceiling=call.principal.ceiling)
    share = ticket(call, 1)

    def change() -> dict[str, Any]:
        share.take()
        return insert(call, [item])[0]

    return change


@verb("grains.store_batch", needs="grains.write")
def store_batch(call: RunningCall, *, items: Any) -> Change:
    """Store up to MAX_GRAINS_PER_CALL texts in one commit; each is stored or refused on its own."""
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
    # At least one: a batch of refusals alone is audited too, and must count against the limit.
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


# A text that exists already from the same origin and session is not stored again: its grain is corroborated.
_OR_CORROBORATE = (
    "ON CONFLICT (space_id, digest, origin, session) DO UPDATE SET "
    f"corroborations = {_TABLE}.corroborations + 1, "
    # A grain pending deletion becomes active when its text is stored again: what we acknowledge must not be purged.
    # Its status is that of the new row: active, unless a person removed the text.
    f"status = CASE WHEN {_TABLE}.status IN {_LEAVING} THEN excluded.status ELSE {_TABLE}.status END, "
    f"salt = CASE WHEN {_TABLE}.salt = '' THEN excluded.salt ELSE {_TABLE}.salt END "
    "RETURNING id, uuid, digest, origin, session, status, salt"
)


def insert(call: RunningCall, given: list[GrainInput]) -> list[dict[str, Any]]:
    """Insert new texts as grains with their links; equal ones of the same origin and session are corroborated."""
    space, moment = call.principal.space, clock.now()
    if space is None:
        raise Invalid("The space to store in is missing.", field="space")
    first: dict[tuple[str, str, str], GrainInput] = {}
    for item in given:
        first.setdefault(item.key, item)
    unique = list(first.values())
    existing = linking.find_existing(space, unique, moment)
    known = _upsert(call, unique, existing, moment)
    pairs = list(zip(unique, existing, strict=True))
    new = [(item, earlier) for item, earlier in pairs if known[item.key].uuid == item.grain]
    packed = {}
    if new:
        usage.add_usage(call.principal, [item.text for item, _ in new])
        linked = [linking.NewGrain(known[item.key].number, item) for item, _ in new]
        packed = linking.link_grains(space, linked, [earlier for _, earlier in new], moment)
        full_text.index_terms(space, [(one.grain, one.item.keys) for one in linked])
        jobs.ask_for_enrichment(space)
    # Stored again, a grain was restored: arenas must show it, and its history needs the reason.
    changed = [(item, earlier) for item, earlier in pairs if earlier.same and earlier.status != known[item.key].status]
    restored = [(item, earlier) for item, earlier in changed if known[item.key].status == _ACTIVE]
    if restored:
        steps = [
            PlannedTransition(earlier.same or 0, known[item.key].uuid, earlier.status, _ACTIVE, SAID_AGAIN)
            for item, earlier in restored
        ]
        transitions.record_transitions(space, steps, actor=call.principal.actor)
    removed = _removed(call, space, given, known, dict(zip(first, existing, strict=True)))
    not_valid = {
        known[item.key].number
        for item, earlier in pairs
        if (earlier.over if earlier.same else not validity.is_valid_at(item, moment))
    }
    reopened = _true_again(given, known, not_valid, moment) if not_valid else {}
    for number, item in reopened.items():
        validity.reopen_validity(number, item, moment)
    changed_grains = {earlier.same for _, earlier in changed if earlier.same} | reopened.keys()
    packed = {number: Changes((number,)).pack() for number in changed_grains} | packed
    repeated = Counter(known[item.key].number for item in given)
    _corroborate({number: times - 1 for number, times in repeated.items() if times > 1})
    return [_answer(call, item, known[item.key], packed, reopened, removed) for item in given]


def _removed(
    call: RunningCall, space: int, given: list[GrainInput], known: _Known, existing: dict[Any, linking.Existing]
) -> set[int]:
    """Stored grains that a person's decision covers; each is recorded on the decision."""
    repeats: list[StoredAgain] = []
    found: set[int] = set()
    for item in given:
        stored, earlier = known[item.key], existing[item.key]
        covered = earlier.status_for(origins.RANK[item.origin]) != _ACTIVE
        if earlier.removal is None or not covered or stored.status not in removals.REMOVED:
            continue
        # A transition is written only if the grain is new, or was pending deletion by somebody else.
        stepped = stored.number not in found and earlier.status != stored.status
        repeats.append(StoredAgain(earlier.removal, stored.number if stepped else None, earlier.status or _ACTIVE))
        found.add(stored.number)
    if repeats:
        removals.record_stored_again(space, repeats, by=call.principal.actor)
    return found


def _true_again(
    given: list[GrainInput], known: _Known, not_valid: Container[int], moment: datetime
) -> dict[int, GrainInput]:
    """By grain that is not valid now, the first item that states it as valid now."""
    reopened: dict[int, GrainInput] = {}
    for item in given:
        number = known[item.key].number
        if number in not_valid and number not in reopened and validity.is_valid_at(item, moment):
            reopened[number] = item
    return reopened


def _upsert(call: RunningCall, unique: list[GrainInput], existing: list[linking.Existing], moment: datetime) -> _Known:
    """Insert or corroborate in one statement; returns the grain of each item, new or existing."""
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
            earlier.status_for(origins.RANK[item.origin]),
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
        for item, earlier, ordinal in zip(unique, existing, linking.ordinals(unique, existing), strict=True)
    ]
    return {
        (digest, origin, session): StoredGrain(
            number, found if isinstance(found, uuid.UUID) else uuid.UUID(found), *more
        )
        for number, found, digest, origin, session, *more in raw_sql.upsert(Grain, COLUMNS, values, _OR_CORROBORATE)
    }


def _answer(
    call: RunningCall,
    item: GrainInput,
    stored: StoredGrain,
    packed: dict[int, bytes],
    reopened: dict[int, GrainInput],
    removed: set[int],
) -> dict[str, Any]:
    """Write the audit entry and event of one item; returns its result."""
    grain, status = str(stored.uuid), "stored" if stored.uuid == item.grain else "corroborated"
    more: dict[str, Any] = {"reopened": True} if reopened.get(stored.number) is item else {}
    kind = "grain.blocked" if stored.number in removed else f"grain.{status}"
    reason: dict[str, str] = {}
    if stored.status in removals.REMOVED:
        # The caller must learn that the grain is not recalled.
        status, reason = (
            stored.status,
            {"reason": removals.explain_removed(stored.status, by_person=stored.number in removed)},
        )
        more["status"] = status
    call.record(grain, digest=texts.salted(item.digest, stored.salt), origin=item.origin, **{"status": status, **more})
    # Changes for arenas are sent with the first event of a grain; a second one in the same batch changes nothing.
    call.event(kind, grain, {"origin": item.origin, **more}, packed.pop(stored.number, None))
    return {"grain_id": grain, "status": status, "action": ACTIONS[status], "provenance": item.origin, **reason}


def _corroborate(times: dict[int, int]) -> None:
    """Count further copies of texts in one batch: the upsert counted only the first."""
    if times:
        with connection.cursor() as cursor:
            cursor.executemany(
                f"UPDATE {_TABLE} SET corroborations = corroborations + %s WHERE id = %s",  # noqa: S608
                [(more, number) for number, more in times.items()],
            )
