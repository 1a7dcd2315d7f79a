"""Reading of a folder in flyte's layout (`flux/memory/tree.py`) that is to be imported: all of it is checked first.

Symbolic links, names that no path may have and contents that are not what their names say are refused together, so that
one look shows everything that has to be mended. Names become NFC: those of macOS may be in another Unicode form.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from flux import paths
from flux.memory import journal, tree
from flux.memory.tree import MemoryMeta
from fluxcore import clock, files
from fluxcore.canonical_json import dumps, loads
from fluxcore.errors import FluxError, Invalid
from memory.artifacts import transcripts
from memory.artifacts.contents import NewContent

MAX_ACTOR, MAX_REASON = 128, 500
MAX_BOOKKEEPING = 256 * 1024 * 1024  # bytes of the transcript or of the log
_SHOWN = 10  # problems that a refusal names
_OWN_FOLDERS = ("audit", tree.META, tree.VERSIONS)


@dataclass(frozen=True)
class TreeContent:
    """A content of a file, and who wrote it when and why."""

    place: Path
    sha: str
    size: int
    at: datetime
    actor: str = ""
    reason: str = ""


@dataclass
class MemoryTree:
    """What a folder has, checked."""

    files: dict[str, list[TreeContent]] = field(default_factory=dict)  # by path, oldest first; the last is the file
    messages: list[dict[str, Any]] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)  # names of what is not imported


def read_tree(folder: Path, advance: Callable[[], object] = lambda: None) -> MemoryTree:
    """Read and check a folder. `advance` is called for each file."""
    if folder.is_symlink() or not folder.is_dir():
        raise Invalid(f"{folder} is not a folder.", field="folder")
    reader = _TreeReader(folder, advance)
    reader.read()
    if reader.problems:
        shown = "\n".join(reader.problems[:_SHOWN])
        more = len(reader.problems) - _SHOWN
        raise Invalid(
            f"Nothing was imported from {folder}:\n{shown}" + (f"\nand {more} more problems." if more > 0 else ""),
            problems=reader.problems[:100],
        )
    return reader.found


class _TreeReader:
    """Reads a folder and collects what is wrong with it."""

    def __init__(self, folder: Path, advance: Callable[[], object]) -> None:
        self.folder, self.advance = folder, advance
        self.found, self.problems = MemoryTree(), list[str]()

    def read(self) -> None:
        for place, found, facts in self._walk():
            first, name = found.partition("/")[0], _nfc(found)
            if first in _OWN_FOLDERS or name == paths.MESSAGES:
                continue
            try:
                paths.writable_path(name)
                if name in self.found.files:
                    raise Invalid("another file has the same name in the Unicode form NFC")
                content = TreeContent(place, tree.sha_of_file(place), facts.st_size, _moment(facts.st_mtime))
                NewContent(content.sha, content.size).check_size()
            except (FluxError, OSError) as error:
                self._refuse(found, error)
                continue
            self.found.files[name] = [content]
            self.advance()
        if self.problems:
            return
        self._read_facts()
        self._read_versions(self._events())
        self._read_messages()

    def _walk(self) -> Iterator[tuple[Path, str, os.stat_result]]:
        """All regular files with their names. Anything else is a problem."""

        def fail(error: OSError) -> None:
            raise error

        for at, folders, names in os.walk(self.folder, onerror=fail, followlinks=False):
            for name in sorted([*folders, *names]):
                place = Path(at, name)
                relative = place.relative_to(self.folder).as_posix()
                facts = place.lstat()
                if stat.S_ISLNK(facts.st_mode):
                    self._refuse(relative, "it is a symbolic link. Replace it by what it points to")
                elif relative == paths.MESSAGES and not stat.S_ISREG(facts.st_mode):
                    self._refuse(relative, "it must be a file")
                elif relative in _OWN_FOLDERS and not stat.S_ISDIR(facts.st_mode):
                    self._refuse(relative, "it must be a folder")
                elif stat.S_ISREG(facts.st_mode):
                    if files.is_temporary(name):
                        self.found.ignored.append(relative)
                    else:
                        yield place, relative, facts
                elif not stat.S_ISDIR(facts.st_mode):
                    self._refuse(relative, "it is neither a file nor a folder")
            folders.sort()

    def _refuse(self, name: str, error: object) -> None:
        why = error.message if isinstance(error, FluxError) else str(error)
        self.problems.append(f"{name.encode('utf-8', 'backslashreplace').decode()}: {why.rstrip('.')}.")

    def _read_facts(self) -> None:
        """Who wrote the files, where the sidecar is of the content that is there."""
        for place in self._inside(tree.META):
            path = _nfc(tree.path_of_meta(place.name))
            if path not in self.found.files:
                self.found.ignored.append(f"{tree.META}/{place.name}")
                continue
            try:
                facts = MemoryMeta.of_json(place.read_bytes())
                at = datetime.fromisoformat(facts.updated_at)
            except ValueError as error:
                self._refuse(f"{tree.META}/{place.name}", f"it is not valid: {error}")
                continue
            (content,) = self.found.files[path]  # the versions are read later
            if facts.sha256 == content.sha:
                self.found.files[path] = [_written(content, at, facts.updated_by, facts.reason)]

    def _events(self) -> dict[str, tuple[int, dict[str, Any]]] | None:
        """Entries of the log by the version they are about, with their numbers; None if the tree has no log."""
        place = self.folder / tree.AUDIT_LOG
        if not place.is_file():
            return None
        events = tree.parse_events(self._bookkeeping(place))
        found = {str(event.get("version_file")): (number, event) for number, event in enumerate(events)}
        intent = journal.unfinished(self.folder)
        if intent is not None and not journal.is_complete(self.folder, intent):
            found.pop(intent.version, None)  # it has a line already, but never was the file's content
        return found

    def _read_versions(self, events: dict[str, tuple[int, dict[str, Any]]] | None) -> None:
        earlier: dict[str, list[tuple[datetime, int, TreeContent]]] = {}
        for folder in self._inside(tree.VERSIONS):
            path = unquote(folder.name)
            if paths.encoded(path) != folder.name or _nfc(path) not in self.found.files or not folder.is_dir():
                self.found.ignored.append(f"{tree.VERSIONS}/{folder.name}")
                continue
            for place in sorted(folder.iterdir()):
                name = f"{tree.VERSIONS}/{folder.name}/{place.name}"
                # Where there is a log, a version without a line in it was left by a writer that did not finish.
                known = events is None or name in events
                version = self._version(place, name) if known else None
                if version is None:
                    self.found.ignored.append(name)
                else:
                    number, event = (events or {}).get(name, (0, {}))
                    version = _written(version, version.at, event.get("actor"), event.get("reason"))
                    earlier.setdefault(_nfc(path), []).append((version.at, number, version))
                self.advance()
        for path, ordered in earlier.items():
            ordered.sort(key=lambda entry: entry[:2])
            versions, (current,) = [version for *_, version in ordered], self.found.files[path]
            if versions[-1].sha == current.sha:
                own = versions.pop()  # it is the version of the file itself
                if not current.actor and not current.reason:  # a writer was killed before it wrote the facts
                    current = replace(current, at=own.at, actor=own.actor, reason=own.reason)
            self.found.files[path] = [*versions, current]

    def _version(self, place: Path, name: str) -> TreeContent | None:
        parsed = tree.parse_version_name(place.name)
        if parsed is None or not place.is_file():
            return None
        at, sha = parsed
        try:
            NewContent(sha, place.stat().st_size).check_size()
            if tree.sha_of_file(place) != sha:
                self._refuse(name, "its content has another SHA-256 than its name says")
        except (FluxError, OSError) as error:
            self._refuse(name, error)
        return TreeContent(place, sha, place.stat().st_size, min(at.astimezone(UTC), clock.now()))

    def _read_messages(self) -> None:
        place = self.folder / paths.MESSAGES
        if not place.exists():
            return
        try:
            messages = tree.parse_messages(self._bookkeeping(place))
        except ValueError as error:
            self._refuse(paths.MESSAGES, f"it is not valid: {error}")
            return
        for number, message in enumerate(messages):
            try:
                transcripts.prepared(loads(dumps(message).encode()))
            except (FluxError, ValueError) as error:
                self._refuse(f"{paths.MESSAGES}, message {number}", error)
        self.found.messages = messages

    def _inside(self, name: str) -> list[Path]:
        folder = self.folder / name
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def _bookkeeping(self, place: Path) -> bytes:
        if place.stat().st_size > MAX_BOOKKEEPING:
            raise Invalid(f"{place} is too large: at most {MAX_BOOKKEEPING} bytes.", limit=MAX_BOOKKEEPING)
        return place.read_bytes()


def _nfc(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _written(content: TreeContent, at: datetime, actor: object, reason: object) -> TreeContent:
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    at = min(at.astimezone(UTC), clock.now())
    return replace(content, at=at, actor=_label(actor, MAX_ACTOR), reason=_label(reason, MAX_REASON))


def _label(given: object, most: int) -> str:
    """A label that fits our columns."""
    return "".join(char if char.isprintable() else " " for char in given[:most]) if isinstance(given, str) else ""


def _moment(seconds: float) -> datetime:
    return min(datetime.fromtimestamp(seconds, UTC), clock.now())
