"""Export of a store as a folder in flyte's layout (`flux/memory/tree.py`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from accounts.principals import Principal
from flux import paths
from flux.memory import tree
from flux.memory.tree import MAX_FILE_NAME, MemoryMeta, stamp
from fluxcore import blobs, files
from fluxcore.errors import Busy, Gone, Invalid, NotFound
from memory.artifacts import listing, reading, stores, transcripts, versions
from memory.artifacts.reading import OpenedFile

PAGE = 1_000  # files, versions or messages read at once


def export_tree(
    principal: Principal, *, store: str, folder: Path, advance: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Write a store to a new folder, which appears when it is whole. `advance` is called for each file."""
    facts = stores.get_store(principal, store=store)
    if folder.is_symlink() or folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise Invalid(f"{folder} exists already and is not an empty folder. Name a new one.", field="folder")
    if not folder.absolute().parent.is_dir():
        raise Invalid(f"The folder {folder.absolute().parent} does not exist. Create it first.", field="folder")
    try:
        with files.new_folder(folder.absolute()) as partial:
            writer = _TreeWriter(principal, facts, partial)
            for file in _all_files(principal, facts["store"]):
                writer.add_file(file)
                advance()
            writer.add_messages()
            writer.add_log()
    except OSError as error:
        raise Invalid(f"{folder} cannot be written: {error.strerror or error}.", field="folder") from error
    return {"store": facts["store"], "key": facts["key"], "folder": str(folder.absolute()), **writer.tally}


def _all_files(principal: Principal, store: str) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = listing.list_files(principal, store=store, limit=PAGE, cursor=cursor)
        yield from page["files"]
        cursor = page["next_cursor"]
        if cursor is None:
            return


@dataclass
class _TreeWriter:
    """Writes the parts of a tree into a folder."""

    principal: Principal
    store: dict[str, Any]
    folder: Path
    tally: dict[str, Any] = field(
        default_factory=lambda: {"files": 0, "versions": 0, "messages": 0, "without_facts": []}
    )
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # with the whole time, to sort them

    def add_file(self, facts: dict[str, Any]) -> None:
        path = facts["path"]
        long = next((name for name in path.split("/") if len(name.encode()) > MAX_FILE_NAME), None)
        if long is not None:
            raise Invalid(
                f"{path!r} cannot be exported: the name {long!r} has more than {MAX_FILE_NAME} bytes, which no folder "
                "takes. Rename it first.",
                path=path,
            )
        opened = self._opened(facts)
        if opened is None:
            return  # deleted meanwhile
        facts, file = opened
        self._put(path, file)
        self.tally["files"] += 1
        if not tree.fits_file_names(path):
            self.tally["without_facts"].append(path)
            return
        actor = facts["actor"] or facts["updated_by"]
        meta = MemoryMeta(path, file.sha, _stamp(facts["updated_at"]), actor, facts["reason"], file.size)
        self._put(tree.meta_file(path), meta.as_json())
        self._add_versions(path, file)

    def _opened(self, facts: dict[str, Any]) -> tuple[dict[str, Any], OpenedFile] | None:
        """A file with the facts of the same content: it may be written while it is exported."""
        store, path = self.store["store"], facts["path"]
        for _ in range(10):
            try:
                file = reading.open_file(self.principal, store=store, path=path)
                if file.sha == facts["sha"]:
                    return facts, file
                facts = reading.get_file_facts(self.principal, store=store, path=path)
            except NotFound:
                return None
        raise Busy(f"{path!r} is written too often to be exported. Nothing was written; try again.", retry_after=1)

    def _add_versions(self, path: str, file: OpenedFile) -> None:
        """Kept versions, and the entries of the log for all of them. flyte knows two operations with a content."""
        old_sha = ""
        for row in reversed(self._history(path)):
            name = self._add_version(path, row, file) if self.store["keep_versions"] and row["kept"] else ""
            op = row["op"] if not row["sha"] else "update" if old_sha else "create"
            event = {"ts": _stamp(row["at"]), "op": op, "path": path, "old_sha": old_sha, "new_sha": row["sha"]}
            event |= {"actor": row["actor"] or row["by"], "reason": row["reason"], "version_file": name}
            self.events.append((row["at"], event))
            old_sha = row["sha"]

    def _history(self, path: str) -> list[dict[str, Any]]:
        """All versions of a file, newest first."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["version"] > 1:
            before = {"before": found[-1]["version"]} if found else {}
            page = versions.list_versions(self.principal, store=self.store["store"], path=path, limit=PAGE, **before)[
                "versions"
            ]
            if not page:
                break
            found += page
        return found

    def _add_version(self, path: str, row: dict[str, Any], current: OpenedFile) -> str:
        name = paths.version_file(path, datetime.fromisoformat(row["at"]), row["sha"])
        if (self.folder / name).exists():  # the same content twice in one second
            name = f"{name.removesuffix('.txt')}_{row['version']:08x}.txt"
        content = current if row["version"] == current.version else self._old_content(path, row["version"])
        if content is None:
            return ""
        self._put(name, content)
        self.tally["versions"] += 1
        return name

    def _old_content(self, path: str, version: int) -> OpenedFile | None:
        try:
            return reading.open_file(self.principal, store=self.store["store"], path=path, version=version)
        except (NotFound, Gone):
            return None  # pruned meanwhile

    def add_messages(self) -> None:
        messages: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = transcripts.read_messages(self.principal, store=self.store["store"], after=after, limit=PAGE)
            messages += [one["message"] for one in page["messages"]]
            after = page["next_after"]
        self._put(paths.MESSAGES, tree.messages_json(messages))
        self.tally["messages"] = len(messages)

    def add_log(self) -> None:
        if self.store["audit"] and self.events:
            ordered = sorted(self.events, key=lambda entry: entry[0])
            self._put(tree.AUDIT_LOG, b"".join(tree.event_line(event) for _, event in ordered))

    def _put(self, name: str, content: bytes | OpenedFile) -> None:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.new_file(place, durable=False) as file:
            if isinstance(content, bytes):
                file.write(content)
            elif content.data is not None:
                file.write(content.data)
            else:
                for part in blobs.of_instance().read(content.sha):
                    file.write(part)


def _stamp(moment: str) -> str:
    return stamp(datetime.fromisoformat(moment))
