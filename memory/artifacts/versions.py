"""Versions of files: list, read and compare them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from flux.calls import files as calls
from fluxcore import clock
from fluxcore.canonical_json import loads
from fluxcore.errors import FluxError, Invalid, NotFound
from memory.artifacts import change_log, contents, names
from memory.artifacts.models import FileChange
from memory.artifacts.reading import existing_path
from memory.artifacts.states import FileState, read_state

DEFAULT_LIMIT = 20
# Of texts with every other line changed, the time to compare grows with the square of the lines: 5,000 take a second.
MAX_DIFF_BYTES, MAX_DIFF_LINES, MAX_CHANGES = 1024 * 1024, 5_000, 1_000
_reads = names.asks("artifacts.read", "path")


@handles(calls.ListVersions, asks=_reads)
def list_versions(principal: Principal, request: calls.ListVersions) -> dict[str, Any]:
    path = existing_path(request.path)
    _, file = read_state(principal, request.store, path)
    if file is None:
        return {"path": path, "version": 0, "versions": [], "count": 0}
    rows = FileChange.objects.filter(file=file.id, version__gt=0).order_by("-version")
    if request.before is not None:
        rows = rows.filter(version__lt=request.before)
    found = [_version_facts(row) for row in rows[: request.limit or DEFAULT_LIMIT]]
    return {"path": path, "version": file.version, "versions": found, "count": len(found)}


def _version_facts(row: FileChange) -> dict[str, Any]:
    return {
        "version": row.version,
        "op": row.op,
        "sha": row.new_sha,
        "bytes": row.size,
        "content_type": row.content_type,
        "kept": row.content_id is not None,
        "at": clock.rfc3339(row.at),
        "by": row.principal,
        "actor": row.actor,
        "reason": row.reason,
    }


@handles(calls.DiffVersions, asks=_reads)
@contents.read_again
def diff_versions(principal: Principal, request: calls.DiffVersions) -> dict[str, Any]:
    """Compare two versions. Before the first version, and where a file was deleted, there is nothing."""
    path = existing_path(request.path)
    _, file = read_state(principal, request.store, path)
    if file is None:
        raise NotFound(f"There is no file {path!r} in this store.", path=path)
    new = request.new or file.version
    old = request.old if request.old is not None else new - 1
    old_text, new_text = _text(file, path, old), _text(file, path, new)
    answer: dict[str, Any] = {"path": path, "old": old, "new": new, "same": old_text == new_text}
    answer["diff"] = unified_diff(path, old_text, new_text, f"version {old}", f"version {new}")
    changes = json_changes(old_text, new_text)
    return answer if changes is None else {**answer, "changes": changes}


def _text(file: FileState, path: str, version: int) -> str:
    if version == 0:
        return ""
    found = change_log.find_version(file.id, path, version)
    return text_of(change_log.find_kept(file.id, path, version).content_id, path) if found.new_sha else ""


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
    old_lines, new_lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(len(old_lines), len(new_lines)) > MAX_DIFF_LINES:
        raise Invalid(f"{path!r} has too many lines to compare: at most {MAX_DIFF_LINES}.", limit=MAX_DIFF_LINES)
    lines = difflib.unified_diff(old_lines, new_lines, f"{path} ({old_name})", f"{path} ({new_name})")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


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
