"""Filters of the list of grains. A page finds rows through an index and reads a limited number of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from accounts import origins
from fluxcore.errors import Invalid
from fluxcore.raw_sql import adapt_moment
from memory.engine.text import words
from memory.grains import full_text, grain_input
from memory.grains.models import Grain
from memory.grains.sizes import MAX_WRITER as MAX_WRITER

FIELDS = ("session", "speaker", "tag", "origin", "writer", "pinned", "since", "until")
# Rows one page looks at: a rare match in a large space takes several pages, and none of them takes long.
LOOKED_AT = 5_000

_TABLE = Grain._meta.db_table
_LAST_PLACE = 2**31 - 1
# Statements that select candidate rows, newest first. In a session a later place has a higher id too.
_BY_STATUS = f"SELECT id FROM {_TABLE} WHERE space_id = %s AND status = %s AND id < %s ORDER BY id DESC LIMIT %s"  # noqa: S608
# INDEXED BY or CROSS JOIN: SQLite would otherwise use the index of the space alone and read every grain.
_BY_PIN = {
    vendor: f"SELECT id FROM {_TABLE}{by} WHERE space_id = %s AND pinned AND id < %s ORDER BY id DESC LIMIT %s"  # noqa: S608
    for vendor, by in (("sqlite", " INDEXED BY grain_pinned"), ("postgresql", ""))
}
_BY_SESSION = (
    f"SELECT id FROM {_TABLE} WHERE space_id = %s AND session = %s AND NOT (session = '') "  # noqa: S608
    f"AND ordinal <= COALESCE((SELECT ordinal FROM {_TABLE} WHERE id = %s AND space_id = %s AND session = %s), %s) "
    "AND id < %s ORDER BY ordinal DESC LIMIT %s"
)
_BY_WORDS = {
    "sqlite": "SELECT rowid AS id FROM grains_words WHERE grains_words MATCH %s AND rowid < %s "
    "ORDER BY rowid DESC LIMIT %s",
    "postgresql": "SELECT rowid AS id FROM grains_words WHERE words @> %s::bigint[] AND rowid < %s "
    "ORDER BY rowid DESC LIMIT %s",
}
_HAS_TAG = {
    "sqlite": "EXISTS (SELECT 1 FROM json_each(g.tags) WHERE value = %s)",
    "postgresql": "g.tags @> jsonb_build_array(%s::text)",
}


@dataclass(frozen=True)
class ListFilters:
    """Validated filters of a list; None does not filter."""

    session: str | None = None
    speaker: str | None = None
    tag: str | None = None
    origin: str | None = None
    writer: str | None = None
    pinned: bool | None = None
    since: datetime | None = None  # compared with said_at, or recorded_at without one
    until: datetime | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in FIELDS)

    def window(self, space: int | None, status: str, below: int) -> tuple[str, list[Any]]:
        """Statement that selects the rows to read, with the most selective index."""
        if self.session is not None:
            place = [below, space, self.session, _LAST_PLACE]
            return _BY_SESSION, [space, self.session, *place, below, LOOKED_AT]
        if space is not None and (terms := self._terms()):
            return _BY_WORDS[connection.vendor], [_held(space, terms), below, LOOKED_AT]
        if self.pinned:
            return _BY_PIN[connection.vendor], [space, below, LOOKED_AT]
        return _BY_STATUS, [space, status, below, LOOKED_AT]

    def conditions(self) -> tuple[str, list[Any]]:
        """SQL conditions of the filters as ` AND ...` on the table alias g."""
        found: list[tuple[str, Any]] = [
            (f"g.{name} = %s", getattr(self, name))
            for name in ("session", "speaker", "origin", "writer", "pinned")
            if getattr(self, name) is not None
        ]
        if self.tag is not None:
            found.append((_HAS_TAG[connection.vendor], self.tag))
        if self.since is not None:
            found.append(("COALESCE(g.said_at, g.recorded_at) >= %s", adapt_moment(self.since)))
        if self.until is not None:
            found.append(("COALESCE(g.said_at, g.recorded_at) < %s", adapt_moment(self.until)))
        return "".join(f" AND {condition}" for condition, _ in found), [value for _, value in found]

    def _terms(self) -> list[str]:
        """Full text terms of the filters: one for a tag, those of the name for a speaker."""
        tagged = [f"#{self.tag}"] if self.tag is not None else []
        return [*tagged, *(words.terms(self.speaker) if self.speaker is not None else ())]


def check_filters(given: dict[str, Any]) -> ListFilters:
    """Validate filters of a list; raises Invalid with the name of the field."""
    for name in given:
        if name not in FIELDS:
            raise Invalid.unknown(name, FIELDS, what="parameter")
    since, until = (
        grain_input.parse_time(given[name], name=name) if given.get(name) is not None else None
        for name in ("since", "until")
    )
    if since is not None and until is not None and since >= until:
        raise Invalid("since must be before until.", field="since")
    pinned = given.get("pinned")
    if pinned is not None and not isinstance(pinned, bool):
        raise Invalid("pinned must be true or false.", field="pinned")
    origin = given.get("origin")
    if origin is not None and origin not in origins.AUTHORITY:
        raise Invalid(f"origin must be one of {', '.join(origins.AUTHORITY)}.", field="origin")
    return ListFilters(
        session=_name(given, "session", grain_input.MAX_NAME),
        speaker=_name(given, "speaker", grain_input.MAX_NAME),
        tag=_name(given, "tag", grain_input.MAX_TAG),
        origin=origin,
        writer=_name(given, "writer", MAX_WRITER),
        pinned=pinned,
        since=since,
        until=until,
    )


def _name(given: dict[str, Any], name: str, longest: int) -> str | None:
    return None if given.get(name) is None else grain_input.check_visible_name(given[name], name=name, longest=longest)


def _held(space: int, terms: list[str]) -> Any:
    """Full text query for grains that have all these terms."""
    keys = [words.key(term) for term in dict.fromkeys(terms)]
    if connection.vendor == "sqlite":
        return full_text._tokens(space, keys)
    return [full_text._number(space, key) for key in keys]
