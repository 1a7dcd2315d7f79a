"""Versions of files: list, read and compare them."""

from __future__ import annotations

from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from flux.calls import files as calls
from fluxcore import clock
from fluxcore.errors import NotFound
from memory.artifacts import change_log, contents, names
from memory.artifacts.comparing import json_changes, text_of, unified_diff
from memory.artifacts.models import FileChange
from memory.artifacts.reading import existing_path
from memory.artifacts.states import FileState, read_state

DEFAULT_LIMIT = 20
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
