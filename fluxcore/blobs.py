"""Content-addressed storage: bytes under their own SHA-256, the same bytes once, never a whole blob in memory.

Put, then commit the reference, then collect what nobody refers to. A put and a collection of the same digest cannot
lose a blob, also on different machines and without locks:

- A put makes the blob young (or finds it young), then looks for the mark of a collection, then looks for the blob.
- A collection sets its mark, then looks at the blob's age and references again, then deletes, then takes its mark off.

A put that sees no mark before or after a collection's life either made the blob young before the collection looked, so
that it is kept, or finds it gone and says so; one that sees the mark refuses. The caller has the bytes and tries again.
A reference must be committed within `FRESH` of its put: what is younger than `GRACE` is never collected. Age is what
clocks say, so nobody collects while the clock is doubted (`fluxcore/uptime.py`).
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from fluxcore import clock, files
from fluxcore.blob_places import (
    FolderPlace,
    Place,
    Placed,
    Readable,
    local_folder,
    place_at,
    storage_error,
    storage_errors,
)
from fluxcore.errors import Busy, Invalid, NotFound, StorageUnavailable
from fluxcore.writes import limit_messages

GRACE = timedelta(hours=24)
FRESH = GRACE / 2
CHUNK_BYTES = 256 * 1024
INCOMING = "incoming"  # the folder in which contents are staged
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MARKS = "collecting"
_AT_ONCE = 500  # digests whose references are asked for together
_FOLDERS = [f"{number:02x}" for number in range(256)]
# A collection that took longer over one blob gives it up; its mark is obeyed far longer than that.
_COLLECTING_SECONDS = 60.0
_MARK_OBEYED = timedelta(hours=1)


class Blob(NamedTuple):
    """Bytes that are stored."""

    digest: str
    size: int


@dataclass(frozen=True)
class Collected:
    """What a collection did."""

    blobs: int = 0
    size: int = 0
    leftovers: int = 0


class BlobStore:
    def __init__(self, place: Place, staging: Path) -> None:
        self.place, self._staging = place, staging

    def put(self, chunks: Iterable[bytes], *, most: int | None = None, digest: str | None = None) -> Blob:
        """Store what the chunks hold, once all of it has come and is what it was said to be."""
        staged = files.temporary_path(self._staging / "blob")
        try:
            with self._staged(staged) as file:
                blob = _copy(chunks, file, most)
            if digest is not None and digest != blob.digest:
                raise Invalid(f"The content has the SHA-256 {blob.digest}, not {digest}.", field="digest")
            self._place(staged, blob)
        finally:
            with suppress(OSError):  # the folder itself may be the problem, which was reported
                staged.unlink(missing_ok=True)
        return blob

    def take(self, staged: Path, blob: Blob) -> Blob:
        """Store a file of known size and digest, which was written for this. It is moved where that is possible."""
        files.make_folder(self._staging)
        if staged.stat().st_dev != self._staging.stat().st_dev:  # a rename does not leave its disk
            return self.put(_file_chunks(staged), digest=blob.digest)
        with storage_errors(self.place), staged.open("rb") as file:
            os.fsync(file.fileno())
        self._place(staged, blob)
        return blob

    def _place(self, staged: Path, blob: Blob) -> None:
        name = name_of(blob.digest)
        there = self.place.info(name)
        if there is None or there.size != blob.size or clock.now() - there.at > FRESH:
            self.place.take(staged, name)
        if any(self._marks(blob.digest)) or self.place.info(name) is None:
            raise Busy(
                "The same content is being removed at this moment. Nothing was stored; try again.", retry_after=1
            )

    def size(self, digest: str) -> int | None:
        """How many bytes it has; None if it is not stored."""
        found = self.place.info(name_of(digest))
        return found.size if found else None

    def path(self, digest: str) -> Path | None:
        """The file it lies in; None where that is on no disk of this machine."""
        return self.place.root / name_of(digest) if isinstance(self.place, FolderPlace) else None

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Its bytes from `start` up to before `stop`. One that is read whole is checked on the way."""
        file = self.place.open(name_of(digest), start)
        if file is None:
            raise NotFound(f"There is no blob {digest}.")
        whole = start == 0 and stop is None
        return _checked(file, digest) if whole else _part(file, None if stop is None else max(stop - start, 0))

    def delete(self, digest: str) -> None:
        """Remove it, whoever refers to it. What nobody refers to is collected."""
        self.place.remove(name_of(digest))

    def __iter__(self) -> Iterator[Placed]:
        """Every blob, by digest, with its size and age. Of an object store a 256th is in memory at a time."""
        for folder in _FOLDERS:
            for found in self.place.list(folder):
                digest = found.name.rpartition("/")[2]
                if _DIGEST.fullmatch(digest) and found.name == name_of(digest):
                    yield found._replace(name=digest)

    def collect(self, referenced: Callable[[Collection[str]], Collection[str]]) -> Collected:
        """Delete old blobs without references. `referenced`: which of these digests have one that is committed."""
        old = (blob for blob in self if self._is_old(blob))
        blobs = size = 0
        while batch := list(islice(old, _AT_ONCE)):
            kept = referenced([blob.name for blob in batch])
            for blob in batch:
                if blob.name not in kept and self._collect(blob.name, referenced):
                    blobs, size = blobs + 1, size + blob.size
        return Collected(blobs, size, self.remove_leftovers())

    def _is_old(self, blob: Placed) -> bool:
        return clock.now() - blob.at > GRACE

    def _collect(self, digest: str, referenced: Callable[[Collection[str]], Collection[str]]) -> bool:
        began, mark = time.monotonic(), self._set_mark(digest)
        blob = self.place.info(name_of(digest))
        goes = blob is not None and self._is_old(blob) and digest not in referenced([digest])
        goes = goes and time.monotonic() - began < _COLLECTING_SECONDS
        if goes:
            self.place.remove(name_of(digest))
        # Not after an error: a deletion of unknown outcome may still happen, and the mark warns of it.
        self.place.remove(mark)
        return goes

    def _set_mark(self, digest: str) -> str:
        """Each collection has marks of its own, so that none takes off another's."""
        mark = f"{_MARKS}/{digest}.{secrets.token_hex(8)}"
        staged = files.temporary_path(self._staging / "mark")
        try:
            with self._staged(staged):
                pass
            self.place.take(staged, mark)
        finally:
            staged.unlink(missing_ok=True)
        return mark

    def _marks(self, digest: str) -> Iterator[Placed]:
        """The marks of collections that are at this blob. There are few at a time, one for each that runs."""
        for mark in self.place.list(_MARKS):
            if mark.name.startswith(f"{_MARKS}/{digest}.") and clock.now() - mark.at < _MARK_OBEYED:
                yield mark

    @contextmanager
    def _staged(self, path: Path) -> Iterator[IO[bytes]]:
        try:
            files.make_folder(self._staging)
            with files.new_file(path) as file:
                yield file
        except OSError as error:
            raise storage_error(error, self.place) from error

    def remove_leftovers(self) -> int:
        """What killed writers left half written, here and where blobs lie, and marks of killed collections."""
        for mark in self.place.list(_MARKS):
            if clock.now() - mark.at > _MARK_OBEYED:
                self.place.remove(mark.name)
        removed = files.remove_leftovers(self._staging, older_than_seconds=GRACE.total_seconds())
        for folder in _FOLDERS if self.place.moves else ():
            for left in self.place.list(folder):
                if left.name.endswith(files.LEFTOVER) and self._is_old(left):
                    self.place.remove(left.name)
                    removed += 1
        return removed


def name_of(digest: str) -> str:
    """Two levels of folders, so that none has more than a few thousand entries: `ab/cd/abcd...`."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid("A digest is the SHA-256 of a content in 64 hexadecimal digits.", field="digest")
    return f"{digest[:2]}/{digest[2:4]}/{digest}"


def _copy(chunks: Iterable[bytes], file: IO[bytes], most: int | None) -> Blob:
    seen, size = hashlib.sha256(), 0
    for chunk in chunks:
        size += len(chunk)
        if most is not None and size > most:
            raise limit_messages.too_large("A content", limit=most, raised_by=None)
        seen.update(chunk)
        file.write(chunk)
    return Blob(seen.hexdigest(), size)


def _file_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from _part(file, None)


def _checked(file: Readable, digest: str) -> Iterator[bytes]:
    """All of it; a reader of damaged bytes gets an error in the place of the end."""
    seen = hashlib.sha256()
    for chunk in _part(file, None):
        seen.update(chunk)
        yield chunk
    if seen.hexdigest() != digest:
        raise StorageUnavailable(f"The blob {digest} is damaged. Bring it back from a backup.")


def _part(file: Readable, left: int | None) -> Iterator[bytes]:
    try:
        while left is None or left > 0:
            chunk = file.read(CHUNK_BYTES if left is None else min(left, CHUNK_BYTES))
            if not chunk:
                return
            if left is not None:
                left -= len(chunk)
            yield chunk
    finally:
        file.close()


def store_at(url: str, folder: Path) -> BlobStore:
    """The blobs at that address, those of the folder without one. What comes in is staged in the folder either way."""
    place = place_at(url, folder)
    # A rename does not leave its disk, so a folder elsewhere stages for itself.
    return BlobStore(place, (local_folder(url) or folder) / INCOMING)


def of_instance() -> BlobStore:
    """The blobs of this process's instance: BLOBS_URL, or `blobs` in the data home."""
    from django.conf import settings

    from fluxcore import config

    return store_at(config.current().BLOBS_URL, settings.HOME.blobs)
