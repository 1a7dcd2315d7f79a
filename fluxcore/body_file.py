"""Bodies that are kept in a file while they come in: never whole in memory, counted and digested on the way.

The file lies where blobs are staged, so that a body which becomes a blob is renamed and not written twice. What a kill
leaves of it is swept with the blobs' own leftovers.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from fluxcore import config, files, incoming_bodies
from fluxcore.errors import BodyTooSlow
from fluxcore.writes import limit_messages

IN_REQUEST = "flux.body"  # in a request's environment: its body, where the server has kept it
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class SpooledBody:
    """A body that has come in whole."""

    path: Path
    size: int
    sha256: str

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class Spool:
    """The file of a body that is coming in. Used by one thread at a time."""

    def __init__(self, folder: Path, most: int | None) -> None:
        files.make_folder(folder)
        self._path, self._most = files.temporary_path(folder / "body"), most
        self._file = open(self._path, "xb", opener=files.private)  # noqa: SIM115  closed by `done` or `drop`
        self._digest, self.size = hashlib.sha256(), 0

    def count(self, chunk: bytes) -> None:
        """Refuse what is too much before any of it is kept."""
        self.size += len(chunk)
        if self._most is not None and self.size > self._most:
            raise limit_messages.too_large("A body", limit=self._most, raised_by="MAX_FILE_BYTES")

    def write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)

    def done(self) -> SpooledBody:
        self._file.close()
        return SpooledBody(self._path, self.size, self._digest.hexdigest())

    def drop(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


def spool(chunks: Iterable[bytes], folder: Path, most: int | None = None) -> SpooledBody:
    """Keep what an iterator brings."""
    kept = Spool(folder, most)
    try:
        for chunk in chunks:
            kept.count(chunk)
            kept.write(chunk)
        return kept.done()
    except BaseException:
        kept.drop()
        raise


async def spool_incoming(chunks: AsyncIterator[bytes], folder: Path, most: int, disk: Executor) -> SpooledBody:
    """Keep what a caller sends. Who stalls, or sends slower than the slowest sender that is waited for, is refused.

    The disk is written to in a thread of `disk`; the time that takes is not the caller's.
    """
    loop = asyncio.get_running_loop()
    kept = await loop.run_in_executor(disk, Spool, folder, most)
    try:
        patience, waited, held = config.current().REQUEST_SECONDS, 0.0, bytearray()
        async with asyncio.timeout(patience) as limit:
            since = loop.time()
            async for chunk in chunks:
                waited += loop.time() - since
                kept.count(chunk)
                held += chunk
                if len(held) >= CHUNK_BYTES:
                    limit.reschedule(None)
                    await loop.run_in_executor(disk, kept.write, bytes(held))
                    held.clear()
                since = loop.time()
                late = waited - kept.size / incoming_bodies.BYTES_PER_SECOND
                limit.reschedule(since + max(min(patience, patience - late), 0.0))
        await loop.run_in_executor(disk, kept.write, bytes(held))
        return await loop.run_in_executor(disk, kept.done)
    except TimeoutError:
        kept.drop()
        raise BodyTooSlow from None
    except BaseException:
        kept.drop()
        raise
