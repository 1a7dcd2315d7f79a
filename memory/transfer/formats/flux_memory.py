"""Reader of a flux-memory database: its grains with provenance, and the links that were used or typed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from accounts.origins import RANK
from fluxcore.errors import Invalid
from memory.grains.grain_input import MAX_TAG, MAX_TAGS
from memory.grains.models import Grain
from memory.grains.texts import is_visible
from memory.transfer.formats.source import Source, SourceItem, unreadable_item

_GRAINS = {"id", "content", "provenance", "confidence", "decay_class", "status", "created_at", "source_tags"}
_CONDUITS = {"from_id", "to_id", "weight", "created_at", "last_used", "use_count", "relation"}
# Links by similar meaning alone are not imported, because they are found again; used or typed ones are knowledge.
_WORTH = "FROM conduits WHERE (use_count > 0 OR relation <> 'related') AND from_id IN (SELECT id FROM grains)"


def looks_like(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0")


def read(path: Path, chunk: int) -> Source:
    try:
        with closing(_open(path)) as base:
            _check(base, path)
            grains = int(base.execute("SELECT COUNT(*) FROM grains").fetchone()[0])
            links = int(base.execute(f"SELECT COUNT(*) {_WORTH}").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise Invalid(f"{path.name} cannot be read as a database: {error}.", field="path") from None
    return Source(
        "flux-memory",
        path.name,
        grains + links,
        lambda: _as_far_as_it_goes(_items(path)),
        lambda: _as_far_as_it_goes(_links(path)),
    )


def _open(path: Path) -> sqlite3.Connection:
    """Open the database read-only, without trusting functions in its schema."""
    base = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)
    base.execute("PRAGMA trusted_schema = OFF")
    base.execute("PRAGMA query_only = ON")
    base.text_factory = bytes  # a text may be invalid UTF-8, which must refuse this text only
    return base


def _check(base: sqlite3.Connection, path: Path) -> None:
    tables = {
        row[0].decode("utf-8", "replace") for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    for table, wanted in (("grains", _GRAINS), ("conduits", _CONDUITS)):
        has = (
            {row[1].decode("utf-8", "replace") for row in base.execute(f"PRAGMA table_info({table})")}
            if table in tables
            else set()
        )
        if wanted - has:
            raise Invalid(
                f"{path.name} is a database, but not of flux-memory: {table} lacks {', '.join(sorted(wanted - has))}.",
                field="path",
            )


def _items(path: Path) -> Iterator[SourceItem]:
    with closing(_open(path)) as base:
        rows = base.execute(
            "SELECT id, content, provenance, confidence, decay_class, status, created_at, source_tags FROM grains "
            "ORDER BY created_at, rowid"
        )
        for row in rows:
            yield _item(row)


def _as_far_as_it_goes(rows: Iterator[SourceItem]) -> Iterator[SourceItem]:
    """Rows up to a damaged page of the database, then a problem that reports the rest."""
    try:
        yield from rows
    except sqlite3.DatabaseError as error:
        yield unreadable_item("the rest of the database", f"It cannot be read: {error}.")


def _item(row: tuple[Any, ...]) -> SourceItem:
    try:
        key, content, provenance, confidence, decay, status, created, tags = (
            one.decode() if isinstance(one, bytes) else one for one in row
        )
    except UnicodeDecodeError:
        return unreadable_item("a memory", "One of its texts is not UTF-8.")
    place = f"memory {key}"
    if status == Grain.Status.PENDING_DELETION:
        return unreadable_item(place, "It was marked for deletion there.")
    given = {
        "content": content,
        # An unknown provenance counts as unknown.
        "provenance": provenance if provenance in RANK else None,
        "confidence": confidence,
        "time": _moment(created),
        "tags": _tags(tags),
        "decay_class": decay if decay in ("working", "core") else None,
        "status": status if status in Grain.Status.values else None,
    }
    return SourceItem(place, {name: value for name, value in given.items() if value is not None}, str(key))


def _links(path: Path) -> Iterator[SourceItem]:
    with closing(_open(path)) as base:
        for row in base.execute(
            f"SELECT from_id, to_id, weight, created_at, last_used, use_count, relation {_WORTH} ORDER BY rowid"
        ):
            start, end, weight, created, used, uses, relation = (
                one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in row
            )
            given = {
                "from": start,
                "to": end,
                "relation": relation,
                "weight": weight,
                "made_at": _moment(created),
                "used_at": _moment(used),
                "use_count": uses,
            }
            yield SourceItem(
                f"link {start} to {end}", {name: value for name, value in given.items() if value is not None}
            )


def _moment(text: Any) -> str | None:
    """Parse a time of flux-memory, which is UTC without an offset."""
    if not isinstance(text, str) or len(text) < 19:
        return None
    return text if text.endswith(("Z", "z")) or "+" in text else f"{text[:10]}T{text[11:]}Z"


def _tags(text: Any) -> list[str] | None:
    """Labels as tags, as many as a grain may have."""
    try:
        found = json.loads(text or "[]")
    except (ValueError, TypeError):
        return None
    listed = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
    return [one for one in dict.fromkeys(listed) if len(one) <= MAX_TAG and is_visible(one)][:MAX_TAGS] or None
