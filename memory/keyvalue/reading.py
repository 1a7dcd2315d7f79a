"""Reading a key back: one statement, whatever the namespace holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, raw_sql
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import moment
from memory.keyvalue.given import check_key, value_of
from memory.keyvalue.models import Item, Namespace
from memory.keyvalue.places import CLOCK, absent, place

_GET = (
    "SELECT i.value, i.version, i.sha, i.size, i.expires, i.written_at, i.writer, c.ahead "  # noqa: S608
    f"FROM {Namespace._meta.db_table} n JOIN {Item._meta.db_table} i ON i.namespace_id = n.id AND i.key = %s {CLOCK} "
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)


def reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To read a key takes the capability to read it."""
    where = place(arguments.get("where"))
    return [(where.operation(principal, "read"), check_key(arguments.get("key")))]


@selector("kv.get", needs="memory.read", asks=reads)
def get(principal: Principal, *, where: str, key: str) -> dict[str, Any]:
    """The value of a key with its version, digest, expiry and writer."""
    home, key = place(where), check_key(key)
    if principal.space is None:
        raise Invalid("Name a space.", field="space")
    found = raw_sql.read(_GET, [key, moment.boot(), principal.space, home.kind, home.name])
    if found:
        text, version, sha, size, expires, written_at, writer, ahead = found[0]
        if text is not None and (expires is None or expires > moment.now(ahead)):
            return shape(key, text, version, sha, size, expires, written_at, writer)
    elif not Namespace.objects.filter(space=principal.space, kind=home.kind, name=home.name).exists():
        absent(principal, home)
    raise NotFound(f"There is nothing under that key in {home}.", key=key)


def shape(
    key: str, text: str | None, version: int, sha: str, size: int, expires: float | None, written_at: Any, writer: str
) -> dict[str, Any]:
    """A key as callers see it; without `value` where only its particulars were asked for."""
    return {
        "key": key,
        **({"value": value_of(text)} if text is not None else {}),
        "version": version,
        "sha": sha,
        "bytes": size,
        "expires_at": moment.told(expires),
        "writer": writer,
        "written_at": clock.rfc3339(written_at),
    }
