"""Storing grains: the raw text is durable before anything else happens to it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts import origins
from accounts.verbs import Act, Change, verb
from fluxcore import clock, config, limits, rows
from fluxcore.errors import FluxError, Forbidden, Invalid
from memory.grains import texts
from memory.grains.models import Grain

_COLUMNS = ("uuid", "space", "text", "digest", "origin", "status", "writer", "label", "corroborations", "recorded_at")
_ITEM_FIELDS = ("content", "provenance")


@dataclass
class Item:
    """A checked statement on its way to becoming a grain."""

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
    return Item(text, origins.bind(claimed, ceiling=act.principal.ceiling), texts.digest(text))


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
    ticket = _ticket(act, len(good)) if good else None

    def change() -> dict[str, Any]:
        if ticket is not None:
            ticket.take()
        answers = _insert(act, [item for _, item in good]) if good else []
        for (index, _), answer in zip(good, answers, strict=True):
            results[index] = {"index": index, **answer, "error": None}
        for error in forbidden:
            act.record("", outcome="refused", code=error.code, **error.details)
        if not good and not forbidden:
            act.record("", refused=len(items))
        return {
            "results": results,
            "grain_ids": [result["grain_id"] for result in results],
            "count": len(good),
            "refused": len(items) - len(good),
        }

    return change


def _insert(act: Act, items: list[Item]) -> list[dict[str, Any]]:
    """New texts become grains; a text already here from the same origin is corroborated instead."""
    space = act.principal.space
    if space is None:
        raise Invalid("Name a space to store in.", field="space")
    known = _known(space, items)
    moment = clock.now()
    new: list[tuple[Any, ...]] = []
    answers: list[dict[str, Any]] = []
    again: list[str] = []
    for item in items:
        found = known.get((item.digest, item.origin))
        if found is None:
            found = str(uuid.uuid4())
            known[item.digest, item.origin] = found
            new.append((
                found, space, item.text, item.digest, item.origin, Grain.Status.ACTIVE, act.principal.actor,
                act.principal.label, 0, moment,
            ))  # fmt: skip
            kind, status = "grain.stored", "stored"
        else:
            again.append(found)
            kind, status = "grain.corroborated", "corroborated"
        act.record(found, digest=item.digest, origin=item.origin, status=status)
        act.event(kind, found, {"origin": item.origin})
        answers.append({"grain_id": found, "status": status, "provenance": item.origin})
    if new:
        rows.insert(Grain, _COLUMNS, new)
    if again:
        _corroborate(again)
    return answers


def _known(space: int, items: list[Item]) -> dict[tuple[str, str], str]:
    marks = ", ".join(["%s"] * len(items))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT digest, origin, uuid FROM {Grain._meta.db_table} WHERE space_id = %s AND digest IN ({marks})",  # noqa: S608
            [space, *(item.digest for item in items)],
        )
        return {(digest, origin): str(uuid.UUID(str(found))) for digest, origin, found in cursor.fetchall()}


def _corroborate(grains: list[str]) -> None:
    field = Grain._meta.get_field("uuid")
    with connection.cursor() as cursor:
        cursor.executemany(
            f"UPDATE {Grain._meta.db_table} SET corroborations = corroborations + 1 WHERE uuid = %s",  # noqa: S608
            [(field.get_db_prep_save(uuid.UUID(found), connection),) for found in grains],
        )
