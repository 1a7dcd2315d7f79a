"""Storing grains: the raw text is durable before anything else happens to it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from accounts import origins
from accounts.verbs import Act, Change, verb
from fluxcore import clock, config, limits, rows
from fluxcore.errors import FluxError, Forbidden, Invalid
from memory.grains import texts
from memory.grains.models import Grain

_COLUMNS = ("uuid", "space", "text", "digest", "origin", "status", "writer", "label", "corroborations", "recorded_at")
_TABLE = Grain._meta.db_table
_ACTIVE = Grain.Status.ACTIVE.value
_ITEM_FIELDS = ("content", "provenance")


@dataclass
class Item:
    """A checked statement on its way to becoming a grain."""

    grain: uuid.UUID  # the id it gets if it is new
    text: str
    origin: str
    digest: str


def _checked(act: Act, item: Any) -> Item:
    if not isinstance(item, dict):
        raise Invalid("An item is an object with a content.", field="items")
    for name in item:
        if name not in _ITEM_FIELDS:
            raise Invalid(f"Unknown field {name[:64]!r}.", field=name[:64])
    text = texts.check_text(item.get("content"))
    claimed = item.get("provenance")
    if claimed is not None and not isinstance(claimed, str):
        raise Invalid("provenance must be a text.", field="provenance")
    return Item(uuid.uuid4(), text, origins.bind(claimed, ceiling=act.principal.ceiling), texts.digest(text))


def _ticket(act: Act, cost: int) -> limits.Ticket | None:
    """The agent's share of the minute. The shell's own writes are not limited."""
    if act.principal.agent is None:
        return None
    ticket = limits.ask(f"grains:{act.principal.agent}", cost=cost, limit=config.current().MAX_GRAINS_PER_MINUTE)
    act.tickets.append(ticket)
    return ticket


@verb("grains.store", needs="grains.write")
def store(act: Act, *, content: Any, provenance: Any = None) -> Change:
    """Remember one text."""
    item = _checked(act, {"content": content, "provenance": provenance})
    ticket = _ticket(act, 1)

    def change() -> dict[str, Any]:
        if ticket is not None:
            ticket.take()
        return _insert(act, [item])[0]

    return change


@verb("grains.store_batch", needs="grains.write")
def store_batch(act: Act, *, items: Any) -> Change:
    """Remember up to MAX_GRAINS_PER_CALL texts: each is stored or refused on its own, all in one commit."""
    limit = config.current().MAX_GRAINS_PER_CALL
    if not isinstance(items, list) or not 1 <= len(items) <= limit:
        raise Invalid(f"items must be a list of 1 to {limit}.", field="items", limit=limit)
    good: list[tuple[int, Item]] = []
    forbidden: list[Forbidden] = []
    results: list[dict[str, Any]] = [{} for _ in items]
    for index, item in enumerate(items):
        try:
            good.append((index, _checked(act, item)))
        except FluxError as error:
            if isinstance(error, Forbidden):
                forbidden.append(error)
            results[index] = {"index": index, "grain_id": None, "status": "refused", "error": error.body()}
    # At least one: a batch of nothing but refusals leaves a link too, and must not be free.
    ticket = _ticket(act, max(1, len(good)))

    def change() -> dict[str, Any]:
        if ticket is not None:
            ticket.take()
        answers = _insert(act, [item for _, item in good]) if good else []
        for (index, _), answer in zip(good, answers, strict=True):
            results[index] = {"index": index, **answer, "error": None}
        if forbidden:
            act.record("", outcome="refused", code=forbidden[0].code, count=len(forbidden), **forbidden[0].details)
        if not good and not forbidden:
            act.record("", refused=len(items))
        return {
            "results": results,
            "grain_ids": [result["grain_id"] for result in results],
            "count": len(good),
            "refused": len(items) - len(good),
        }

    return change


# A text that is here already from the same origin is not stored again: it gains a corroboration.
_OR_CORROBORATE = (
    f"ON CONFLICT (space_id, digest, origin) DO UPDATE SET corroborations = {_TABLE}.corroborations + 1, "
    # Said again, a text that was on its way out is wanted: what we acknowledge must not be purged.
    f"status = CASE WHEN {_TABLE}.status IN ('dormant', 'archived', 'pending_deletion') THEN 'active' "
    f"ELSE {_TABLE}.status END "
    "RETURNING uuid, digest, origin"
)


def _insert(act: Act, items: list[Item]) -> list[dict[str, Any]]:
    """New texts become grains in one statement; equal ones of the same origin are corroborated."""
    space = act.principal.space
    if space is None:
        raise Invalid("Name a space to store in.", field="space")
    moment, who, label = clock.now(), act.principal.actor, act.principal.label
    first: dict[tuple[str, str], Item] = {}
    for item in items:
        first.setdefault((item.digest, item.origin), item)
    new = [
        (item.grain, space, item.text, item.digest, item.origin, _ACTIVE, who, label, 0, moment)
        for item in first.values()
    ]
    known: dict[tuple[str, str], uuid.UUID] = {
        (digest, origin): found if isinstance(found, uuid.UUID) else uuid.UUID(found)
        for found, digest, origin in rows.upsert(Grain, _COLUMNS, new, _OR_CORROBORATE)
    }
    answers: list[dict[str, Any]] = []
    repeated: list[uuid.UUID] = []
    for item in items:
        key = (item.digest, item.origin)
        if first[key] is not item:
            repeated.append(known[key])
        grain, status = str(known[key]), "stored" if known[key] == item.grain else "corroborated"
        act.record(grain, digest=item.digest, origin=item.origin, status=status)
        act.event(f"grain.{status}", grain, {"origin": item.origin})
        answers.append({"grain_id": grain, "status": status, "provenance": item.origin})
    if repeated:
        _corroborate(repeated)
    return answers


def _corroborate(grains: list[uuid.UUID]) -> None:
    """Texts that stand twice in one batch: the statement above counted only their first."""
    for grain in grains:
        Grain.objects.filter(uuid=grain).update(corroborations=F("corroborations") + 1)
