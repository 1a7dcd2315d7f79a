"""Reader of notes: a folder of Markdown (for example of Obsidian) or plain text, split into grains.

A file is a session, so its pieces keep their order and are linked. Each piece begins with the headings above it, tags
come from the front matter and from #tags, and [[links]] lead to the first piece of the other note.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fluxcore.errors import FluxError, Invalid
from memory.grains.grain_input import MAX_NAME, MAX_TAG, MAX_TAGS
from memory.grains.texts import is_visible
from memory.transfer.formats.chunks import split_text
from memory.transfer.formats.source import MAX_LINE, Source, SourceItem, decode_text, unreadable_item

CHUNK, LEAST_CHUNK, MOST_CHUNK = 1_000, 100, 8_000  # characters of a piece: a few sentences
MARKDOWN = (".md", ".markdown", ".mdx")
MAX_FRONT = 4_096  # bytes of front matter: YAML needs quadratic time for some texts
_NUMBER = 10**18  # upper bound of numbers that are accepted as tags, such as years
_TEXT = (".txt", ".text", ".rst", ".org", "")
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_FENCE = re.compile(r"^(```|~~~)")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\W\d][\w/-]{0,63})")
_LINK = re.compile(r"\[\[([^\]\[|#^]{1,200})[^\]\[]*\]\]")


@dataclass
class _Note:
    """A note as read from its file."""

    name: str  # path relative to the folder, with /
    text: str = ""
    tags: list[str] = field(default_factory=list)
    time: str | None = None


def read_markdown(path: Path, chunk: int) -> Source:
    files, strange = _files(path, (*MARKDOWN, *(_TEXT[:2] if path.is_dir() else ())))
    root = path if path.is_dir() else path.parent
    return Source(
        "markdown",
        _readable(path.name),
        None,
        lambda: _items(root, files, strange, chunk, markdown=True),
        lambda: _links(root, files, chunk),
    )


def read_text(path: Path, chunk: int) -> Source:
    files, strange = _files(path, _TEXT)
    root = path if path.is_dir() else path.parent
    return Source("text", _readable(path.name), None, lambda: _items(root, files, strange, chunk, markdown=False))


def _files(path: Path, endings: tuple[str, ...]) -> tuple[list[Path], list[SourceItem]]:
    """Files below a folder in a fixed order, and symbolic links, which are not followed."""
    if path.is_file():
        return [path], []
    root, found, strange = path.resolve(), [], []
    for folder, folders, names in os.walk(path):  # links to folders are not followed
        folders[:] = sorted(one for one in folders if not one.startswith("."))  # .obsidian, .git, .trash
        inside = Path(folder)
        strange += [
            unreadable_item(_name(inside / one, path), "A link to a folder is not followed.")
            for one in folders
            if (inside / one).is_symlink()
        ]
        for name in sorted(names):
            file = inside / name
            if name.startswith(".") or file.suffix.lower() not in endings:
                continue
            where = _name(file, path)
            if not file.resolve().is_relative_to(root):
                strange.append(unreadable_item(where, "The link leads out of the folder."))
            elif not file.is_file():
                strange.append(unreadable_item(where, "It is not a file, or a broken link."))
            else:
                found.append(file)
    if not found and not strange:
        raise Invalid(f"There are no notes in {path}: files that end with .md or .txt.", field="path")
    return found, strange


def _name(file: Path, root: Path) -> str:
    return _readable(file.relative_to(root).as_posix())


def _readable(name: str) -> str:
    """File name with invalid UTF-8 replaced, which could be neither stored nor shown."""
    return os.fsencode(name).decode("utf-8", "replace")


def _note(root: Path, file: Path, *, markdown: bool) -> _Note:
    if file.stat().st_size > MAX_LINE:
        raise Invalid(f"The file has more than {MAX_LINE} bytes.", field="content")
    note = _Note(_name(file, root), decode_text(file.read_bytes()).replace("\r\n", "\n"))
    if markdown:
        front = _FRONT.match(note.text)
        if front:
            note.text = note.text[front.end() :]
            _take_front(note, front.group(1))
        note.tags += _TAG.findall(_without_code(note.text))
    note.tags = [one for one in dict.fromkeys(note.tags) if len(one) <= MAX_TAG and is_visible(one)][:MAX_TAGS]
    return note


def _take_front(note: _Note, text: str) -> None:
    """Tags and date from the front matter; invalid or too long front matter is kept as text."""
    if len(text.encode()) > MAX_FRONT:
        return
    try:
        found = yaml.safe_load(text)
    except Exception:  # a value that does not fit its tag (!!bool, !!timestamp) may raise any error
        return
    if not isinstance(found, dict):
        return
    tags: Any = found.get("tags", found.get("tag"))
    listed = re.split(r"[,\s]+", tags) if isinstance(tags, str) else tags if isinstance(tags, list) else []
    note.tags += [
        str(one).lstrip("#")
        for one in listed
        if (isinstance(one, str) or (isinstance(one, int) and abs(one) < _NUMBER)) and str(one).strip("# ")
    ]
    date = found.get("created", found.get("date"))
    # No other value is converted to text: nested aliases of lists can expand without end.
    stamp = date.isoformat() if isinstance(date, datetime.date) else date if isinstance(date, str) else ""
    shape = re.match(r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?", stamp)
    if shape:
        day, hour, offset = shape.groups()
        hour = f"{hour}:00" if hour and len(hour) == 5 else hour or "00:00:00"
        note.time = f"{day}T{hour}{offset or 'Z'}"


def _without_code(text: str) -> str:
    return re.sub(r"(?ms)^(```|~~~).*?^\1|`[^`\n]*`", " ", text)


def _items(
    root: Path, files: list[Path], strange: list[SourceItem], chunk: int, *, markdown: bool
) -> Iterator[SourceItem]:
    yield from strange
    for file in files:
        where = _name(file, root)
        try:
            note = _note(root, file, markdown=markdown)
        except FluxError as error:
            yield SourceItem(where, problem=error)
            continue
        except OSError as error:
            yield unreadable_item(where, f"It cannot be read: {error.strerror}.")
            continue
        for number, text in enumerate(_cut(note, chunk, markdown=markdown), start=1):
            given: dict[str, Any] = {"content": text, "session": _session(note.name)}
            if note.tags:
                given["tags"] = note.tags
            if note.time:
                given["time"] = note.time
            yield SourceItem(f"{where}, piece {number}", given, f"{where}#{number}")


def _session(name: str) -> str:
    """Session name of a note: its path without hidden characters, and the end of a path that is too long."""
    shown = "".join(one if is_visible(one) or one == " " else "_" for one in name)
    return shown if len(shown) <= MAX_NAME else f"…{shown[1 - MAX_NAME :]}"


def _cut(note: _Note, chunk: int, *, markdown: bool) -> Iterator[str]:
    if not markdown:
        yield from split_text(note.text, chunk)
        return
    for above, text in _sections(note):
        head = f"{above}\n" if above else ""
        for one in split_text(text, max(chunk - len(head), LEAST_CHUNK)):
            yield head + one


def _sections(note: _Note) -> Iterator[tuple[str, str]]:
    """Sections of a note with their headings; without a title the file name is used."""
    title = Path(note.name).stem
    above: list[tuple[int, str]] = []
    held: list[str] = []
    fenced = False
    for line in note.text.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            held.append(line)
            continue
        if any(one.strip() for one in held):
            yield _titled(title, above), "\n".join(held)
        held, level = [], len(heading.group(1))
        above = [*(one for one in above if one[0] < level), (level, heading.group(2))]
    if any(one.strip() for one in held):
        yield _titled(title, above), "\n".join(held)


def _titled(title: str, above: list[tuple[int, str]]) -> str:
    names = [name for _, name in above]
    if not names or names[0].casefold() != title.casefold():
        names.insert(0, title)
    return " \u203a ".join(names)[:200]


def _links(root: Path, files: list[Path], chunk: int) -> Iterator[SourceItem]:
    by_name = {Path(_name(file, root)).stem.casefold(): _name(file, root) for file in reversed(files)}
    by_name |= {Path(_name(file, root)).with_suffix("").as_posix().casefold(): _name(file, root) for file in files}
    for file in files:
        where = _name(file, root)
        try:
            note = _note(root, file, markdown=True)
        except (FluxError, OSError):
            continue  # reported with the grains
        for number, text in enumerate(_cut(note, chunk, markdown=True), start=1):
            for name in dict.fromkeys(_LINK.findall(text)):
                other = by_name.get(name.strip().casefold())
                if other is not None and other != where:
                    # A link that somebody wrote counts as used once: links that were never used decay and are removed.
                    ends = {"from": f"{where}#{number}", "to": f"{other}#1"}
                    given = {**ends, "relation": "related", "use_count": 1}
                    yield SourceItem(f"{where}, link to {name}", given)
