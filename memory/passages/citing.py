"""Who may see which passages and messages, and where they are from: what recall asks of this room."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from accounts.authorise import may
from accounts.principals import Principal
from memory.artifacts import names
from memory.artifacts.models import File, Store
from memory.grains import sources
from memory.passages.models import GrainSource

PASSAGE, MESSAGE = "passage", "message"
_OPERATION = {PASSAGE: "artifacts.read", MESSAGE: "transcript.read"}
MAX_FILES = 20_000  # files whose paths are compared with scopes in one recall; passages of others are not found


def file_session(file: File) -> str:
    """Session of the passages of a file, so that neighbouring passages are linked."""
    return f"file:{file.uuid}"


def message_session(store: Store, session: str) -> str:
    return f"store:{store.uuid}/{session[:80]}"


class StoreSource:
    """Grains made from stores, of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind, self.operation = kind, _OPERATION[kind]

    def sessions(self, principal: Principal, space: int) -> Collection[str] | None:
        if may(principal, self.operation):
            return None
        if principal.kind != "agent" or not principal.capabilities.scoped(self.operation):
            return ()
        stores = Store.objects.filter(space=space, deleted_at=None, recallable=True)
        found: list[str] = []
        for store in stores:
            found += self._files(principal, store) if self.kind == PASSAGE else self._messages(principal, store)
        return found

    def _files(self, principal: Principal, store: Store) -> list[str]:
        where = names.target(store)
        if not principal.capabilities.reaches(self.operation, f"{where}/"):
            return []
        readable = names.reader(principal, where)
        files = File.objects.filter(store=store).exclude(sha="").only("uuid", "path")[:MAX_FILES]
        return [file_session(file) for file in files if readable(file.path)]

    def _messages(self, principal: Principal, store: Store) -> list[str]:
        if not may(principal, self.operation, names.target(store)):
            return []
        labels = GrainSource.objects.filter(store=store.pk, file=None).values_list("session", flat=True).distinct()
        return [message_session(store, label) for label in labels]

    def tags(self, principal: Principal, space: int) -> Collection[str]:
        return ()

    def address(self, citation: dict[str, Any]) -> str:
        store = f"/stores/{citation['store']}"
        if self.kind == MESSAGE:
            return f"{store}/messages?after={citation['message'] - 1}&limit=1"
        return f"{store}/files/{quote(citation['path'])}?version={citation['version']}"

    def citations(self, principal: Principal, space: int, grains: Collection[int]) -> dict[int, dict[str, Any]]:
        rows = GrainSource.objects.filter(space=space, grain__in=list(grains), removed=False)
        rows = rows.filter(message=None) if self.kind == PASSAGE else rows.exclude(message=None)
        found: dict[int, dict[str, Any]] = {}
        listed = list(rows.order_by("current", "version", "id"))
        stores = Store.objects.filter(space=space, deleted_at=None, recallable=True)
        by_store = stores.in_bulk({row.store for row in listed})
        files = File.objects.in_bulk({row.file for row in listed if row.file is not None})
        for row in listed:  # of several the newest current one stays
            store, file = by_store.get(row.store), files.get(row.file) if row.file is not None else None
            if store is None or not self._may_read(principal, store, file):
                continue
            found[row.grain_id] = _citation(store, file, row)
        return found

    def _may_read(self, principal: Principal, store: Store, file: File | None) -> bool:
        where = names.target(store)
        if self.kind == MESSAGE:
            return may(principal, self.operation, where if principal.kind == "agent" else None)
        if file is None:
            return False
        return names.reader(principal, where)(file.path)


def _citation(store: Store, file: File | None, row: GrainSource) -> dict[str, Any]:
    """Where a grain is from, as answers show it."""
    found: dict[str, Any] = {"store": str(store.uuid), "key": store.key, "reference": names.reference(store)}
    if file is None:
        return {**found, "message": row.message, "session": row.session}
    return {
        **found,
        "path": file.path,
        "version": row.version,
        "first_line": row.first_line,
        "last_line": row.last_line,
        "heading": row.heading,
    }


def register() -> None:
    for kind in (PASSAGE, MESSAGE):
        sources.register(kind, StoreSource(kind))
