"""What a key held before: kept for a number of versions and days, readable and restorable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config, rows
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import moment
from memory.keyvalue.given import Value, check_key, check_version, value_of
from memory.keyvalue.models import Item, Revision
from memory.keyvalue.places import Room, place, room
from memory.keyvalue.reading import reads
from memory.keyvalue.statements import Writer, Written

MAX_PAGE = 100
_TABLE = Revision._meta.db_table
_COLUMNS = ("item", "version", "kind", "value", "sha", "size", "expires", "at", "writer")
_FORGET = f"DELETE FROM {_TABLE} WHERE item_id = %s AND version < %s"  # noqa: S608
_WRITTEN, _DELETED = Revision.Kind.WRITTEN.value, Revision.Kind.DELETED.value


def note(by: Writer, done: Written, value: Value | None) -> None:
    """Keep what was written, or that it was deleted, and let the oldest go."""
    kept = config.current().KV_HISTORY_VERSIONS
    if not kept:
        return
    text, sha, size = (value.text, value.sha, value.size) if value else (None, "", 0)
    row = (done.item, done.version, _WRITTEN if value else _DELETED, text, sha, size, done.expires, by.at, by.name)
    rows.insert(Revision, _COLUMNS, [row])
    if done.version > kept + 1:  # the present version is not an earlier one
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [done.item, done.version - kept])


def lasts(done: Written) -> None:
    """What is kept of the present version lives as long as it does: no longer, and no shorter."""
    Revision.objects.filter(item=done.item, version=done.version, kind=_WRITTEN).update(expires=done.expires)


def kept(home: Room, key: str, version: int) -> Value:
    """The value of a version, to be written anew. What had a lifetime that is over does not come back."""
    found = (
        Revision.objects.filter(item__namespace=home.id, item__key=key, version=version, kind=_WRITTEN)
        .order_by("-id").first()
    )  # fmt: skip
    if found is None or found.value is None or (found.expires is not None and found.expires <= home.now):
        raise NotFound(f"Version {version} of that key is not kept.", key=key, version=version)
    return Value(found.value, found.sha, found.size)


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    return reads(principal, arguments)


@selector("kv.history", needs="memory.read", asks=_reads)
def page(principal: Principal, *, where: str, key: str, limit: int = 20) -> dict[str, Any]:
    """What became of a key, newest first, without the values."""
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")
    home, key = room(principal, place(where), make=False), check_key(key)
    item = Item.objects.filter(namespace=home.id, key=key).first() if home else None
    if home is None or item is None:
        raise NotFound("Nothing was ever kept under that key.", key=key)
    found = Revision.objects.filter(item=item).order_by("-version", "-id")[:limit]
    return {
        "key": key, "version": item.version, "current": _live(item, home),
        "versions": [_described(one, home) for one in found],
    }  # fmt: skip


def _live(item: Item, home: Room) -> bool:
    return item.value is not None and (item.expires is None or item.expires > home.now)


def _described(one: Revision, home: Room) -> dict[str, Any]:
    return {
        "version": one.version, "kind": one.kind, "sha": one.sha, "bytes": one.size, "writer": one.writer,
        "at": clock.rfc3339(one.at), "expires_at": moment.told(one.expires),
        "expired": one.expires is not None and one.expires <= home.now,
    }  # fmt: skip


@selector("kv.version", needs="memory.read", asks=_reads)
def version(principal: Principal, *, where: str, key: str, version: int) -> dict[str, Any]:
    """The value a key had in an earlier version."""
    home, key = room(principal, place(where), make=False), check_key(key)
    check_version(version, name="version", low=1)
    if home is None:
        raise NotFound("Nothing was ever kept under that key.", key=key)
    value = kept(home, key, version)
    return {"key": key, "version": version, "sha": value.sha, "bytes": value.size, "value": value_of(value.text)}
