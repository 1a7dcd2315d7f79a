"""Bytes between local files and the files of stores: read and written in parts, never whole in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from fluxcore import blobs, body_file, config, files
from fluxcore.body_file import SpooledBody
from fluxcore.errors import Invalid, NotFound
from memory.api.file_answers import folder
from memory.artifacts import contents
from memory.artifacts.reading import OpenedFile

STANDARD = "-"  # standard input or output


@contextmanager
def local_body(source: str) -> Iterator[SpooledBody]:
    """The bytes of a local file or of standard input, copied, so that nobody changes them while they are stored."""
    try:
        opened = nullcontext(sys.stdin.buffer) if source == STANDARD else Path(source).expanduser().open("rb")
    except OSError as error:
        raise Invalid(f"{source} cannot be read: {error.strerror}.", field="file") from None
    with opened as file:
        chunks = iter(lambda: file.read(body_file.CHUNK_BYTES), b"")
        body = body_file.spool(chunks, folder(), config.current().MAX_FILE_BYTES)
    try:
        yield body
    finally:
        body.remove()


def stored_parts(opened: OpenedFile) -> Iterable[bytes]:
    """The bytes of a file of a store."""
    if opened.data is not None:
        return [opened.data]
    try:
        return blobs.of_instance().read(opened.sha)
    except NotFound:
        raise contents.blob_is_missing(opened.sha) from None


def to_standard_output(stdout: Any, chunks: Iterable[bytes]) -> None:
    out = getattr(stdout._out, "buffer", sys.stdout.buffer)
    for chunk in chunks:
        out.write(chunk)
    out.flush()


def to_file(chunks: Iterable[bytes], to: str | None, name: str) -> str:
    """Write a local file, which has all bytes or does not appear. Its path.

    Without `to` it is named as in the store, in the present folder. Whoever wrote the file chose that name, so that
    it replaces nothing; neither does a file in a folder that was named.
    """
    place = Path(to).expanduser() if to else Path()
    chosen = not place.is_dir()
    place = place if chosen else place / name
    if not chosen and (place.exists() or place.is_symlink()):
        raise Invalid(f"{place} exists already. Name a file to replace it.", field="file")
    beside = files.temporary_path(place)
    try:
        with beside.open("xb") as file:
            for chunk in chunks:
                file.write(chunk)
        beside.replace(place)
    except OSError as error:
        raise Invalid(f"{place} cannot be written: {error.strerror}.", field="file") from None
    finally:
        beside.unlink(missing_ok=True)
    return str(place)
