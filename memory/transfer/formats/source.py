"""Source of an import: grains and links, as every reader of a format returns them."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fluxcore.errors import FluxError, Invalid

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
MAX_LINE = 8 * 1024 * 1024  # bytes of a line or a note; longer ones are refused


@dataclass(frozen=True)
class SourceItem:
    """One grain or link of a source as read, or the reason why it cannot be read."""

    place: str  # its place in the source, for the report
    given: dict[str, Any] = field(default_factory=dict)
    key: str = ""  # name by which links refer to it
    problem: FluxError | None = None


def no_items() -> Iterator[SourceItem]:
    return iter(())


@dataclass(frozen=True)
class Source:
    """Grains, then the links between them by their keys. Both can be read again from the start."""

    format: str
    name: str
    total: int | None  # items and links; None if unknown before reading
    items: Callable[[], Iterator[SourceItem]]
    links: Callable[[], Iterator[SourceItem]] = no_items


def unreadable_item(place: str, says: str) -> SourceItem:
    return SourceItem(place, problem=Invalid(says, field="content"))


def decode_text(raw: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark. Guessing another encoding could store wrong letters."""
    for mark, name in _MARKS.items():
        if raw.startswith(mark):
            return _decoded(raw, name)
    return _decoded(raw, "utf-8")


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode(name)
    except UnicodeDecodeError as error:
        raise Invalid(f"The file is not UTF-8: byte {error.start} cannot be read.", field="content") from None


def json_lines(path: Path) -> Iterator[tuple[str, Any, FluxError | None]]:
    """Lines of a JSONL file: place, and value or problem."""
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(MAX_LINE + 1):
            number += 1
            place = f"line {number}"
            if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(MAX_LINE)
                yield place, None, Invalid(f"The line has more than {MAX_LINE} bytes.", field="content")
                continue
            if not raw.strip():
                continue
            try:
                yield place, json.loads(decode_text(raw)), None
            except FluxError as error:
                yield place, None, error
            except (ValueError, RecursionError):
                yield place, None, Invalid("The line is not valid JSON.", field="content")
