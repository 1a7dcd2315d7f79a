"""Writes of a local store, of which a kill leaves all or nothing.

A write changes several files: content, facts, log and version. Before the first change it notes all of them in a file,
the journal, which goes last. The rename of the content decides: whoever next locks the folder and finds a journal
completes a write whose content is there and takes back any other. So does a write that fails, for example because the
disk is full. A power failure can lose what was written last.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from flux.memory import tree
from flux.paths import MESSAGES
from fluxcore import files

if sys.platform != "win32":
    import fcntl

# A temporary name, so that lists, copies and imports pass it over.
JOURNAL = f".journal.{'0' * 16}{files.LEFTOVER}"
LEFTOVER_AGE = 3_600.0  # seconds after which a temporary file belongs to no writer


@dataclass
class Intent:
    """What a write is going to change: names below the folder of the store, and what will be there."""

    place: str  # of the content
    new_sha: str = ""  # of the content; empty: it does not change
    part: str = ""  # where the content is until it is renamed
    version: str = ""
    meta: str = ""
    meta_text: str = ""
    meta_part: str = ""  # where the facts are until they are renamed
    log_line: str = ""
    log_size: int = 0


class Journal:
    """The journal of a store's folder. Everything here is done under the folder's lock."""

    def __init__(self, root: Path) -> None:
        self.root, self.place = root, root / JOURNAL

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other writer is in the block, and end what a killed one began."""
        if sys.platform == "win32":  # it cannot lock folders: one process at a time
            self._recover()
            yield
            return
        folder = os.open(self.root, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self._recover()
            yield
        finally:
            os.close(folder)

    def recover(self) -> None:
        """End what a killed writer began, if there is such a write. A folder that may only be read stays as it is."""
        if os.path.lexists(self.place) and os.access(self.root, os.W_OK):
            with self.locked():
                pass

    def write(self, intent: Intent, content: bytes | None, *, durable: bool = True) -> None:
        """Make all changes of a write, or none if one of them fails. Without a content the file stays."""
        intent.part = self._temporary(intent.place) if content is not None else ""
        intent.meta_part = self._temporary(intent.meta) if intent.meta else ""
        log = self.root / tree.AUDIT_LOG
        intent.log_size = log.stat().st_size if intent.log_line and log.exists() else 0
        try:
            self.place.write_text(json.dumps(asdict(intent)))
            if content is not None:
                self._put(intent.part, content, durable=durable)
            if intent.version and content is not None:
                self._put(intent.version, content)
            if intent.log_line:
                self._log(intent)
            if intent.meta:
                self._put(intent.meta_part, intent.meta_text.encode())
            if content is not None:
                (self.root / intent.part).replace(self.root / intent.place)
        except BaseException:
            self._end(intent, taken_back=content is None)
            raise
        if intent.meta:
            (self.root / intent.meta_part).replace(self.root / intent.meta)
        self.place.unlink()
        if durable:
            files.sync_folder((self.root / intent.place).parent)

    def _recover(self) -> None:
        intent = unfinished(self.root)
        if intent is None:
            self.place.unlink(missing_ok=True)  # killed while it was noted: nothing was changed
        else:
            self._end(intent)

    def _end(self, intent: Intent, *, taken_back: bool = False) -> None:
        if taken_back or not is_complete(self.root, intent):
            self._take_back(intent)
        else:
            self._complete(intent)

    def _complete(self, intent: Intent) -> None:
        if intent.log_line:
            self._log(intent)
        if intent.meta:
            (self.root / intent.meta_part).unlink(missing_ok=True)
            self._put(intent.meta_part, intent.meta_text.encode())
            (self.root / intent.meta_part).replace(self.root / intent.meta)
        self._forget(intent)

    def _take_back(self, intent: Intent) -> None:
        log = self.root / tree.AUDIT_LOG
        if intent.log_line and log.exists() and _is_begun(intent, _rest(log, intent.log_size)):
            os.truncate(log, intent.log_size)
            if not intent.log_size:
                log.unlink()
        if intent.version:
            (self.root / intent.version).unlink(missing_ok=True)
        self._forget(intent)

    def _forget(self, intent: Intent) -> None:
        for part in filter(None, (intent.part, intent.meta_part)):
            (self.root / part).unlink(missing_ok=True)
        self.place.unlink(missing_ok=True)

    def _log(self, intent: Intent) -> None:
        """Add the line of a write to the log, if it is not there yet."""
        log, line = self._folder_of(tree.AUDIT_LOG), intent.log_line.encode()
        rest = _rest(log, intent.log_size) if log.exists() else b""
        if line in rest.splitlines(keepends=True):
            return
        if rest and _is_begun(intent, rest):  # killed within the line
            os.truncate(log, intent.log_size)
        with log.open("ab+") as lines:
            if lines.tell():
                lines.seek(-1, os.SEEK_END)
                torn = lines.read(1) != b"\n"  # another program was killed within its line
                lines.write(b"\n" if torn else b"")
            lines.write(line)

    def _put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        with files.new_file(self._folder_of(name), durable=durable) as file:
            file.write(content)

    def _folder_of(self, name: str) -> Path:
        place = self.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def _temporary(self, name: str) -> str:
        return files.temporary_path(self.root / name).relative_to(self.root).as_posix()


def unfinished(root: Path) -> Intent | None:
    """The write that a killed writer left in a folder, or that somebody makes at this moment."""
    place = root / JOURNAL
    try:
        intent = Intent(**json.loads(place.read_bytes())) if place.is_file() and not place.is_symlink() else None
    except (ValueError, TypeError, RecursionError):
        return None
    return intent if intent is not None and _is_sound(root, intent) else None


def _is_sound(root: Path, intent: Intent) -> bool:
    """Whether a journal names files of its store only: a folder may come from somebody else."""
    if any(type(value) is not type(getattr(Intent(""), name)) for name, value in asdict(intent).items()):
        return False
    place, version = intent.place, intent.version
    if not (place == MESSAGES or tree.is_file_path(place)) or intent.log_size < 0:
        return False
    if (version and tree.path_of_version(version) != place) or intent.meta not in ("", tree.meta_file(place)):
        return False
    for part, name in ((intent.part, place), (intent.meta_part, intent.meta)):
        folder, _, last = part.rpartition("/")
        if part and (folder != name.rpartition("/")[0] or not files.is_temporary(last)):
            return False
    names = (place, tree.AUDIT_LOG, version, intent.meta, intent.part, intent.meta_part)
    return bool(intent.meta_part or not intent.meta) and not any(tree.has_link(root, name) for name in names)


def is_complete(root: Path, intent: Intent) -> bool:
    """Whether the content of a write is in its place. Its version and its line in the log are then there as well."""
    if not intent.part:
        return True  # it changes no content
    place = root / intent.place
    if (root / intent.part).exists() or not place.is_file():
        return False
    return tree.sha_of_file(place) == intent.new_sha


def remove_leftovers(root: Path) -> None:
    """Remove old temporary files of killed writers and copies from a folder and those below it."""
    for folder, _, names in os.walk(root, followlinks=False):
        if any(files.is_temporary(name) for name in names):
            files.remove_leftovers(Path(folder), older_than_seconds=LEFTOVER_AGE)


def _is_begun(intent: Intent, rest: bytes) -> bool:
    """Whether what the log has since the beginning of a write is nothing but its line, or a part of it."""
    return intent.log_line.encode().startswith(rest.removeprefix(b"\n"))


def _rest(file: Path, size: int) -> bytes:
    with file.open("rb") as content:
        content.seek(size)
        return content.read()
