"""Reading grains back, with raw SQL because these are the hottest reads."""

from __future__ import annotations

import base64
import re
import uuid
from typing import Any

from django.db import connection

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from fluxcore.errors import Invalid, NotFound
from memory.grains.models import Grain

MAX_PAGE = 200
# 63 bits in URL-safe base 64; the published schema says the same.
CURSOR = r"^[A-Za-f][A-Za-z0-9_-]{10}$"
_CURSOR = re.compile(CURSOR)
_COLUMNS = "uuid, text, origin, status, writer, label, corroborations, recorded_at"
_ONE = f"SELECT {_COLUMNS} FROM {Grain._meta.db_table} WHERE uuid = %s AND space_id = %s"  # noqa: S608
_PAGE = (
    f"SELECT {_COLUMNS}, id FROM {Grain._meta.db_table} "  # noqa: S608
    "WHERE space_id = %s AND status = %s AND id < %s ORDER BY id DESC LIMIT %s"
)


def _shape(row: tuple[Any, ...]) -> dict[str, Any]:
    found, text, origin, status, writer, label, corroborations, recorded_at = row[:8]
    return {
        "id": str(found) if isinstance(found, uuid.UUID) else str(uuid.UUID(found)),
        "content": text,
        "provenance": origin,
        "status": status,
        "writer": writer,
        "label": label,
        "corroborations": corroborations,
        "recorded_at": clock.rfc3339(recorded_at),
    }


@selector("grains.get", needs="grains.read")
def get(principal: Principal, grain: uuid.UUID) -> dict[str, Any]:
    """One grain of the principal's space. Foreign and absent ids get the same answer."""
    with connection.cursor() as cursor:
        cursor.execute(_ONE, [grain.hex if connection.vendor == "sqlite" else grain, principal.space])
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such grain.")
    return _shape(row)


@selector("grains.list", needs="grains.read")
def page(principal: Principal, *, status: str = "active", limit: int = 50, cursor: str | None = None) -> dict[str, Any]:
    """The newest grains of a status, and the cursor of the next page."""
    if status not in Grain.Status.values:
        raise Invalid(f"status must be one of {', '.join(Grain.Status.values)}.", field="status")
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")
    before = _position(cursor) if cursor is not None else 2**63 - 1
    with connection.cursor() as query:
        query.execute(_PAGE, [principal.space, status, before, limit + 1])
        rows = query.fetchall()
    more = len(rows) > limit
    rows = rows[:limit]
    return {
        "grains": [_shape(row) for row in rows],
        "count": len(rows),
        "next_cursor": _cursor(rows[-1][8]) if more else None,
    }


def _cursor(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(8, "big")).decode().rstrip("=")


def _position(cursor: str) -> int:
    if not _CURSOR.fullmatch(cursor):
        raise Invalid("That is not a cursor of this list.", field="cursor")
    return int.from_bytes(base64.urlsafe_b64decode(cursor + "="), "big")
