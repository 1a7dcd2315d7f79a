"""The class MemoryStore, over a store on a server or a local folder."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from flux import paths
from flux.client import FluxClient
from flux.memory import tree
from flux.memory.addresses import Coordinates, address_of, coordinates_in, find_store, open_store
from flux.memory.copying import Dir, copy_tree
from flux.memory.errors import AccessDenied, MemoryStoreError, translated
from flux.memory.keyed import KeyedStore, client_of
from flux.memory.local_tree import LocalTree
from flux.memory.sync import ByReceiver, also_aio, class_also_aio
from flux.memory.tree import MemoryMeta


class MemoryStore:
    """A conversation and files under one key, kept by a server; without a key, in a local folder.

    Files are written at once. `messages` is an ordinary list; `flush_messages` and `save` bring it to the store.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        messages: Sequence[dict[str, Any]] | None = None,
        root: Path | str | None = None,
        remote_path: str | None = None,
        read_only_prefixes: Sequence[str] = (),
        audit: bool = True,
        keep_versions: bool = False,
        client: FluxClient | None = None,
    ) -> None:
        self.key, self.remote_path = key, remote_path
        self.messages: list[dict[str, Any]] = []
        self._own_prefixes = _checked_prefixes(read_only_prefixes)
        self.read_only_prefixes, self.audit, self.keep_versions = self._own_prefixes, audit, keep_versions
        self.root: Path | None = None
        self._tree: LocalTree | KeyedStore
        if key is None:
            self._open_folder(root, messages)
            return
        if root is not None or messages:
            raise MemoryStoreError(
                "A store with a key has neither root nor messages: both are on the server. Leave them out, and add "
                "messages with extend()."
            )
        where = coordinates_in(remote_path, key) if remote_path else Coordinates()
        self._open_keyed(client, create=False, where=where)

    def _open_folder(self, root: Path | str | None, messages: Sequence[dict[str, Any]] | None) -> None:
        if root is None:
            folder = Path(tempfile.mkdtemp(prefix="flux_memory_"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        else:
            folder = Path(root).expanduser()
        with translated():
            self._tree = LocalTree(folder, audit=self.audit, keep_versions=self.keep_versions)
            self.root = self._tree.root
            stored = self._tree.load()
        self.messages = list(messages) if messages else stored

    def _open_keyed(self, client: FluxClient | None, *, create: bool, where: Coordinates) -> None:
        with translated():
            key = paths.checked_key(self.key or "")
            server = client_of(client)
            policy = {"audit": self.audit, "keep_versions": self.keep_versions}
            facts = open_store(server, key, where, self._own_prefixes, policy, create=create)
            self._tree = KeyedStore(server, facts["store"])
            self.messages = self._tree.load()
        # The policy is the store's; this handle may only add read-only prefixes to it.
        known = {prefix.rstrip("/") for prefix in self._own_prefixes}
        added = (prefix for prefix in facts["read_only_prefixes"] if prefix not in known)
        self.read_only_prefixes = (*self._own_prefixes, *added)
        self.audit, self.keep_versions, self.remote_path = facts["audit"], facts["keep_versions"], facts["path"]

    @class_also_aio
    def create(
        cls: type[MemoryStore],
        *,
        key: str,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        read_only_prefixes: Sequence[str] = (),
        audit: bool = True,
        keep_versions: bool = False,
        client: FluxClient | None = None,
    ) -> MemoryStore:
        """Create a store with a key; MemoryStoreError if it exists."""
        where = Coordinates(org, project, domain)
        return cls._keyed(key, read_only_prefixes, audit, keep_versions, client, create=True, where=where)

    @class_also_aio
    def get_or_create(
        cls: type[MemoryStore],
        *,
        key: str,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        read_only_prefixes: Sequence[str] = (),
        audit: bool = True,
        keep_versions: bool = False,
        client: FluxClient | None = None,
    ) -> MemoryStore:
        """Open a store with a key, and create it if there is none. An existing one keeps its own policy."""
        where = Coordinates(org, project, domain)
        return cls._keyed(key, read_only_prefixes, audit, keep_versions, client, create=False, where=where)

    @classmethod
    def _keyed(
        cls,
        key: str,
        prefixes: Sequence[str],
        audit: bool,
        keep_versions: bool,
        client: FluxClient | None,
        *,
        create: bool,
        where: Coordinates,
    ) -> MemoryStore:
        store = cls.__new__(cls)
        store.key, store.root, store.remote_path = key, None, None
        store._own_prefixes = _checked_prefixes(prefixes)
        store.audit, store.keep_versions = audit, keep_versions
        store._open_keyed(client, create=create, where=where)
        return store

    exists = ByReceiver("is_there", "has_path")  # awaited with a key, or with a path of an opened store

    @classmethod
    async def is_there(
        cls,
        *,
        key: str,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        client: FluxClient | None = None,
    ) -> bool:
        """Whether there is a store with that key: `await MemoryStore.exists(key=...)`."""
        where = Coordinates(org, project, domain)
        return await asyncio.to_thread(find_store, key, where, client) is not None

    def has_path(self, rel_path: str) -> bool:
        """Whether there is a file or folder of that path: `store.exists(path)`."""
        with translated():
            path = paths.tidy_path(rel_path)
            return not tree.is_reserved(path) and self._tree.exists(path)

    @classmethod
    def remote_path_for_key(
        cls,
        *,
        key: str,
        org: str | None = None,
        project: str | None = None,
        domain: str | None = None,
        storage_root: str = "",
        client: FluxClient | None = None,
    ) -> str:
        """Address of a store, as flyte computes it; with `storage_root` the one below a bucket or folder of flyte's."""
        return address_of(key, Coordinates(org, project, domain), storage_root, client)

    def append(self, message: dict[str, Any]) -> None:
        """Add a message to the end of the list `messages`."""
        self.messages.append(message)

    def extend(self, messages: Iterable[dict[str, Any]]) -> None:
        """Add messages to the end of the list `messages`."""
        self.messages.extend(messages)

    def flush_messages_sync(self) -> Dir:
        """Bring the list `messages` to the store. Messages that others added meanwhile appear in the list."""
        with translated():
            self._tree.flush(self.messages)
        return Dir(str(self.root or self.remote_path))

    async def flush_messages(self) -> Dir:
        """`flush_messages_sync` in a thread."""
        return await asyncio.to_thread(self.flush_messages_sync)

    @also_aio
    def save(self, remote_destination: str | os.PathLike[str] | None = None) -> Dir:
        """Bring everything to the store. A local one is also copied to a destination: a folder, or fsspec's address."""
        place = self.flush_messages_sync()
        if remote_destination is None:
            return place
        destination = os.fspath(remote_destination)
        if self.root is not None:
            with translated():
                return copy_tree(self.root, destination)
        if destination != self.remote_path:
            raise MemoryStoreError(
                f"The store with the key {self.key!r} is saved to {self.remote_path} and to no other place. Copy it "
                "with: flux files export."
            )
        return place

    @also_aio
    def read_text(self, rel_path: str, default: str = "") -> str:
        """The text of a file; the default if there is no such file."""
        found = self._read(rel_path)
        return default if found is None else found.decode()

    @also_aio
    def read_json(self, rel_path: str, default: Any = None) -> Any:
        """The value of a JSON file; the default if it does not exist or is blank."""
        found = self._read(rel_path)
        return default if found is None or not found.strip() else json.loads(found)

    @also_aio
    def read_bytes(self, rel_path: str, default: bytes = b"") -> bytes:
        """The bytes of a file; the default if there is no such file."""
        found = self._read(rel_path)
        return default if found is None else found

    def _read(self, rel_path: str) -> bytes | None:
        with translated():
            if isinstance(rel_path, str) and tree.path_of_version(rel_path):
                return self._tree.read_version(rel_path)
            path = paths.tidy_path(rel_path)
            return None if tree.is_reserved(path) else self._tree.read(path)

    @also_aio
    def write_text(
        self, rel_path: str, content: str, *, actor: str = "agent", reason: str = "", expected_sha: str | None = None
    ) -> MemoryMeta:
        """Write a text file. With `expected_sha` only if its digest is that; "" means that there is no such file."""
        return self._write(rel_path, content.encode(), actor, reason, expected_sha)

    @also_aio
    def write_json(
        self, rel_path: str, obj: Any, *, actor: str = "agent", reason: str = "", expected_sha: str | None = None
    ) -> MemoryMeta:
        """Write a value as JSON, indented and with sorted keys; what JSON does not have is written as its text."""
        content = json.dumps(obj, indent=2, sort_keys=True, default=str)
        return self._write(rel_path, content.encode(), actor, reason, expected_sha)

    @also_aio
    def write_bytes(
        self, rel_path: str, content: bytes, *, actor: str = "agent", reason: str = "", expected_sha: str | None = None
    ) -> MemoryMeta:
        """Write the bytes of a file."""
        return self._write(rel_path, bytes(content), actor, reason, expected_sha)

    def _write(self, rel_path: str, content: bytes, actor: str, reason: str, expected_sha: str | None) -> MemoryMeta:
        with translated():
            path = paths.tidy_path(rel_path)
            prefix = None if tree.is_reserved(path) else paths.protecting(path, self._own_prefixes)
            if prefix is not None:
                raise AccessDenied(f"{path!r} is below the read-only prefix {prefix!r}. Write to another path.")
            return self._tree.write(path, content, actor, reason, expected_sha)

    @also_aio
    def get_meta(self, rel_path: str) -> MemoryMeta | None:
        """Facts of a file; None if there is no such file."""
        with translated():
            path = paths.tidy_path(rel_path)
            return None if tree.is_reserved(path) else self._tree.meta(path)

    @also_aio
    def current_sha(self, rel_path: str) -> str:
        """SHA-256 of a file as it is now; empty if there is no such file."""
        with translated():
            path = paths.tidy_path(rel_path)
            return "" if tree.is_reserved(path) else self._tree.sha(path)

    def list_paths(self, prefix: str = "") -> list[str]:
        """Paths of all files, or of those below a folder, sorted."""
        with translated():
            folder = paths.tidy_path(prefix) if prefix else ""
            return [] if folder and tree.is_reserved(folder) else self._tree.paths(folder)

    def audit_tail_sync(self, n: int = 20) -> list[dict[str, Any]]:
        """The newest entries of the store's log, oldest first; all if `n` is not positive."""
        with translated():
            return self._tree.tail(n)

    async def audit_tail(self, n: int = 20) -> list[dict[str, Any]]:
        """`audit_tail_sync` in a thread."""
        return await asyncio.to_thread(self.audit_tail_sync, n)

    def use_client(self, client: FluxClient | None = None) -> None:
        """Send further calls with another client; by default with the one that all stores of the process share."""
        if isinstance(self._tree, KeyedStore):
            self._tree.client = client_of(client)

    def reference(self) -> dict[str, Any]:
        """What another process needs to open this store with `from_reference`, without its token."""
        if not isinstance(self._tree, KeyedStore):
            raise MemoryStoreError("A local store has no address. Save it to a folder, and open that one.")
        self.flush_messages_sync()
        return {
            "key": self.key,
            "remote_path": self.remote_path,
            "store": self._tree.store,
            "messages": list(self.messages),
            "numbers": self._tree.numbers(),
            "read_only_prefixes": list(self.read_only_prefixes),
            "audit": self.audit,
            "keep_versions": self.keep_versions,
        }

    @classmethod
    def from_reference(cls, reference: dict[str, Any], *, client: FluxClient | None = None) -> MemoryStore:
        """Open a store by its reference. The server is asked when something is first read or written."""
        store = cls.__new__(cls)
        store.__setstate__({**reference, "client": client})
        return store

    def __getstate__(self) -> dict[str, Any]:
        return self.reference()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.key, self.remote_path, self.root = state["key"], state["remote_path"], None
        self.audit, self.keep_versions = state["audit"], state["keep_versions"]
        self.read_only_prefixes = self._own_prefixes = _checked_prefixes(state["read_only_prefixes"])
        self.messages = list(state["messages"])
        self._tree = KeyedStore(client_of(state.get("client")), state["store"])
        self._tree.assume(state["numbers"], self.messages)

    def __repr__(self) -> str:
        where = f"root={str(self.root)!r}" if self.key is None else f"key={self.key!r}"
        return f"MemoryStore({where}, messages={len(self.messages)})"


def _checked_prefixes(prefixes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(prefixes, str):
        raise MemoryStoreError(f"read_only_prefixes must be a list of prefixes, not one text: ({prefixes!r},).")
    with translated():
        for prefix in prefixes:
            paths.checked_prefix(prefix)
    return tuple(prefixes)
