"""Answers that are files, and where files for one request are kept. The server uses these: no framework is here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse

from fluxcore import blobs, spooled


def folder() -> Path:
    """Where bodies are kept while they come in, and copies of what lies elsewhere while they are sent."""
    found: Path = settings.HOME.blobs / blobs.INCOMING
    return found


class FileAnswer(StreamingHttpResponse):
    """A part of a file. The REST server sends it by itself; any other reads it from here.

    A temporary file is removed when the answer is closed, or by the server that sends it by itself.
    """

    def __init__(self, path: Path, start: int, stop: int, *, temporary: bool, **more: Any) -> None:
        super().__init__(_part(path, start, stop), **more)
        self.path, self.start, self.stop, self.temporary = path, start, stop, temporary

    def close(self) -> None:
        super().close()
        if self.temporary:
            self.path.unlink(missing_ok=True)


def _part(path: Path, start: int, stop: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(start)
        while start < stop and (chunk := file.read(min(stop - start, spooled.CHUNK_BYTES))):
            start += len(chunk)
            yield chunk
