"""Rows that are both the versions of files and the log of their store, with refusals and changes of the transcript."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from fluxcore import raw_sql
from fluxcore.errors import Gone, NotFound
from memory.artifacts import contents
from memory.artifacts.models import FileChange

DONE, NOOP = FileChange.ChangeOutcome.DONE.value, FileChange.ChangeOutcome.NOOP.value
_TABLE = FileChange._meta.db_table
_COLUMNS = (
    "store",
    "file",
    "path",
    "op",
    "outcome",
    "listed",
    "version",
    "old_sha",
    "new_sha",
    "content",
    "size",
    "content_type",
    "origin",
    "at",
    "principal",
    "actor",
    "reason",
)
# Every version but the current one that still has its bytes.
_FORGET = (
    f"UPDATE {_TABLE} SET content_id = NULL WHERE id IN (SELECT id FROM {_TABLE} WHERE file_id = %s AND version > 0 "  # noqa: S608
    "AND version <= %s AND content_id IS NOT NULL)"
)
_FORGOTTEN = (
    f"SELECT content_id, size FROM {_TABLE} WHERE file_id = %s AND version > 0 AND version <= %s "  # noqa: S608
    "AND content_id IS NOT NULL"
)


@dataclass(frozen=True)
class Writer:
    """Who writes, when and why."""

    principal: str
    actor: str
    reason: str
    at: datetime


def add(
    store: int,
    file: int | None,
    path: str,
    op: str,
    writer: Writer,
    *,
    listed: bool,
    outcome: str = DONE,
    version: int = 0,
    old_sha: str = "",
    new_sha: str = "",
    content: int | None = None,
    size: int = 0,
    content_type: str = "",
    origin: str = "",
) -> None:
    row: tuple[Any, ...] = (
        store,
        file,
        path,
        op,
        outcome,
        listed,
        version,
        old_sha,
        new_sha,
        content,
        size,
        content_type,
        origin,
        writer.at,
        writer.principal,
        writer.actor,
        writer.reason,
    )
    raw_sql.insert(FileChange, _COLUMNS, [row])


def forget_versions(file: int, up_to: int) -> list[tuple[int, int]]:
    """Forget the bytes of a file's versions up to this one; their contents and sizes."""
    rows = raw_sql.read(_FORGOTTEN, [file, up_to])
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [file, up_to])
        contents.release(content for content, _ in rows)
    return rows


def find_version(file: int, path: str, version: int) -> FileChange:
    """A version of a file."""
    found = FileChange.objects.filter(file=file, version=version).first() if version > 0 else None
    if found is None:
        raise NotFound(f"{path!r} has no version {version}.", path=path, version=version)
    return found


def find_kept(file: int, path: str, version: int) -> FileChange:
    """A version whose bytes are still there."""
    found = find_version(file, path, version)
    if not found.new_sha:
        raise NotFound(f"{path!r} was deleted in version {version}. Choose an earlier one.", path=path)
    if found.content_id is None:
        raise Gone(f"Version {version} of {path!r} is no longer kept.", path=path, version=version)
    return found


def content_of(kept: FileChange) -> int:
    """The content of a version that is kept."""
    if kept.content_id is None:
        raise Gone(f"Version {kept.version} of {kept.path!r} is no longer kept.", path=kept.path)
    return kept.content_id
