"""Write a batch of imported grains. Existing grains are not changed, so that an interrupted or repeated import
continues and changes nothing twice."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, raw_sql
from fluxcore.errors import Conflict, FluxError, Invalid
from memory.arena import changes
from memory.grains import full_text, linking, texts, usage
from memory.grains import jobs as grains_jobs
from memory.grains.import_export.imported_item import ImportedItem, check_imported_item
from memory.grains.linking import Existing
from memory.grains.models import Grain

AT_ONCE = 250  # grains or conduits of one commit
STORED, THERE, REFUSED = "stored", "there", "refused"
_COLUMNS = (
    "uuid",
    "space",
    "text",
    "digest",
    "salt",
    "origin",
    "authority",
    "confidence",
    "decay_class",
    "status",
    "writer",
    "label",
    "corroborations",
    "pinned",
    "session",
    "ordinal",
    "speaker",
    "tags",
    "said_at",
    "valid_from",
    "valid_to",
    "recorded_at",
)
_NEW = "RETURNING id, digest, origin, session"


@verb("grains.import", needs="import")
def import_grains(call: RunningCall, *, items: Sequence[Any], source: str) -> Change:
    """Import up to AT_ONCE grains in one commit; each is stored, exists already, or is refused."""
    if not 1 <= len(items) <= AT_ONCE:
        raise Invalid(f"items must be a list of 1 to {AT_ONCE}.", field="items")
    good, results = check_items(items, ceiling=call.principal.ceiling)

    def change() -> list[dict[str, Any]]:
        return write_items(call, good, results, source)

    return change


def check_items(items: Sequence[Any], *, ceiling: str) -> tuple[list[tuple[int, ImportedItem]], list[dict[str, Any]]]:
    """Validated items by index, and the refusals of all others by theirs."""
    valid: list[tuple[int, ImportedItem]] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, given in enumerate(items):
        try:
            valid.append((index, check_imported_item(given, ceiling=ceiling)))
        except FluxError as error:
            results[index] = _refused(error)
    return valid, results


def _refused(error: FluxError) -> dict[str, Any]:
    return {"status": REFUSED, "grain_id": None, "capped": False, "error": error.body()}


def _removal(imported: ImportedItem, earlier: Existing) -> FluxError | None:
    """Refusal of a text that a person removed: an import does not restore it, only the page of the memory does."""
    status = earlier.status_for(imported.authority)
    if earlier.same is not None or status == Grain.Status.ACTIVE:
        return None
    return Conflict(
        "A person removed this memory in this space. To import it, undo the deletion or release it first.",
        status=status,
    )


def write_items(
    call: RunningCall, valid: Sequence[tuple[int, ImportedItem]], results: list[dict[str, Any]], source: str
) -> list[dict[str, Any]]:
    """Write grains inside the running write; returns the result of each."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space to import into is missing.", field="space")
    first: dict[tuple[str, str, str], ImportedItem] = {}
    for _, imported in valid:
        first.setdefault(imported.item.key, imported)
    unique = list(first.values())
    existing = linking.find_existing(space, [imported.item for imported in unique], clock.now()) if unique else []
    refusals = {
        imported.item.key: _removal(imported, earlier) for imported, earlier in zip(unique, existing, strict=True)
    }
    if any(refusals.values()):
        pairs = [
            (imported, earlier)
            for imported, earlier in zip(unique, existing, strict=True)
            if refusals[imported.item.key] is None
        ]
        unique, existing = [imported for imported, _ in pairs], [earlier for _, earlier in pairs]
    known = _there(existing, unique)
    new = [(imported, earlier) for imported, earlier in zip(unique, existing, strict=True) if earlier.same is None]
    fits, over_limit = usage.count_fitting(call.principal, [imported.item.text for imported, _ in new])
    new = new[:fits]
    salts = {imported.item.key: texts.new_salt() for imported, _ in new}
    if new:
        _insert(call, space, new, salts, source)
        usage.add_usage(call.principal, [imported.item.text for imported, _ in new])
        known |= {imported.item.key: imported.item.grain for imported, _ in new}
    for index, imported in valid:
        grain = known.get(imported.item.key)
        refusal = refusals[imported.item.key] or (over_limit if grain is None else None)
        if refusal is not None:
            results[index] = _refused(refusal)
            continue
        stored = grain == imported.item.grain
        if stored:
            digest = texts.salted(imported.item.digest, salts[imported.item.key])
            call.record(str(grain), digest=digest, origin=imported.item.origin, status="imported", source=source)
        results[index] = {
            "status": STORED if stored else THERE,
            "grain_id": str(grain),
            "capped": stored and imported.capped,
            "error": None,
        }
    return results


def preview_items(
    space: int, valid: Sequence[tuple[int, ImportedItem]], results: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Result that each item would have; writes nothing."""
    existing = linking.find_existing(space, [imported.item for _, imported in valid], clock.now()) if valid else []
    seen: set[tuple[str, str, str]] = set()
    for (index, imported), earlier in zip(valid, existing, strict=True):
        refusal = _removal(imported, earlier)
        if refusal is not None:
            results[index] = _refused(refusal)
            continue
        exists = earlier.same is not None or imported.item.key in seen
        seen.add(imported.item.key)
        results[index] = {
            "status": THERE if exists else STORED,
            "grain_id": None,
            "capped": imported.capped,
            "error": None,
        }
    return results


def _there(existing: Sequence[Existing], unique: Sequence[ImportedItem]) -> dict[tuple[str, str, str], uuid.UUID]:
    numbers = {
        earlier.same: imported.item.key
        for imported, earlier in zip(unique, existing, strict=True)
        if earlier.same is not None
    }
    found = Grain.objects.filter(pk__in=list(numbers)).values_list("pk", "uuid")
    return {numbers[number]: outside for number, outside in found}


def _insert(
    call: RunningCall,
    space: int,
    new: Sequence[tuple[ImportedItem, Existing]],
    salts: dict[tuple[str, str, str], str],
    source: str,
) -> None:
    moment, who = clock.now(), call.principal.actor
    ordinals = linking.ordinals([one.item for one, _ in new], [earlier for _, earlier in new])
    values = [
        (
            one.item.grain,
            space,
            one.item.text,
            one.item.digest,
            salts[one.item.key],
            one.item.origin,
            one.authority,
            one.confidence,
            one.decay_class,
            one.status,
            who,
            one.label,
            one.corroborations,
            one.pinned,
            one.item.session,
            ordinal,
            one.item.speaker,
            list(one.item.tags),
            one.item.said_at,
            one.item.valid_from,
            one.item.valid_to,
            one.recorded_at or moment,
        )
        for (one, _), ordinal in zip(new, ordinals, strict=True)
    ]
    numbers = {
        (digest, origin, session): number
        for number, digest, origin, session in raw_sql.upsert(Grain, _COLUMNS, values, _NEW)
    }
    linked = [linking.NewGrain(numbers[one.item.key], one.item) for one, _ in new]
    packed = linking.link_grains(space, linked, [earlier for _, earlier in new], moment)
    full_text.index_terms(space, [(one.grain, one.item.keys) for one in linked])
    grains_jobs.ask_for_enrichment(space)
    call.event("grains.imported", "", {"grains": len(new), "source": source}, changes.merge_packed(packed.values()))
