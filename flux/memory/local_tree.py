"""Store without a server: a folder in flyte's layout (`flux/memory/tree.py`).

Writers of several processes wait for each other. Files are written aside and renamed, and symbolic links are refused.
Digests are computed from the files themselves: what a sidecar says may be of an earlier content.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flux import paths
from flux.memory import transcript, tree
from flux.memory.errors import ConcurrencyError, MemoryStoreError
from flux.memory.tree import MemoryMeta
from fluxcore import clock, files
from fluxcore.errors import FluxError

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger(__name__)


class LocalTree:
    """Files, facts, log, versions and transcript of a folder."""

    def __init__(self, root: Path, *, audit: bool, keep_versions: bool) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root, self.audit, self.keep_versions = root.resolve(), audit, keep_versions
        self._base: list[str] = []  # the transcript as it was last read or written

    def read(self, path: str) -> bytes | None:
        place = self._existing(path)
        if place is None and self._place(path).is_dir():
            raise IsADirectoryError(f"{path!r} is a folder.")
        return place.read_bytes() if place is not None else None

    def write(self, path: str, content: bytes, actor: str, reason: str, expected_sha: str | None) -> MemoryMeta:
        place = self._place(paths.writable_path(path))
        if not tree.fits_file_names(path):
            raise MemoryStoreError(f"{path!r} is too long for the names of files in a folder. Choose a shorter path.")
        with self._locked():
            old_sha = self.sha(path)
            if expected_sha is not None and expected_sha != old_sha:
                raise ConcurrencyError(path, expected_sha, old_sha)
            self._check_folders(path, place)
            new_sha, now = hashlib.sha256(content).hexdigest(), clock.now()
            changed, meta = new_sha != old_sha, self.meta(path)
            if changed or meta is None:
                meta = MemoryMeta(path, new_sha, tree.stamp(now), actor, reason, len(content))
            version = self._write_version(path, content, now, new_sha) if changed and self.keep_versions else ""
            if changed:
                self._replace(path, content)
            self._replace(tree.meta_file(path), meta.as_json(), durable=False)
            event = {"ts": tree.stamp(now), "path": path, "old_sha": old_sha, "new_sha": new_sha, "actor": actor}
            op = "noop" if not changed else "update" if old_sha else "create"
            self._log_event({**event, "op": op, "reason": reason, "version_file": version})
        return meta

    def sha(self, path: str) -> str:
        place = self._existing(path)
        return tree.sha_of_file(place) if place is not None else ""

    def meta(self, path: str) -> MemoryMeta | None:
        """Facts of a file that has a sidecar. One of an earlier content says nothing about who wrote this one."""
        place, sidecar = self._existing(path), self._existing(tree.meta_file(path))
        if place is None or sidecar is None:
            return None
        try:
            found = MemoryMeta.of_json(sidecar.read_bytes())
        except ValueError as error:
            raise MemoryStoreError(f"The facts of {path!r} cannot be read: {error}.") from error
        sha = tree.sha_of_file(place)
        if found.sha256 == sha:
            return found
        facts = place.stat()
        return MemoryMeta(path, sha, tree.stamp(datetime.fromtimestamp(facts.st_mtime, UTC)), "", "", facts.st_size)

    def exists(self, path: str) -> bool:
        return self._place(path).exists()

    def paths(self, prefix: str) -> list[str]:
        """Files below a folder; without symbolic links and names that no path may have."""
        found = []
        for folder, folders, names in os.walk(self._place(prefix) if prefix else self.root, followlinks=False):
            relative = Path(folder).relative_to(self.root).as_posix()
            above = "" if relative == "." else f"{relative}/"
            folders[:] = [name for name in folders if above or not tree.is_reserved(name)]
            found += [above + name for name in names if _is_listed(Path(folder, name), above + name)]
        return sorted(found)

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
        with self._locked():
            theirs = transcript.texts(self._read_transcript())
            found = mine if theirs == self._base else transcript.merged(self._base, mine, theirs)
            whole = transcript.as_messages(found, mine, snapshot)
            if found != theirs or self._existing(paths.MESSAGES) is None:
                self._replace(paths.MESSAGES, tree.messages_json(whole))
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
        place = self.root
        for name in path.split("/"):
            place = place / name
            if place.is_symlink():
                raise MemoryStoreError(
                    f"{path!r} resolves outside the memory root, or may at any time: {name!r} is a symbolic link. "
                    "Replace it by a file or folder."
                )
        return place

    def _existing(self, path: str) -> Path | None:
        place = self._place(path)
        return place if place.is_file() else None

    def _check_folders(self, path: str, place: Path) -> None:
        if place.is_dir():
            raise MemoryStoreError(f"{path!r} is a folder. Choose another name.")
        above = next((folder for folder in place.parents if folder != self.root and folder.is_file()), None)
        if above is not None:
            name = above.relative_to(self.root).as_posix()
            raise MemoryStoreError(f"{name!r} is a file, so it cannot contain {path!r}.")

    def _replace(self, path: str, content: bytes, *, durable: bool = True) -> None:
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        files.replace_file(place, content, durable=durable)

    def _write_version(self, path: str, content: bytes, now: datetime, sha: str) -> str:
        name = paths.version_file(path, now, sha)
        if self._place(name).exists():  # the same content twice in one second, with another one between
            name = f"{name.removesuffix('.txt')}_{secrets.token_hex(4)}.txt"
        self._replace(name, content, durable=False)
        return name

    def _log_event(self, event: dict[str, Any]) -> None:
        if not self.audit:
            return
        place = self._place(tree.AUDIT_LOG)
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("ab+") as log:
            if log.tell():
                log.seek(-1, os.SEEK_END)
                torn = log.read(1) != b"\n"  # a writer was killed within its line
                log.write(b"\n" if torn else b"")
            log.write(tree.event_line(event))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Wait until no other writer is in the block."""
        if sys.platform == "win32":  # it cannot lock folders: one process at a time
            yield
            return
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)


def _is_listed(place: Path, path: str) -> bool:
    if place.is_symlink() or not place.is_file() or (place.name[0] == "." and place.name.endswith(files.LEFTOVER)):
        return False
    try:
        paths.writable_path(path)
    except FluxError:
        return False
    return True
