"""Reading of files: their text, their facts and the store's log."""

from __future__ import annotations

import base64
import codecs
from collections.abc import Iterable
from typing import Any, NamedTuple

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import selector
from flux import paths
from flux.calls import files as calls
from flux.calls import stores as store_calls
from fluxcore import clock
from fluxcore.errors import NotFound
from memory.artifacts import change_log, contents, lines, names
from memory.artifacts.models import File, FileChange
from memory.artifacts.states import FileState, StoreState, read_seen, read_state

MAX_TEXT = 256 * 1024  # bytes of a content in an answer; the rest is read by lines, or over REST
DEFAULT_TAIL = 20
MAX_PASSED = 20  # entries looked at for each one of a page of the log; those of other paths are passed over
_reads = names.asks("artifacts.read", "path")


def existing_path(path: str) -> str:
    """The path to read. One that no file can have is refused, as in writes."""
    return paths.checked_path(path)


def find_file(principal: Principal, ref: str, path: str) -> tuple[StoreState, FileState]:
    """A file that exists."""
    store, file = read_state(principal, ref, existing_path(path))
    if file is None or not file.sha:
        raise NotFound(f"There is no file {path!r} in this store.", path=path)
    return store, file


def file_facts(path: str, file: File) -> dict[str, Any]:
    return {
        "path": path,
        "version": file.version,
        "sha": file.sha,
        "bytes": file.size,
        "content_type": file.content_type,
        "provenance": file.origin,
        "created_at": clock.rfc3339(file.created_at),
        "created_by": file.created_by,
        "updated_at": clock.rfc3339(file.written_at),
        "updated_by": file.writer,
        "actor": file.actor,
        "reason": file.reason,
    }


@handles(calls.GetFileFacts, asks=_reads)
def get_file_facts(principal: Principal, request: calls.GetFileFacts) -> dict[str, Any]:
    _, file = find_file(principal, request.store, request.path)
    return file_facts(request.path, File.objects.get(pk=file.id))


@handles(calls.ReadFile, asks=_reads)
@contents.read_again
def read_file(principal: Principal, request: calls.ReadFile) -> dict[str, Any]:
    """Read a file, an earlier version of it, or some of its lines."""
    _, state = read_state(principal, request.store, existing_path(request.path))
    if state is None or not (state.sha or request.version):
        raise NotFound(f"There is no file {request.path!r} in this store.", path=request.path)
    facts, content, size = file_facts(request.path, File.objects.get(pk=state.id)), state.content, state.size
    if request.version is not None:
        old = change_log.find_kept(state.id, request.path, request.version)
        content, size = old.content_id, old.size
        facts |= {
            "version": old.version,
            "sha": old.new_sha,
            "bytes": old.size,
            "content_type": old.content_type,
            "provenance": old.origin,
            "updated_at": clock.rfc3339(old.at),
            "updated_by": old.principal,
            "actor": old.actor,
            "reason": old.reason,
        }
    if content is None:
        raise NotFound(f"There is no file {request.path!r} in this store.", path=request.path)
    if request.first is not None or request.last is not None:
        return facts | _lines(content, request.first or 1, request.last)
    data = contents.read_all(content, MAX_TEXT)
    text, cut = _decoded(data, size > len(data))
    if text is None:
        return facts | {"base64": base64.b64encode(data).decode(), "truncated": size > len(data)}
    answer = facts | {"text": text, "truncated": cut}
    return answer if cut else answer | {"lines": _count_lines(text)}


class OpenedFile(NamedTuple):
    """A file, or a version of it, to be sent as it is."""

    sha: str
    size: int
    content_type: str
    version: int
    data: bytes | None  # None: the blob with this SHA-256


@selector("files.get", needs="artifacts.read", asks=_reads)
@contents.read_again
def open_file(principal: Principal, *, store: str, path: str, version: int | None = None) -> OpenedFile:
    """A file to be sent as it is. Large contents are left in blob storage."""
    _, file = read_state(principal, store, existing_path(path))
    if file is None or not (file.sha or version is not None):
        raise NotFound(f"There is no file {path!r} in this store.", path=path)
    if version is None:
        sha, size, kind, number, content = file.sha, file.size, file.content_type, file.version, file.content
    else:
        old = change_log.find_kept(file.id, path, version)
        sha, size, kind, number, content = old.new_sha, old.size, old.content_type, old.version, old.content_id
    if content is None:
        raise NotFound(f"There is no file {path!r} in this store.", path=path)
    return OpenedFile(sha, size, kind, number, contents.inline(content))


def _decoded(data: bytes, is_beginning: bool) -> tuple[str | None, bool]:
    """The text of bytes, None if they are no UTF-8; a character cut off at the end is left out."""
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=not is_beginning), is_beginning
    except UnicodeDecodeError:
        return None, is_beginning


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _lines(content: int, first: int, last: int | None) -> dict[str, Any]:
    """The lines `first` to `last`, at most MAX_TEXT bytes of them, without keeping the others."""
    found, size, number = list[bytes](), 0, 0
    for part in lines.parts(contents.read(content)):
        number = part.number
        if number < first:
            continue
        if last is not None and number > last:
            return {"text": _decoded_lines(found), "truncated": False}
        if size + len(part.data) > MAX_TEXT:
            return {"text": _decoded_lines(found), "truncated": True}
        found.append(part.data)
        size += len(part.data)
    return {"text": _decoded_lines(found), "lines": number, "truncated": False}


def _decoded_lines(found: Iterable[bytes]) -> str:
    """The text of lines; bytes that are no UTF-8 are replaced."""
    return b"".join(found).decode("utf-8", "replace")


@handles(store_calls.ReadStoreTail, asks=names.asks_for_some("artifacts.read"))
def read_store_tail(principal: Principal, request: store_calls.ReadStoreTail) -> dict[str, Any]:
    """The newest entries of a store's log that the caller may read."""
    store = read_seen(principal, request.store)
    if not store.audit:
        return {"events": [], "count": 0, "next_before": None}
    readable, limit = names.reader(principal, store.target), request.tail or DEFAULT_TAIL
    rows = FileChange.objects.filter(store=store.id, listed=True).order_by("-id")
    if request.before is not None:
        rows = rows.filter(id__lt=request.before)
    found, last = list[FileChange](), None
    for scanned, row in enumerate(rows[: MAX_PASSED * limit + 1].iterator(chunk_size=limit + 1)):
        if len(found) == limit or scanned == MAX_PASSED * limit:
            break
        last = row
        if readable(row.path):
            found.append(row)
    else:
        last = None  # the log has no earlier ones
    events = [_event(row) for row in reversed(found)]
    return {"events": events, "count": len(events), "next_before": last.pk if last is not None else None}


def _event(row: FileChange) -> dict[str, Any]:
    return {
        "ts": clock.rfc3339(row.at),
        "op": row.op,
        "path": row.path,
        "old_sha": row.old_sha,
        "new_sha": row.new_sha,
        "actor": row.actor or row.principal,
        "reason": row.reason,
        "version_file": version_file(row) if row.content_id is not None else "",
        "outcome": row.outcome,
        "principal": row.principal,
        "version": row.version,
    }


def version_file(row: FileChange) -> str:
    """Name of a version in an exported tree, as flyte writes it."""
    return paths.version_file(row.path, row.at, row.new_sha)
