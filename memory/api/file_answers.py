"""Responses that are files, and the folder for files of one request. Imports no REST framework: the server uses it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import StreamingHttpResponse

from fluxcore import blobs, body_file


def folder() -> Path:
    """Folder for request bodies while they arrive, and for copies of remote contents while they are sent."""
    found: Path = settings.HOME.blobs / blobs.INCOMING
    return found


class FileAnswer(StreamingHttpResponse):
    """Response with a range of a file. The REST server sends the file itself; other servers iterate over the chunks.

    A temporary file is deleted when the response is closed, or by the server that sends the file itself.
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
        while start < stop and (chunk := file.read(min(stop - start, body_file.CHUNK_BYTES))):
            start += len(chunk)
            yield chunk
