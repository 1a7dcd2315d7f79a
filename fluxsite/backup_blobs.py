"""Blobs in backups: those of the data home, in at most 256 members named by the first two digits of their digests.

A member is one blob after the other, each behind a line with its SHA-256 and its size. Blobs are read after the
database: every blob that a row refers to was stored before the row, and is never removed before the row is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from fluxcore import blobs, files
from fluxcore.bundle_format import CHUNK_BYTES
from fluxcore.bundles import BundleWriter
from fluxcore.errors import Invalid

_HEAD = re.compile(rb"([0-9a-f]{64}) ([0-9]{15})\n")
_HEAD_BYTES = 64 + 1 + 15 + 1


def dump(folder: Path, bundle: BundleWriter) -> None:
    """Write the blobs of a data home to a backup."""
    store = blobs.store_at("", folder)
    by_beginning: dict[str, list[str]] = {}
    for blob in store:
        by_beginning.setdefault(blob.name[:2], []).append(blob.name)
    for beginning, digests in sorted(by_beginning.items()):
        bundle.add(f"blobs/{beginning}", _packed(store, digests))


def _packed(store: blobs.BlobStore, digests: list[str]) -> Iterator[bytes]:
    for digest in digests:
        path, size = store.path(digest), store.size(digest)
        if path is None or size is None:
            continue  # removed since it was listed, so nothing refers to it
        yield f"{digest} {size:015}\n".encode()
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


def unpack(chunks: Iterable[bytes], folder: Path) -> None:
    """Write the blobs of a member below a folder."""
    source = _Source(chunks)
    while head := source.read(_HEAD_BYTES):
        found = _HEAD.fullmatch(head)
        if found is None:
            raise Invalid("The backup's blobs are damaged. Nothing was restored.")
        digest, seen = found[1].decode(), hashlib.sha256()
        target = folder / blobs.name_of(digest)
        files.make_folder(target.parent)
        with files.new_file(target) as file:
            for part in source.parts(int(found[2])):
                seen.update(part)
                file.write(part)
        if seen.hexdigest() != digest:
            raise Invalid(f"The blob {digest} in the backup is damaged. Nothing was restored.")


class _Source:
    """Reads exact numbers of bytes from chunks of any size."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self._rest = filter(None, chunks), b""

    def parts(self, size: int) -> Iterator[bytes]:
        while size > 0:
            if not self._rest:
                self._rest = next(self._chunks, b"")
                if not self._rest:
                    raise Invalid("The backup's blobs end too early. Nothing was restored.")
            part, self._rest = self._rest[:size], self._rest[size:]
            size -= len(part)
            yield part

    def read(self, size: int) -> bytes:
        """So many bytes, or none at the end."""
        while not self._rest and (chunk := next(self._chunks, None)) is not None:
            self._rest = chunk
        return b"".join(self.parts(size)) if self._rest else b""
