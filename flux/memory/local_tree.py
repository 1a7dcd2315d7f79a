"""Store without a server: a folder in flyte's layout (`flux/memory/tree.py`).

Writers of several processes wait for each other, a write happens as a whole or not at all (`flux/memory/journal.py`),
and symbolic links are refused.
Digests are computed from the files themselves: what a sidecar says may be of an earlier content.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flux import paths
from flux.memory import transcript, tree
from flux.memory.errors import ConcurrencyError, MemoryStoreError
from flux.memory.journal import Intent, Journal, remove_leftovers
from flux.memory.transcript import MessageText
from flux.memory.tree import MemoryMeta
from fluxcore import clock, files

_log = logging.getLogger(__name__)


class LocalTree:
    """Files, facts, log, versions and transcript of a folder."""

    def __init__(self, root: Path, *, audit: bool, keep_versions: bool) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.audit, self.keep_versions = root.resolve(), audit, keep_versions
        self._base: list[MessageText] = []  # the transcript as it was last read or written
        self._reported = set[str]()  # names that were reported as not listed
        self._journal = Journal(self.root)
        self._journal.recover()
        remove_leftovers(self.root)

    def read(self, path: str) -> bytes | None:
        place = self._existing(path)
        if place is None and _is_folder(self._place(path)):
            raise IsADirectoryError(f"{path!r} is a folder.")
        return place.read_bytes() if place is not None else None

    def read_version(self, name: str) -> bytes | None:
        """The content of a version, by the name that the log has for it."""
        place = self._existing(name)
        return place.read_bytes() if place is not None else None

    def write(self, path: str, content: bytes, actor: str, reason: str, expected_sha: str | None) -> MemoryMeta:
        if not tree.fits_file_names(paths.writable_path(path)):
            raise MemoryStoreError(f"{path!r} is too long for the names of files in a folder. Choose a shorter path.")
        with self._journal.locked():
            old_sha = self.sha(path)
            if expected_sha is not None and expected_sha != old_sha:
                raise ConcurrencyError(path, expected_sha, old_sha)
            new_sha, now = hashlib.sha256(content).hexdigest(), clock.now()
            changed, meta = new_sha != old_sha, self._facts(path)
            if changed or meta is None:
                meta = MemoryMeta(path, new_sha, tree.stamp(now), actor, reason, len(content))
            version = self._new_version(path, now, new_sha) if changed and self.keep_versions else ""
            event = {"ts": tree.stamp(now), "path": path, "old_sha": old_sha, "new_sha": new_sha, "actor": actor}
            event |= {"reason": reason, "version_file": version}
            event["op"] = "noop" if not changed else "update" if old_sha else "create"
            line = tree.event_line(event).decode() if self.audit else ""
            intent = Intent(path, new_sha, version=version, meta=tree.meta_file(path), log_line=line)
            intent.meta_text = meta.as_json().decode()
            for name in filter(None, (path, intent.meta, version, tree.AUDIT_LOG if self.audit else "")):
                self._check_folders(name)
            self._journal.write(intent, content if changed else None)
        return meta

    def sha(self, path: str) -> str:
        place = self._existing(path)
        return tree.sha_of_file(place) if place is not None else ""

    def meta(self, path: str) -> MemoryMeta | None:
        """Facts of a file that has a sidecar. One of an earlier content says nothing about who wrote this one."""
        try:
            return self._facts_or_error(path)
        except ValueError as error:
            raise MemoryStoreError(f"The facts of {path!r} cannot be read: {error}.") from error

    def _facts(self, path: str) -> MemoryMeta | None:
        """As `meta`, for a write, which replaces a broken sidecar."""
        try:
            return self._facts_or_error(path)
        except ValueError:
            return None

    def _facts_or_error(self, path: str) -> MemoryMeta | None:
        place, sidecar = self._existing(path), self._existing(tree.meta_file(path))
        if place is None or sidecar is None:
            return None
        found = MemoryMeta.of_json(sidecar.read_bytes())
        sha = tree.sha_of_file(place)
        if found.sha256 == sha:
            return found
        facts = place.stat()
        return MemoryMeta(path, sha, tree.stamp(datetime.fromtimestamp(facts.st_mtime, UTC)), "", "", facts.st_size)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._place(path))  # noqa: PTH110 - a name may be too long for a folder

    def paths(self, prefix: str) -> list[str]:
        """Files below a folder; without symbolic links and names that no path may have."""
        found = []
        for folder, folders, names in os.walk(self._place(prefix) if prefix else self.root, followlinks=False):
            relative = Path(folder).relative_to(self.root).as_posix()
            above = "" if relative == "." else f"{relative}/"
            folders[:] = [name for name in folders if above or not tree.is_reserved(name)]
            found += [above + name for name in names if self._is_listed(Path(folder, name), above + name)]
        return sorted(found)

    def _is_listed(self, place: Path, path: str) -> bool:
        if place.is_symlink() or not place.is_file() or files.is_temporary(place.name):
            return False
        listed = tree.is_file_path(path)
        if not listed and path != paths.MESSAGES and path not in self._reported:
            self._reported.add(path)
            _log.warning("The file %r of %s is not listed: no file of a store may have its name.", path, self.root)
        return listed

    def tail(self, count: int) -> list[dict[str, Any]]:
        place = self._existing(tree.AUDIT_LOG) if self.audit else None
        events = tree.parse_events(place.read_bytes()) if place is not None else []
        return events[-count:] if count > 0 else events

    def load(self) -> list[dict[str, Any]]:
        """The transcript; a broken one is reported and counts as empty."""
        messages = self._read_transcript()
        self._base = transcript.texts(messages)
        return messages

    def flush(self, messages: list[dict[str, Any]]) -> None:
        """Write the transcript. What other processes added since it was read is kept and added to `messages`."""
        snapshot = list(messages)
        mine = transcript.texts(snapshot)
        with self._journal.locked():
            theirs = transcript.texts(self._read_transcript())
            found = mine if theirs == self._base else transcript.merged(self._base, mine, theirs)
            whole = transcript.as_messages(found, mine, snapshot)
            if found != theirs or self._existing(paths.MESSAGES) is None:
                self._check_folders(paths.MESSAGES)
                data = tree.messages_json(whole)
                self._journal.write(Intent(paths.MESSAGES, hashlib.sha256(data).hexdigest()), data)
        if found != mine:
            messages[: len(snapshot)] = whole
        self._base = found

    def _read_transcript(self) -> list[dict[str, Any]]:
        place = self._existing(paths.MESSAGES)
        try:
            return tree.parse_messages(place.read_bytes()) if place is not None else []
        except ValueError as error:
            _log.warning("The transcript %s is not valid and counts as empty: %s.", place, error)
            return []

    def _place(self, path: str) -> Path:
        """Where a file of that path is. None of the folders above it, nor itself, may be a symbolic link."""
        if tree.has_link(self.root, path):
            raise MemoryStoreError(
                f"{path!r} resolves outside the memory root, or may at any time: it or a folder above it is a symbolic "
                "link. Replace it by a file or folder."
            )
        return self.root / path

    def _existing(self, path: str) -> Path | None:
        place = self._place(path)
        return place if os.path.isfile(place) else None  # noqa: PTH113 - a name may be too long for a folder

    def _check_folders(self, path: str) -> None:
        """Refuse a file where a folder is, or the other way round, before anything is written."""
        place = self._place(path)
        if place.is_dir():
            raise MemoryStoreError(f"{path!r} is a folder in {self.root}. Choose another name, or move the folder.")
        above = next((folder for folder in place.parents if folder != self.root and folder.is_file()), None)
        if above is not None:
            name = above.relative_to(self.root).as_posix()
            own = " A store keeps it as a folder for itself; rename the file." if tree.is_reserved(name) else ""
            raise MemoryStoreError(f"{name!r} is a file, so it cannot contain {path!r}.{own}")

    def _new_version(self, path: str, now: datetime, sha: str) -> str:
        name = paths.version_file(path, now, sha)
        if self._place(name).exists():  # the same content twice in one second, with another one between
            name = f"{name.removesuffix('.txt')}_{secrets.token_hex(4)}.txt"
        return name


def _is_folder(place: Path) -> bool:
    return os.path.isdir(place)  # noqa: PTH112 - a name may be too long for a folder
