"""Who may see which passages and messages, and where they are from: what recall asks of this room."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.db.models import Exists, OuterRef, Q

from accounts.authorise import may
from accounts.principals import Principal
from memory.artifacts import names, proposals
from memory.artifacts.models import File, Message, Store
from memory.grains import sources
from memory.passages import periods
from memory.passages.models import GrainSource

PASSAGE, MESSAGE = "passage", "message"
_OPERATION = {PASSAGE: "artifacts.read", MESSAGE: "transcript.read"}
# Files of a store, in order of their paths, that are compared with scopes in one recall; only those below a folder that
# a scope names. Passages of others are not found.
MAX_FILES = 20_000


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
        files = File.objects.filter(store=store).exclude(sha="").order_by("path").only("uuid", "path")
        beginnings = principal.capabilities.literal_beginnings(self.operation)
        if not any(f"{where}/".startswith(one) for one in beginnings):
            files = files.filter(
                _below(one.removeprefix(f"{where}/") for one in beginnings if one.startswith(f"{where}/"))
            )
        return [file_session(file) for file in files[:MAX_FILES] if readable(file.path)]

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

    def citations(
        self, principal: Principal, space: int, grains: Collection[int], as_of: datetime | None = None
    ) -> dict[int, dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        listed = self._sources(space, grains, as_of)
        stores = Store.objects.filter(space=space, deleted_at=None, recallable=True)
        by_store = stores.in_bulk({row.store for row in listed})
        files = File.objects.in_bulk({row.file for row in listed if row.file is not None})
        for row in listed:
            store, file = by_store.get(row.store), files.get(row.file) if row.file is not None else None
            if row.grain_id not in found and store is not None and self._may_read(principal, store, file):
                found[row.grain_id] = _citation(store, file, row)
        return found

    def _sources(self, space: int, grains: Collection[int], as_of: datetime | None) -> list[GrainSource]:
        """Where grains are from, the best of each first; only what is there, whether a job has looked or not."""
        rows = GrainSource.objects.filter(space=space, grain__in=list(grains))
        if self.kind == MESSAGE:
            there = Message.objects.filter(store=OuterRef("store"), seq=OuterRef("message"), removal="")
            return list(rows.filter(Exists(there), file=None).order_by("message"))
        rows = rows.filter(message=None).filter(Exists(File.objects.filter(pk=OuterRef("file")).exclude(sha="")))
        if as_of is not None:
            return list(periods.cited_at(rows, as_of).order_by("-id"))
        present = list(periods.with_cited_version(rows.filter(current=True)).order_by("-id"))
        left = set(grains) - {row.grain_id for row in present}
        earlier = rows.filter(grain__in=left, current=False)
        return present + (list(periods.with_cited_version(earlier).order_by("-last", "-id")) if left else [])

    def _may_read(self, principal: Principal, store: Store, file: File | None) -> bool:
        where = names.target(store)
        if self.kind == MESSAGE:
            return may(principal, self.operation, where if principal.kind == "agent" else None)
        if file is None or proposals.is_staged(store, file.path):
            return False
        return names.reader(principal, where)(file.path)


def _below(beginnings: Iterable[str]) -> Q:
    """Paths that begin with one of these; they are stored in the order of their code points."""
    found = Q(pk=None)
    for one in beginnings:
        found |= Q(path__gte=one, path__lt=f"{one}\U0010ffff")
    return found


def _citation(store: Store, file: File | None, row: Any) -> dict[str, Any]:
    """Where a grain is from, as answers show it; of a passage the version that `periods` has found."""
    found: dict[str, Any] = {"store": str(store.uuid), "key": store.key, "reference": names.reference(store)}
    if file is None:
        return {**found, "message": row.message, "session": row.session}
    return {
        **found,
        "path": file.path,
        "version": row.cited,
        "first_line": row.first_line,
        "last_line": row.last_line,
        "heading": row.heading,
    }


def register() -> None:
    for kind in (PASSAGE, MESSAGE):
        sources.register(kind, StoreSource(kind))
