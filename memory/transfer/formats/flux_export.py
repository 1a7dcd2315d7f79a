"""Our own export as JSON lines: a header, then a line for each grain, then one for each conduit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fluxcore.errors import Invalid
from memory.grains.import_export import imported_item
from memory.transfer.formats.source import Source, SourceItem, json_lines

MARK, FORM = "flux_export", 1
_FIELDS = frozenset(imported_item.FIELDS)


def looks_like(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b'{"' + MARK.encode() + b'"')


def export_lines(
    header: dict[str, Any], grains: Iterable[dict[str, Any]], links: Iterable[dict[str, Any]]
) -> Iterator[str]:
    """The lines of an export."""
    yield _line({MARK: FORM, **header})
    for one in grains:
        yield _line({"grain": one})
    for one in links:
        yield _line({"link": one})


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def read(path: Path, chunk: int) -> Source:
    first = next(json_lines(path), None)
    header = first[1] if first is not None else None
    if not isinstance(header, dict) or header.get(MARK) != FORM:
        raise Invalid(f"{path.name} is not an export that this release can read.", field="path")
    counts = [one for name in ("grains", "links") if isinstance(one := header.get(name), int) and 0 <= one < 10**9]
    return Source(
        "flux",
        path.name,
        sum(counts) if len(counts) == 2 else None,
        lambda: _rows(path, "grain", "id"),
        lambda: _rows(path, "link", ""),
    )


def _rows(path: Path, kind: str, key: str) -> Iterator[SourceItem]:
    for number, (place, value, problem) in enumerate(json_lines(path)):
        if number == 0:
            continue
        row = value.get(kind) if isinstance(value, dict) else None
        if problem is None and isinstance(row, dict):
            # Unknown fields are ignored: the id in the exporting instance, and fields of later releases.
            given = {name: one for name, one in row.items() if kind == "link" or name in _FIELDS}
            yield SourceItem(place, given, str(row.get(key, "")) if key else "")
        elif kind == "grain" and (problem is not None or not _is_link(value)):
            yield SourceItem(
                place, problem=problem or Invalid("The line is neither a memory nor a link.", field="content")
            )


def _is_link(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("link"), dict)
