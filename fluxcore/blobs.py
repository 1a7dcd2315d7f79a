"""Content-addressed blob storage: bytes under their own SHA-256, the same bytes once, never a whole blob in memory.

Put, then commit the reference, then collect blobs without references. A put and a collection of the same digest cannot
lose a blob, also on different machines and without locks:

- A put makes the blob young (or finds it young), then looks for the mark of a collection, then looks for the blob.
- A collection sets its mark, then checks the blob's age and references again, then deletes it and removes its mark.

A put that sees no mark either made the blob young before the collection checked its age, so that it is kept, or finds
it missing and raises `Busy`; one that sees a mark raises `Busy` too. The caller has the bytes and tries again.
A reference must be committed within `FRESH` of its put: a blob younger than `GRACE` is never collected. Ages depend on
clocks, so nothing is collected after the clock has jumped (`fluxcore/uptime.py`).
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
from fluxcore.blob_backends import (
    BlobBackend,
    FolderBackend,
    Readable,
    StoredFile,
    backend_at,
    local_folder,
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
_AT_ONCE = 500  # digests whose references are looked up in one call
_FOLDER = re.compile(r"[0-9a-f]{2}")
# A collection that takes longer over one blob keeps it.
_COLLECTING_SECONDS = 60.0
# Time for which puts obey the mark of a collection, far longer than a collection may take over one blob.
_MARK_OBEYED = timedelta(hours=1)


class Blob(NamedTuple):
    """Digest and size of stored bytes."""

    digest: str
    size: int


@dataclass(frozen=True)
class Collected:
    """Number and size of the blobs a collection deleted, and of leftovers it removed."""

    blobs: int = 0
    size: int = 0
    leftovers: int = 0


class BlobStore:
    def __init__(self, backend: BlobBackend, staging: Path) -> None:
        self.backend, self._staging = backend, staging

    def put(self, chunks: Iterable[bytes], *, most: int | None = None, digest: str | None = None) -> Blob:
        """Store the chunks, after all of them were read and checked against `most` bytes and the expected `digest`."""
        staged = files.temporary_path(self._staging / "blob")
        try:
            with self._staged(staged) as file:
                blob = _copy(chunks, file, most)
            if digest is not None and digest != blob.digest:
                raise Invalid(f"The content has the SHA-256 {blob.digest}, not {digest}.", field="digest")
            self._store(staged, blob)
        finally:
            with suppress(OSError):  # a missing folder was already reported above
                staged.unlink(missing_ok=True)
        return blob

    def take(self, staged: Path, blob: Blob) -> Blob:
        """Store a staged file of known size and digest. It is moved where that is possible, else copied."""
        files.make_folder(self._staging)
        if staged.stat().st_dev != self._staging.stat().st_dev:  # a file cannot be renamed to another disk
            return self.put(_file_chunks(staged), digest=blob.digest)
        with storage_errors(self.backend), staged.open("rb") as file:
            os.fsync(file.fileno())
        self._store(staged, blob)
        return blob

    def _store(self, staged: Path, blob: Blob) -> None:
        name = name_of(blob.digest)
        stored = self.backend.info(name)
        if stored is None or stored.size != blob.size or clock.now() - stored.at > FRESH:
            self.backend.take(staged, name)
        if any(self._marks(blob.digest)) or self.backend.info(name) is None:
            raise Busy(
                "The same content is being removed at this moment. Nothing was stored; try again.", retry_after=1
            )

    def size(self, digest: str) -> int | None:
        """Size of the blob in bytes; None if it is not stored."""
        found = self.backend.info(name_of(digest))
        return found.size if found else None

    def path(self, digest: str) -> Path | None:
        """Path of the blob's file; None in a remote backend."""
        return self.backend.root / name_of(digest) if isinstance(self.backend, FolderBackend) else None

    def read(self, digest: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Bytes of the blob from `start` up to before `stop`. If it is read whole, its digest is checked."""
        file = self.backend.open(name_of(digest), start)
        if file is None:
            raise NotFound(f"There is no blob {digest}.")
        whole = start == 0 and stop is None
        return _checked(file, digest) if whole else _part(file, None if stop is None else max(stop - start, 0))

    def delete(self, digest: str) -> None:
        """Remove the blob even if it has references. Blobs without references are removed by `collect`."""
        self.backend.remove(name_of(digest))

    def __iter__(self) -> Iterator[StoredFile]:
        """Every blob, by digest, with its size and age. A 256th of the listing is in memory at a time."""
        for folder in self._folders():
            for found in self.backend.list(folder):
                digest = found.name.rpartition("/")[2]
                if _DIGEST.fullmatch(digest) and found.name == name_of(digest):
                    yield found._replace(name=digest)

    def _folders(self) -> list[str]:
        """The folders of blobs there are, so that a small store costs few requests."""
        return sorted(folder for folder in self.backend.folders() if _FOLDER.fullmatch(folder))

    def collect(self, referenced: Callable[[Collection[str]], Collection[str]]) -> Collected:
        """Delete old blobs without references. `referenced` returns those of the digests that have a committed one."""
        old = (blob for blob in self if self._is_old(blob))
        blobs = size = 0
        while batch := list(islice(old, _AT_ONCE)):
            kept = referenced([blob.name for blob in batch])
            for blob in batch:
                if blob.name not in kept and self._collect(blob.name, referenced):
                    blobs, size = blobs + 1, size + blob.size
        return Collected(blobs, size, self.remove_leftovers())

    def _is_old(self, blob: StoredFile) -> bool:
        return clock.now() - blob.at > GRACE

    def _collect(self, digest: str, referenced: Callable[[Collection[str]], Collection[str]]) -> bool:
        began, mark = time.monotonic(), self._set_mark(digest)
        blob = self.backend.info(name_of(digest))
        unused = blob is not None and self._is_old(blob) and digest not in referenced([digest])
        unused = unused and time.monotonic() - began < _COLLECTING_SECONDS
        if unused:
            self.backend.remove(name_of(digest))
        # The mark stays after an error: a deletion of unknown outcome may still happen, and puts must not rely on it.
        self.backend.remove(mark)
        return unused

    def _set_mark(self, digest: str) -> str:
        """Write the mark of this collection; each has its own, so that none removes another's."""
        mark = f"{_MARKS}/{digest}.{secrets.token_hex(8)}"
        staged = files.temporary_path(self._staging / "mark")
        try:
            with self._staged(staged):
                pass
            self.backend.take(staged, mark)
        finally:
            staged.unlink(missing_ok=True)
        return mark

    def _marks(self, digest: str) -> Iterator[StoredFile]:
        """Marks of collections that may delete this blob. Each running collection has one mark at a time."""
        for mark in self.backend.list(_MARKS):
            if mark.name.startswith(f"{_MARKS}/{digest}.") and clock.now() - mark.at < _MARK_OBEYED:
                yield mark

    @contextmanager
    def _staged(self, path: Path) -> Iterator[IO[bytes]]:
        try:
            files.make_folder(self._staging)
            with files.new_file(path) as file:
                yield file
        except OSError as error:
            raise storage_error(error, self.backend) from error

    def remove_leftovers(self) -> int:
        """Remove half-written files of killed writers, here and in the backend, and marks of killed collections."""
        for mark in self.backend.list(_MARKS):
            if clock.now() - mark.at > _MARK_OBEYED:
                self.backend.remove(mark.name)
        removed = files.remove_leftovers(self._staging, older_than_seconds=GRACE.total_seconds())
        for folder in self._folders() if self.backend.moves else ():
            for left in self.backend.list(folder):
                if left.name.endswith(files.LEFTOVER) and self._is_old(left):
                    self.backend.remove(left.name)
                    removed += 1
        return removed


def name_of(digest: str) -> str:
    """File name of a digest, in two levels of folders so that none gets too many entries: `ab/cd/abcd...`."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid("A digest must be a SHA-256 in 64 hexadecimal digits.", field="digest")
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
    """All chunks of a blob; raises at the end if they do not match the digest."""
    seen = hashlib.sha256()
    for chunk in _part(file, None):
        seen.update(chunk)
        yield chunk
    if seen.hexdigest() != digest:
        raise StorageUnavailable(f"The blob {digest} is damaged. Restore it from a backup.")


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
    """Blob store at that address; in the folder if the address is empty. New blobs are staged in `folder/incoming`."""
    backend = backend_at(url, folder)
    # A file cannot be renamed to another disk, so another folder has a staging folder of its own.
    return BlobStore(backend, (local_folder(url) or folder) / INCOMING)


def of_instance() -> BlobStore:
    """Blob store of this process's instance: at BLOBS_URL, or in `blobs` of the data home."""
    from django.conf import settings

    from fluxcore import config

    return store_at(config.current().BLOBS_URL, settings.HOME.blobs)
