"""Request bodies written to a file as they arrive: none but small ones in memory, with their size and digest.

The file is in the staging folder of blobs, so that a body which becomes a blob is renamed and not written twice. Files
of killed processes are removed with the leftovers of blobs.
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

IN_REQUEST = "flux.body"  # key of the body file in a request's environment
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class SpooledBody:
    """File, size and digest of a complete body."""

    path: Path
    size: int
    sha256: str

    def __iter__(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class SmallBody:
    """A complete body that is small enough to be in memory."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size, self.sha256 = data, len(data), hashlib.sha256(data).hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        yield self.data

    def remove(self) -> None:
        """There is no file."""


class Spool:
    """Writer of the file of a body that is arriving. Used by one thread at a time."""

    def __init__(self, folder: Path, most: int | None) -> None:
        files.make_folder(folder)
        self._path, self._most = files.temporary_path(folder / "body"), most
        self._file = open(self._path, "xb", opener=files.private)  # noqa: SIM115  closed by `done` or `drop`
        self._digest, self.size = hashlib.sha256(), 0

    def count(self, chunk: bytes) -> None:
        """Count a chunk before it is written; refuses a body that becomes too large."""
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
    """Write the chunks of an iterator to a body file."""
    body = Spool(folder, most)
    try:
        for chunk in chunks:
            body.count(chunk)
            body.write(chunk)
        return body.done()
    except BaseException:
        body.drop()
        raise


async def spool_incoming(chunks: AsyncIterator[bytes], folder: Path, most: int, disk: Executor) -> SpooledBody:
    """Write a request body to a file. A sender that stalls or is slower than BYTES_PER_SECOND is refused.

    Threads of `disk` write to the disk; their time does not count for the sender.
    """
    loop = asyncio.get_running_loop()
    body = await loop.run_in_executor(disk, Spool, folder, most)
    try:
        allowance, waited, buffer = config.current().REQUEST_SECONDS, 0.0, bytearray()
        async with asyncio.timeout(allowance) as limit:
            since = loop.time()
            async for chunk in chunks:
                waited += loop.time() - since
                body.count(chunk)
                buffer += chunk
                if len(buffer) >= CHUNK_BYTES:
                    limit.reschedule(None)
                    await loop.run_in_executor(disk, body.write, bytes(buffer))
                    buffer.clear()
                since = loop.time()
                late = waited - body.size / incoming_bodies.BYTES_PER_SECOND
                limit.reschedule(since + max(min(allowance, allowance - late), 0.0))
        await loop.run_in_executor(disk, body.write, bytes(buffer))
        return await loop.run_in_executor(disk, body.done)
    except TimeoutError:
        body.drop()
        raise BodyTooSlow from None
    except BaseException:
        body.drop()
        raise
