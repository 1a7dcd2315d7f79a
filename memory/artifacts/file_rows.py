"""Writes of one file inside a running write: its row, its version, the counts of its store, audit entry and event."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts import audit
from accounts.authorise import may
from accounts.verbs import RunningCall
from flux import paths
from fluxcore import clock, raw_sql
from fluxcore.errors import AlreadyExists, Busy, Conflict
from fluxcore.writes.preconditions import conflict_message
from memory.artifacts import change_log, contents, hooks, proposals, quotas, stored_bytes
from memory.artifacts.change_log import Writer
from memory.artifacts.models import File
from memory.artifacts.states import FileState, StoreState

_TABLE = File._meta.db_table
_COLUMNS = (
    "store",
    "path",
    "uuid",
    "version",
    "content",
    "sha",
    "size",
    "content_type",
    "origin",
    "created_at",
    "created_by",
    "written_at",
    "writer",
    "actor",
    "reason",
)
_UPDATE = (
    f"UPDATE {_TABLE} SET version = version + 1, content_id = %s, sha = %s, size = %s, content_type = %s, "  # noqa: S608
    "origin = %s, created_at = %s, created_by = %s, written_at = %s, writer = %s, actor = %s, reason = %s "
    "WHERE id = %s AND version = %s RETURNING id"
)
_FILE_ABOVE = f"SELECT path FROM {_TABLE} WHERE store_id = %s AND sha <> '' AND path IN ({{marks}}) LIMIT 1"  # noqa: S608
_FILE_BELOW = f"SELECT path FROM {_TABLE} WHERE store_id = %s AND sha <> '' AND path >= %s AND path < %s LIMIT 1"  # noqa: S608
_OF_CONTENT = ("sha", "bytes", "content_type", "updated_at")  # what an answer says of the content of a file


@dataclass(frozen=True)
class NewVersion:
    """What a file has from now on. Without a content it is deleted."""

    op: str
    content: int | None = None  # its row, whose use by this version is counted already
    sha: str = ""
    size: int = 0
    content_type: str = ""
    origin: str = ""
    fresh: bool = False  # whether nothing else in the space has the content


def writer_of(call: RunningCall, actor: str | None) -> Writer:
    return Writer(call.principal.actor, actor or "", audit.readable(call.reason, 500), clock.now())


def check_writable(call: RunningCall, store: StoreState, path: str) -> None:
    """Refuse agents a path that the store's policy protects, and one they may neither write nor propose."""
    if call.principal.kind != "agent":
        return
    prefix = paths.protecting(path, store.protected)
    if prefix is not None:
        raise proposals.read_only(store, path, prefix)
    if not may(call.principal, "artifacts.write", f"{store.target}/{path}"):
        proposals.check_may_propose(call.principal, store, path)


def check_expected(
    call: RunningCall, store: StoreState, path: str, file: FileState | None, expected_sha: str | None
) -> None:
    """Raise a conflict unless the file is as the caller expects. It names the digest to those who may read the file."""
    current = file.sha if file is not None else ""
    if expected_sha is None or expected_sha == current:
        return
    version = file.version if file is not None and current else 0
    details: dict[str, Any] = {"path": path, "expected_sha": expected_sha, "current_version": version}
    if may(call.principal, "artifacts.read", f"{store.target}/{path}"):
        details["current_sha"] = current
    raise Conflict(conflict_message(version), **details)


def check_place(store: StoreState, path: str) -> None:
    """Refuse a new file below another file, or in the place of a folder."""
    parts = path.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts))]
    if above:
        marks = ", ".join(["%s"] * len(above))
        found = raw_sql.read(_FILE_ABOVE.format(marks=marks), [store.id, *above])
        if found:
            raise AlreadyExists(f"{found[0][0]!r} is a file, so it cannot contain {path!r}.", path=found[0][0])
    if raw_sql.read(_FILE_BELOW, [store.id, f"{path}/", f"{path}0"]):  # "0" follows "/"
        raise AlreadyExists(f"{path!r} is a folder. Choose another name.", path=path)


def write(
    call: RunningCall, writer: Writer, store: StoreState, path: str, file: FileState | None, new: NewVersion
) -> dict[str, Any]:
    """Give a file another content, or none; the answer of the call."""
    exists, appears = file is not None and file.sha != "", new.sha != ""
    if appears and not exists:
        check_place(store, path)
        proposals.check_target(store, path)
    count = stored_bytes.WriteCount(store, file, new.content, new.size, new=new.fresh)
    number, version = _write_row(writer, store, path, file, new)
    change_log.add(
        store.id,
        number,
        path,
        new.op,
        writer,
        listed=store.audit,
        version=version,
        old_sha=file.sha if file is not None else "",
        new_sha=new.sha,
        content=new.content,
        size=new.size,
        content_type=new.content_type,
        origin=new.origin,
    )
    size, history = count.added(_prune(store, number, version))
    files = appears - exists
    quotas.check_room(store, files=files, size=size + history)  # only now is it known what pruning frees
    quotas.count_in_store(store.space, store.id, files=files, size=size, history=history)
    store.files, store.bytes, store.history_bytes = (
        store.files + files,
        store.bytes + size,
        store.history_bytes + history,
    )
    call.record(f"stores/{store.target}/{path}", version=version, op=new.op, size=new.size)
    data = {"store": str(store.uuid), "path": path, "version": version, "op": new.op}
    call.event("file.written" if appears else "file.deleted", f"stores/{store.uuid}", data)
    if store.recallable:
        hooks.file_written(store, number)
    item = proposals.follow(call, writer, store, path, new, version)
    return written(path, version, new, writer.at, created=not exists, changed=True, proposal=item)


def written(
    path: str, version: int, new: NewVersion, at: Any, *, created: bool, changed: bool, proposal: str | None = None
) -> dict[str, Any]:
    """The answer of a write."""
    answer = {
        "path": path,
        "version": version,
        "sha": new.sha,
        "bytes": new.size,
        "content_type": new.content_type,
        "updated_at": clock.rfc3339(at),
        "created": created,
        "changed": changed,
    }
    return answer if proposal is None else {**answer, "proposal": proposal}


def for_writer(call: RunningCall, store: StoreState, path: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer of a write whose content is not from the caller alone; without it to those who may not read it."""
    if may(call.principal, "artifacts.read", f"{store.target}/{path}"):
        return answer
    return {name: value for name, value in answer.items() if name not in _OF_CONTENT}


def _write_row(
    writer: Writer, store: StoreState, path: str, file: FileState | None, new: NewVersion
) -> tuple[int, int]:
    """Insert or update the row of a file; its number and version."""
    by = (writer.at, writer.principal, writer.actor, writer.reason)
    facts = (new.content, new.sha, new.size, new.content_type, new.origin)
    if file is None:
        row = (store.id, path, uuid.uuid4(), 1, *facts, writer.at, writer.principal, *by)
        return raw_sql.upsert(File, _COLUMNS, [row], "RETURNING id")[0][0], 1
    created = (file.created_at, file.created_by) if file.sha else (raw_sql.adapt_moment(writer.at), writer.principal)
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE, [*facts, *created, raw_sql.adapt_moment(writer.at), *by[1:], file.id, file.version])
        if cursor.fetchone() is None:
            raise Busy("Somebody else wrote the file at this moment. Nothing was written; try again.", retry_after=1)
    return file.id, file.version + 1


def _prune(store: StoreState, file: int, version: int) -> list[tuple[int, int]]:
    """Forget earlier versions that the policy does not keep; their contents and sizes."""
    if not store.keep_versions:
        return change_log.forget_versions(file, version - 1)
    if store.max_versions is not None and version - 1 > store.max_versions:
        return change_log.forget_versions(file, version - 1 - store.max_versions)
    return []


def unchanged(
    call: RunningCall, writer: Writer, store: StoreState, path: str, file: FileState, op: str
) -> dict[str, Any]:
    """A write of the bytes that the file has already: no version is made."""
    change_log.add(
        store.id,
        file.id,
        path,
        op,
        writer,
        listed=store.audit,
        outcome=change_log.NOOP,
        old_sha=file.sha,
        new_sha=file.sha,
    )
    call.record(f"stores/{store.target}/{path}", version=file.version, op=op, changed=False)
    same = NewVersion(op, file.content, file.sha, file.size, file.content_type, file.origin)
    item = proposals.follow_same(call, writer, store, path, same, file.version)
    return written(path, file.version, same, file.written_at, created=False, changed=False, proposal=item)


def hold(store: StoreState, op: str, content: contents.NewContent, content_type: str, origin: str) -> NewVersion:
    """A version with new bytes, whose content is stored and counted."""
    number, fresh = contents.hold(store.space, content)
    return NewVersion(op, number, content.sha, content.size, content_type, origin, fresh)
