"""Search in files: lines that contain a text, page by page.

A page ends after so many matches, files or bytes, wherever that is; its cursor names the file, and inside of a file the
byte and the line, so that nothing is passed over and nothing comes twice. A file that was written since the page that
ended inside of it is searched from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from accounts.calls import handles
from accounts.principals import Principal
from flux import paths
from flux.calls import files as calls
from fluxcore.errors import Invalid
from memory.artifacts import content_types, contents, lines, names
from memory.artifacts.listing import page_of, path_after
from memory.artifacts.models import File
from memory.artifacts.states import read_seen

DEFAULT_MATCHES = 50
MAX_FILES, MAX_BYTES = 500, 8 * 1024 * 1024  # of one call
MAX_LINE = 500  # characters of a found line


class Place(NamedTuple):
    """Where a search continues: a file and, inside of it, a byte and its line."""

    file: int
    version: int = 0
    offset: int = 0
    line: int = 1
    found: int = 0  # 1: the line is a match already, and the place is in the middle of it

    @classmethod
    def parse(cls, cursor: str) -> Place:
        numbers = [int(number) for number in cursor.split(".")]
        if len(numbers) not in (1, len(cls._fields)):
            raise Invalid("cursor is not of this search: use next_cursor of the previous page.", field="cursor")
        return cls(*numbers)

    def __str__(self) -> str:
        return ".".join(map(str, self)) if self.version else str(self.file)


@dataclass
class Page:
    """The matches of one page, and how far it may still go."""

    wanted: str
    limit: int
    room: int = MAX_BYTES
    matches: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return self.room <= 0 or len(self.matches) >= self.limit

    def search(self, file: File, start: Place) -> Place | None:
        """Search a file from a place on; where the page ended, None if that is the end of the file."""
        place, chunks = _read(file, start, self.room)
        end, kept = place.offset + self.room, 4 * len(self.wanted)  # bytes that may hold the text but for its end
        before = b""  # of the same line
        for part in lines.parts(chunks, number=place.line, offset=place.offset):
            if len(self.matches) >= self.limit:
                return place
            text = (before + part.data).decode("utf-8", "replace")
            if not place.found and self.wanted in text.casefold():
                self.matches.append({"path": file.path, "line": part.number, "text": text.rstrip("\r\n")[:MAX_LINE]})
                place = place._replace(found=1)
            self.room -= len(part.data)
            if part.ends:
                before, place = b"", Place(file.pk, place.version, part.next_offset, part.number + 1)
            else:
                before = (before + part.data)[-kept:]
                place = place._replace(offset=part.next_offset - len(before))
        return place if end < file.size else None


@handles(calls.SearchFiles, asks=names.asks_for_some("artifacts.read"))
def search_files(principal: Principal, request: calls.SearchFiles) -> dict[str, Any]:
    """Find lines that contain a text. After many matches, files or bytes it ends with a cursor to continue."""
    store = read_seen(principal, request.store)
    prefix, readable = paths.checked_prefix(request.prefix or ""), names.reader(principal, store.target)
    start = Place.parse(request.cursor) if request.cursor is not None else None
    after = path_after(store, str(start.file) if start else None)
    files = page_of(store, prefix, after, MAX_FILES + 1)
    if start and start.version and paths.is_under(after, prefix):
        files = [*File.objects.filter(pk=start.file).exclude(sha=""), *files]
    page, last = Page(request.query.casefold(), request.limit or DEFAULT_MATCHES), None
    for file in files[:MAX_FILES]:
        if page.is_full:
            return _answer(page, last)
        if readable(file.path) and content_types.may_be_text(file.content_type):
            stopped = page.search(file, start if start and start.file == file.pk else Place(file.pk))
            if stopped is not None:
                return _answer(page, stopped)
        last = Place(file.pk)
    return _answer(page, last if len(files) > MAX_FILES else None)


@contents.read_again
def _read(file: File, start: Place, room: int) -> tuple[Place, Iterable[bytes]]:
    """The bytes of a file from a place on, as it is now; from its beginning if it was written since."""
    try:
        place = start if start.version == file.version else Place(file.pk, file.version)
        if file.content_id is None or place.offset >= file.size:
            return place, ()
        return place, contents.read(file.content_id, place.offset, place.offset + room)
    except contents.ReplacedContent:
        file.refresh_from_db()
        raise


def _answer(page: Page, place: Place | None) -> dict[str, Any]:
    cursor = str(place) if place is not None else None
    return {"matches": page.matches, "count": len(page.matches), "next_cursor": cursor}
