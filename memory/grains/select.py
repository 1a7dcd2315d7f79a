"""Selectors of grains: list and one grain, with raw SQL because they are read most often."""

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
from memory.engine.kinds import MADE_KINDS, MEMORY
from memory.grains import hydrate, list_filters, sources
from memory.grains.models import Grain
from memory.grains.sizes import MAX_PAGE as MAX_PAGE

SNIPPET = 120  # characters of a text in a list, as flux-memory shows them
# 63 bits in URL-safe base 64; the published schema says the same.
CURSOR = r"^[A-Za-f][A-Za-z0-9_-]{10}$"
_CURSOR = re.compile(CURSOR)
_TABLE = Grain._meta.db_table
_OWN = ("ordinal", "label", "digest", "enriched")
_COLUMNS = ", ".join(f"g.{name}" for name in (*hydrate.COLUMNS.split(", "), *_OWN))
_ONE = f"SELECT {_COLUMNS} FROM {_TABLE} g WHERE g.uuid = %s AND g.space_id = %s"  # noqa: S608
_PAGE = (
    f"SELECT {_COLUMNS} FROM {_TABLE} g "  # noqa: S608
    "WHERE g.space_id = %s AND g.status = %s AND g.id < %s ORDER BY g.id DESC LIMIT %s"
)
# Rows that were read, their number and lowest id; the ids of those that match; their columns. Returns at least one row,
# so that a page without matches knows its last id. CROSS JOIN: SQLite would otherwise begin with every grain of the
# status.
_NARROWED = (
    "WITH looked AS ({window}), edge AS (SELECT COUNT(*) AS seen, MIN(id) AS low FROM looked), "  # noqa: S608
    f"found AS (SELECT looked.id FROM looked CROSS JOIN {_TABLE} g WHERE g.id = looked.id "
    "AND g.space_id = %s AND g.status = %s{conditions} ORDER BY looked.id DESC LIMIT %s) "
    f"SELECT edge.seen, edge.low, {_COLUMNS} FROM edge LEFT JOIN found ON TRUE "
    f"LEFT JOIN {_TABLE} g ON g.id = found.id ORDER BY found.id DESC"
)


def grain_shape(row: tuple[Any, ...]) -> dict[str, Any]:
    """Fields of a grain, without links or history."""
    grain = hydrate.grain_row(row[: -len(_OWN)])
    ordinal, label, digest, enriched = row[-len(_OWN) :]
    return {
        **grain.shape(),
        "ordinal": ordinal if grain.session else None,
        "writer": grain.writer,
        "label": label,
        "corroborations": grain.corroborations,
        "digest": digest,
        "enriched": bool(enriched),
        # Names of the two in flux-memory.
        "content_snippet": grain.text[:SNIPPET],
        "created_at": clock.rfc3339(grain.recorded_at),
    }


def load_row(principal: Principal, grain: uuid.UUID) -> tuple[Any, ...]:
    """Row of one grain of the principal's space. Ids of other spaces and unknown ids get the same answer."""
    with connection.cursor() as cursor:
        cursor.execute(_ONE, [grain.hex if connection.vendor == "sqlite" else grain, principal.space])
        found = cursor.fetchone()
    if found is None:
        raise NotFound("There is no memory with this id.")
    return tuple(found)


def source_of(principal: Principal, row: tuple[Any, ...]) -> dict[str, Any]:
    """The kind of a grain, and where it is from if it was made. One that the caller may not see is not there."""
    grain = hydrate.grain_row(row[: -len(_OWN)])
    if grain.status not in MADE_KINDS:
        return {"kind": MEMORY}
    cited = sources.citations(principal, principal.space or 0, [(grain.id, grain.status)]).get(grain.id)
    if cited is None:
        raise NotFound("There is no memory with this id.")
    return {
        "kind": grain.status,
        "status": Grain.Status.ACTIVE.value,
        "session": cited.get("session") or None,
        "citation": {**cited, "address": sources.address(grain.status, cited)},
    }


def check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")


@selector("grains.list", needs="grains.read")
def page(
    principal: Principal, *, status: str = "active", limit: int = 50, cursor: str | None = None, **narrowed: Any
) -> dict[str, Any]:
    """The newest grains of a status, filtered by `list_filters.FIELDS`, and the cursor of the next page.

    A filtered page may be short, even empty, and still have a next one: a page reads a limited number of rows.
    """
    if status not in Grain.Status.values:
        raise Invalid(f"status must be one of {', '.join(Grain.Status.values)}.", field="status")
    check_limit(limit)
    narrow = list_filters.check_filters(narrowed)
    below = cursor_position(cursor) if cursor is not None else 2**63 - 1
    found, low = _narrowed(principal, narrow, status, below, limit) if narrow else (None, None)
    if found is None:
        with connection.cursor() as query:
            query.execute(_PAGE, [principal.space, status, below, limit + 1])
            found = query.fetchall()
    if len(found) > limit:
        found = found[:limit]
        low = found[-1][0]
    return {
        "grains": [grain_shape(one) for one in found],
        "count": len(found),
        "next_cursor": cursor_of(low) if low is not None else None,
    }


def _narrowed(
    principal: Principal, narrow: list_filters.ListFilters, status: str, below: int, limit: int
) -> tuple[list[tuple[Any, ...]], int | None]:
    """The matching rows, and the id the next page continues from, if there may be more."""
    window, bounds = narrow.window(principal.space, status, below)
    conditions, values = narrow.conditions()
    with connection.cursor() as query:
        query.execute(
            _NARROWED.format(window=window, conditions=conditions),
            [*bounds, principal.space, status, *values, limit + 1],
        )
        rows = query.fetchall()
    seen, low = rows[0][:2]
    return [one[2:] for one in rows if one[2] is not None], low if seen == list_filters.LOOKED_AT else None


def cursor_of(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(8, "big")).decode().rstrip("=")


def cursor_position(cursor: str) -> int:
    if not _CURSOR.fullmatch(cursor):
        raise Invalid("That is not a cursor of this list.", field="cursor")
    return int.from_bytes(base64.urlsafe_b64decode(cursor + "="), "big")
