"""Comparison of two contents: unified diff of texts, changed values of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from fluxcore.canonical_json import loads
from fluxcore.errors import FluxError, Invalid
from memory.artifacts import contents, lines
from memory.artifacts.line_diff import unified_lines

MAX_DIFF_BYTES, MAX_DIFF_LINES, MAX_CHANGES = 1024 * 1024, 20_000, 1_000


def text_of(content: int | None, path: str) -> str:
    """The text of a content that is to be compared."""
    data = contents.read_all(content, MAX_DIFF_BYTES + 1) if content is not None else b""
    if len(data) > MAX_DIFF_BYTES:
        raise Invalid(f"{path!r} is too large to compare: at most {MAX_DIFF_BYTES} bytes.", limit=MAX_DIFF_BYTES)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Invalid(f"{path!r} is not text, so it cannot be compared line by line.", path=path) from None


def unified_diff(path: str, old: str, new: str, old_name: str, new_name: str) -> str:
    """The lines that differ, in the form of `diff -u`."""
    if old == new:
        return ""
    old_lines, new_lines = lines.of_text(old), lines.of_text(new)
    if max(len(old_lines), len(new_lines)) > MAX_DIFF_LINES:
        raise Invalid(f"{path!r} has too many lines to compare: at most {MAX_DIFF_LINES}.", limit=MAX_DIFF_LINES)
    shown = unified_lines(old_lines, new_lines, f"{path} ({old_name})", f"{path} ({new_name})")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in shown)


def json_changes(old: str, new: str) -> list[dict[str, Any]] | None:
    """The values that differ, if both texts are JSON."""
    try:
        before, after = loads(old.encode()), loads(new.encode())
    except (FluxError, ValueError, RecursionError):
        return None
    return list(islice(_differences(before, after, ""), MAX_CHANGES))


def _differences(old: Any, new: Any, at: str) -> Iterator[dict[str, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            where = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in new:
                yield {"op": "removed", "at": where, "old": old[name]}
            elif name not in old:
                yield {"op": "added", "at": where, "new": new[name]}
            else:
                yield from _differences(old[name], new[name], where)
    elif isinstance(old, list) and isinstance(new, list):
        for number, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _differences(one, other, f"{at}/{number}")
        for number in range(len(new), len(old)):
            yield {"op": "removed", "at": f"{at}/{number}", "old": old[number]}
        for number in range(len(old), len(new)):
            yield {"op": "added", "at": f"{at}/{number}", "new": new[number]}
    elif type(old) is not type(new) or old != new:
        yield {"op": "changed", "at": at, "old": old, "new": new}
