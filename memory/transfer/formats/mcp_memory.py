"""Reader of the memory file of the MCP reference server: entities with observations, and their relations.

An observation becomes a sentence that names its entity, so that it can be found by itself; a relation becomes one too.
Names are entries of the graph, so grains with the same entity are linked without further conduits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fluxcore.errors import FluxError, Invalid
from memory.grains.grain_input import MAX_TAG
from memory.grains.texts import is_visible
from memory.transfer.formats.source import MAX_LINE, Source, SourceItem, decode_text, json_lines

_KINDS = ("entity", "relation")
MAX_FILE = 64 * 1024 * 1024  # bytes of one JSON document, which is loaded completely


def looks_like(head: bytes) -> bool:
    text = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    first = text.split(b"\n", 1)[0]
    return text.startswith(b"{") and (b'"entities"' in text or (b'"type"' in first and _known(first)))


def _known(first: bytes) -> bool:
    try:
        value = json.loads(first)
    except ValueError:
        return False
    return isinstance(value, dict) and value.get("type") in _KINDS


def read(path: Path, chunk: int) -> Source:
    document = _document(path)
    if document is None:
        return Source("mcp-memory", path.name, None, lambda: _from_lines(path))
    for name in ("entities", "relations"):
        if not isinstance(document.get(name, []), list):
            raise Invalid(f"{path.name}: {name} must be a list.", field="path")
    return Source("mcp-memory", path.name, None, lambda: _from_document(document))


def _document(path: Path) -> dict[str, Any] | None:
    """The file as one JSON document, or None if it is JSON lines."""
    if path.stat().st_size > MAX_FILE:
        return None
    try:
        value = json.loads(decode_text(path.read_bytes()))
    except FluxError:
        return None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "entities" in value else None


def _from_document(document: dict[str, Any]) -> Iterator[SourceItem]:
    for number, one in enumerate(document.get("entities", ()), start=1):
        yield from _entity(f"entity {number}", one)
    for number, one in enumerate(document.get("relations", ()), start=1):
        yield _relation(f"relation {number}", one)


def _from_lines(path: Path) -> Iterator[SourceItem]:
    for place, value, problem in json_lines(path):
        kind = value.get("type") if isinstance(value, dict) else None
        if problem is not None:
            yield SourceItem(place, problem=problem)
        elif kind == "entity":
            yield from _entity(place, value)
        elif kind == "relation":
            yield _relation(place, value)
        else:
            yield SourceItem(place, problem=Invalid("The line is neither an entity nor a relation.", field="type"))


def _entity(place: str, value: Any) -> Iterator[SourceItem]:
    name = value.get("name") if isinstance(value, dict) else None
    observations = value.get("observations", []) if isinstance(value, dict) else None
    if not isinstance(name, str) or not name.strip() or not isinstance(observations, list) or len(name) > MAX_LINE:
        yield SourceItem(place, problem=Invalid("An entity must have a name and a list of observations.", field="name"))
        return
    kind = value.get("entityType")
    tags = [kind] if isinstance(kind, str) and len(kind) <= MAX_TAG and is_visible(kind) else []
    if not observations and tags:
        yield SourceItem(place, _given(f"{name} is a {_words(tags[0])}", tags))
    for number, one in enumerate(observations, start=1):
        where = f"{place}, observation {number}"
        if not isinstance(one, str):
            yield SourceItem(where, problem=Invalid("An observation must be a text.", field="observations"))
        else:
            # An observation that names its entity is kept unchanged.
            yield SourceItem(where, _given(one if name.lower() in one.lower() else f"{name}: {one}", tags))


def _relation(place: str, value: Any) -> SourceItem:
    parts = [value.get(name) if isinstance(value, dict) else None for name in ("from", "relationType", "to")]
    if not all(isinstance(one, str) and one.strip() for one in parts):
        return SourceItem(
            place, problem=Invalid("A relation must have from, relationType and to.", field="relationType")
        )
    start, relation, end = (str(one) for one in parts)
    return SourceItem(place, _given(f"{start} {_words(relation)} {end}", []))


def _given(text: str, tags: list[str]) -> dict[str, Any]:
    return {"content": text, "tags": tags} if tags else {"content": text}


def _words(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").strip()
