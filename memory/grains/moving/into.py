"""Grains from elsewhere become grains of a space. What is here already is left as it is, so that an import that was
broken off or is repeated goes on where it was and changes nothing twice."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from accounts.verbs import Act, Change, verb
from fluxcore import clock, rows
from fluxcore.errors import Conflict, FluxError, Invalid
from memory.arena import changes
from memory.grains import chores, full_text, texts, usage, wiring
from memory.grains.models import Grain
from memory.grains.moving.arrivals import Arrival, checked
from memory.grains.wiring import Before

AT_ONCE = 250  # of one commit
STORED, THERE, REFUSED = "stored", "there", "refused"
_COLUMNS = (
    "uuid", "space", "text", "digest", "salt", "origin", "authority", "confidence", "decay_class", "status", "writer",
    "label", "corroborations", "pinned", "session", "ordinal", "speaker", "tags", "said_at", "valid_from", "valid_to",
    "recorded_at",
)  # fmt: skip
_NEW = "RETURNING id, digest, origin, session"


@verb("grains.import", needs="import")
def take(act: Act, *, items: Sequence[Any], source: str) -> Change:
    """Take up to AT_ONCE grains from elsewhere in one commit; each is stored, there already, or refused."""
    if not 1 <= len(items) <= AT_ONCE:
        raise Invalid(f"items must be a list of 1 to {AT_ONCE}.", field="items")
    good, results = examined(items, ceiling=act.principal.ceiling)

    def change() -> list[dict[str, Any]]:
        return brought(act, good, results, source)

    return change


def examined(items: Sequence[Any], *, ceiling: str) -> tuple[list[tuple[int, Arrival]], list[dict[str, Any]]]:
    """What can be taken, by its place, and the refusals of the rest at theirs."""
    good: list[tuple[int, Arrival]] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, given in enumerate(items):
        try:
            good.append((index, checked(given, ceiling=ceiling)))
        except FluxError as error:
            results[index] = _refused(error)
    return good, results


def _refused(error: FluxError) -> dict[str, Any]:
    return {"status": REFUSED, "grain_id": None, "capped": False, "error": error.body()}


def _removal(one: Arrival, then: Before) -> FluxError | None:
    """An import brings back nothing a person removed here: whoever wants it back says so on its page."""
    status = then.status_for(one.authority)
    if then.same is not None or status == Grain.Status.ACTIVE:
        return None
    return Conflict("A person removed this text in this space. To import it, take that back first.", status=status)


def brought(
    act: Act, good: Sequence[tuple[int, Arrival]], results: list[dict[str, Any]], source: str
) -> list[dict[str, Any]]:
    """Write them inside the running write; what became of each."""
    space = act.principal.space
    if space is None:
        raise Invalid("Name a space to import into.", field="space")
    first: dict[tuple[str, str, str], Arrival] = {}
    for _, one in good:
        first.setdefault(one.item.key, one)
    unique = list(first.values())
    before = wiring.look(space, [one.item for one in unique], clock.now()) if unique else []
    refusals = {one.item.key: _removal(one, then) for one, then in zip(unique, before, strict=True)}
    if any(refusals.values()):
        pairs = [(one, then) for one, then in zip(unique, before, strict=True) if refusals[one.item.key] is None]
        unique, before = [one for one, _ in pairs], [then for _, then in pairs]
    known = _there(before, unique)
    new = [(one, then) for one, then in zip(unique, before, strict=True) if then.same is None]
    fits, no_room = usage.fitting(act.principal, [one.item.text for one, _ in new])
    new = new[:fits]
    salts = {one.item.key: texts.new_salt() for one, _ in new}
    if new:
        _insert(act, space, new, salts, source)
        usage.add(act.principal, [one.item.text for one, _ in new])
        known |= {one.item.key: one.item.grain for one, _ in new}
    for index, one in good:
        grain = known.get(one.item.key)
        refusal = refusals[one.item.key] or (no_room if grain is None else None)
        if refusal is not None:
            results[index] = _refused(refusal)
            continue
        stored = grain == one.item.grain
        if stored:
            digest = texts.salted(one.item.digest, salts[one.item.key])
            act.record(str(grain), digest=digest, origin=one.item.origin, status="imported", source=source)
        results[index] = {
            "status": STORED if stored else THERE, "grain_id": str(grain), "capped": stored and one.capped,
            "error": None,
        }  # fmt: skip
    return results


def foreseen(space: int, good: Sequence[tuple[int, Arrival]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What would become of each, with nothing written."""
    before = wiring.look(space, [one.item for _, one in good], clock.now()) if good else []
    seen: set[tuple[str, str, str]] = set()
    for (index, one), then in zip(good, before, strict=True):
        refusal = _removal(one, then)
        if refusal is not None:
            results[index] = _refused(refusal)
            continue
        there = then.same is not None or one.item.key in seen
        seen.add(one.item.key)
        results[index] = {"status": THERE if there else STORED, "grain_id": None, "capped": one.capped, "error": None}
    return results


def _there(before: Sequence[Before], unique: Sequence[Arrival]) -> dict[tuple[str, str, str], uuid.UUID]:
    numbers = {then.same: one.item.key for one, then in zip(unique, before, strict=True) if then.same is not None}
    found = Grain.objects.filter(pk__in=list(numbers)).values_list("pk", "uuid")
    return {numbers[number]: outside for number, outside in found}


def _insert(
    act: Act, space: int, new: Sequence[tuple[Arrival, Before]], salts: dict[tuple[str, str, str], str], source: str
) -> None:
    moment, who = clock.now(), act.principal.actor
    ordinals = wiring.ordinals([one.item for one, _ in new], [then for _, then in new])
    values = [
        (
            one.item.grain, space, one.item.text, one.item.digest, salts[one.item.key], one.item.origin, one.authority,
            one.confidence, one.decay_class, one.status, who, one.label, one.corroborations, one.pinned,
            one.item.session, ordinal, one.item.speaker, list(one.item.tags), one.item.said_at,
            one.item.valid_from, one.item.valid_to, one.recorded_at or moment,
        )
        for (one, _), ordinal in zip(new, ordinals, strict=True)
    ]  # fmt: skip
    numbers = {
        (digest, origin, session): number
        for number, digest, origin, session in rows.upsert(Grain, _COLUMNS, values, _NEW)
    }
    placed = [wiring.Placed(numbers[one.item.key], one.item) for one, _ in new]
    told = wiring.wire(space, placed, [then for _, then in new], moment)
    full_text.note(space, [(one.grain, one.item.keys) for one in placed])
    chores.ask_for_enrichment(space)
    act.event("grains.imported", "", {"grains": len(new), "source": source}, changes.merged(told.values()))
