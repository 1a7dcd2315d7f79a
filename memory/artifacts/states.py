"""Stores and files as a write finds them: one statement reads both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from accounts.principals import Principal
from fluxcore import raw_sql
from memory.artifacts import names
from memory.artifacts.models import File, Store


@dataclass
class StoreState:
    """Identity, policy and counts of a store."""

    space: int
    id: int
    uuid: UUID
    org: str
    project: str
    domain: str
    key: str
    read_only: str
    staging: str
    audit: bool
    keep_versions: bool
    max_versions: int | None
    max_files: int | None
    max_bytes: int | None
    recallable: bool
    files: int
    bytes: int
    history_bytes: int
    message_bytes: int
    messages: int

    @property
    def target(self) -> str:
        """What scopes of capabilities match; also its name in the audit chain."""
        return names.target_of(self.org, self.project, self.domain, self.key)

    @property
    def ref(self) -> str:
        """What commands take for it: its key, or its id if the key does not say which store it is."""
        return self.key if self.target == self.key else str(self.uuid)

    @property
    def protected(self) -> list[str]:
        """Prefixes that agents cannot write."""
        return self.read_only.split("\n") if self.read_only else []


@dataclass(frozen=True)
class FileState:
    """A file as it is now; of a deleted one `sha` is empty."""

    id: int
    version: int
    content: int | None
    sha: str
    size: int
    content_type: str
    origin: str
    created_at: Any
    created_by: str
    written_at: Any

    @classmethod
    def of(cls, file: File) -> FileState:
        """A file whose row was read by Django."""
        return cls(
            file.pk,
            file.version,
            file.content_id,
            file.sha,
            file.size,
            file.content_type,
            file.origin,
            raw_sql.adapt_moment(file.created_at),
            file.created_by,
            file.written_at,
        )


_STORE_COLUMNS = (
    "id, uuid, org, project, domain, key, read_only, staging, audit, keep_versions, max_versions, max_files, "
    "max_bytes, recallable, files, bytes, history_bytes, message_bytes, messages"
)
_FILE_COLUMNS = "id, version, content_id, sha, size, content_type, origin, created_at, created_by, written_at"


def _of(alias: str, columns: str) -> str:
    return ", ".join(f"{alias}.{name}" for name in columns.split(", "))


_STATE = (
    f"SELECT {_of('s', _STORE_COLUMNS)}, {_of('f', _FILE_COLUMNS)} FROM {Store._meta.db_table} s "  # noqa: S608
    f"LEFT JOIN {File._meta.db_table} f ON f.store_id = s.id AND f.path = %s "
    "WHERE s.space_id = %s AND s.deleted_at IS NULL AND "
)
_BY_KEY = _STATE + "s.org = '' AND s.project = 'default' AND s.domain = 'default' AND s.key = %s"
_BY_UUID = _STATE + "s.uuid = %s"
_FILE = f"SELECT {_FILE_COLUMNS} FROM {File._meta.db_table} WHERE store_id = %s AND path = %s"  # noqa: S608
_WIDTH = len(_STORE_COLUMNS.split(", "))


def read_state(principal: Principal, ref: str, path: str) -> tuple[StoreState, FileState | None]:
    """A store and one of its files; None if there never was a file of that path."""
    space, number = names.space_of(principal), names.as_uuid(names.checked_ref(ref))
    rows: list[tuple[Any, ...]] = []
    if number is not None:
        rows = raw_sql.read(_BY_UUID, [path, space, number.hex if raw_sql.vendor() == "sqlite" else number])
    if not rows:
        rows = raw_sql.read(_BY_KEY, [path, space, ref])
    if not rows:
        raise names.no_store(ref)
    # SQLite answers an id without its hyphens; events name it as every answer does.
    (key, uuid, *columns), file = rows[0][:_WIDTH], rows[0][_WIDTH:]
    store = StoreState(space, key, UUID(str(uuid)), *columns)
    return store, FileState(*file) if file[0] is not None else None


def read_seen(principal: Principal, ref: str) -> StoreState:
    """A store of which the caller may read something; any other does not exist for it."""
    store, _ = read_state(principal, ref, "")
    if not names.sees(principal, store.target):
        raise names.no_store(ref)
    return store


def read_file(store: StoreState, path: str) -> FileState | None:
    """A file of a store; None if there never was one of that path."""
    rows = raw_sql.read(_FILE, [store.id, path])
    return FileState(*rows[0]) if rows else None
