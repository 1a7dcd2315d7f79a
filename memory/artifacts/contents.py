"""Contents of files: the same bytes once in a space, in a row of the database or if they are large in blob storage.

`uses` counts the changes (versions) that refer to a content. A content without any is deleted in the same write; its
blob is removed later by `blobs.collect`, which never takes a blob that was just stored again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, wraps
from itertools import chain
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from django.db import connection

from fluxcore import blobs, config, raw_sql
from fluxcore.body_file import SmallBody, SpooledBody
from fluxcore.errors import NotFound, StorageUnavailable
from fluxcore.writes import limit_messages
from memory.artifacts.models import Content

P = ParamSpec("P")
R = TypeVar("R")
INLINE_BYTES = 64 * 1024  # contents up to this size stay in the database
_READS = 5  # of one content that others replace
_TABLE = Content._meta.db_table
_HOLD = f"ON CONFLICT (space_id, sha) DO UPDATE SET uses = {_TABLE}.uses + excluded.uses RETURNING id, uses"
_USE = f"UPDATE {_TABLE} SET uses = uses + %s WHERE id = %s"  # noqa: S608
_REMOVE_UNUSED = f"DELETE FROM {_TABLE} WHERE id = %s AND uses <= 0"  # noqa: S608
_READ = f"SELECT sha, size, data FROM {_TABLE} WHERE id = %s"  # noqa: S608


class NewContent(dict[str, Any]):
    """Bytes to be written. As a value it is their SHA-256 and size, which is what an idempotency key is bound to."""

    def __init__(self, sha: str, size: int, *, data: bytes | None = None, file: Path | None = None) -> None:
        super().__init__(sha=sha, size=size)
        self.sha, self.size, self.data, self.file = sha, size, data, file

    @classmethod
    def of(cls, data: bytes) -> NewContent:
        return cls(hashlib.sha256(data).hexdigest(), len(data), data=data)

    @classmethod
    def of_body(cls, body: SpooledBody | SmallBody) -> NewContent:
        """A body that arrived as a file, read into memory if it is small, or in memory."""
        if isinstance(body, SmallBody) or body.size <= INLINE_BYTES:
            return cls(body.sha256, body.size, data=b"".join(body))
        return cls(body.sha256, body.size, file=body.path)

    @cached_property
    def beginning(self) -> bytes:
        """The first bytes, which decide whether it is text."""
        if self.data is not None:
            return self.data[:INLINE_BYTES]
        if self.file is None:
            return b"".join(blobs.of_instance().read(self.sha, 0, INLINE_BYTES))
        with self.file.open("rb") as file:
            return file.read(INLINE_BYTES)

    def parts(self) -> Iterator[bytes]:
        """The bytes in parts: from memory, from the file, or from blob storage once they are kept there."""
        if self.data is not None:
            yield self.data
        elif self.file is None:
            yield from blobs.of_instance().read(self.sha)
        else:
            with self.file.open("rb") as file:
                while chunk := file.read(blobs.CHUNK_BYTES):
                    yield chunk

    def check_size(self) -> None:
        limit = config.current().MAX_FILE_BYTES
        if self.size > limit:
            raise limit_messages.too_large("A file", limit=limit, raised_by="MAX_FILE_BYTES")

    @property
    def is_large(self) -> bool:
        """Whether it is stored as a blob."""
        return self.size > INLINE_BYTES

    def keep(self) -> None:
        """Put large contents into blob storage, before the write that refers to them."""
        if not self.is_large:
            return
        store = blobs.of_instance()
        blob = blobs.Blob(self.sha, self.size)
        if self.file is not None:
            store.take(self.file, blob)
            self.file = None  # which blob storage has moved
        elif self.data is not None:
            store.put([self.data], digest=self.sha)


def hold(space: int, content: NewContent) -> tuple[int, bool]:
    """The row of a content, made or used once more, and whether it is the only use; inside the write."""
    data = content.data if content.size <= INLINE_BYTES else None
    rows = raw_sql.upsert(
        Content, ("space", "sha", "size", "data", "uses"), [(space, content.sha, content.size, data, 1)], _HOLD
    )
    number, uses = rows[0]
    return int(number), uses == 1


def use(content: int, uses: int = 1) -> None:
    """Use a content that is stored already once more."""
    with connection.cursor() as cursor:
        cursor.execute(_USE, [uses, content])


def release(contents: Iterable[int]) -> None:
    """Use contents once less, for each time they are named; unused ones are deleted."""
    with connection.cursor() as cursor:
        for content, uses in Counter(contents).items():
            cursor.execute(_USE, [-uses, content])
            cursor.execute(_REMOVE_UNUSED, [content])


def inline(content: int) -> bytes | None:
    """The bytes of a content that is in its row; None if it is a blob."""
    rows = raw_sql.read(_READ, [content])
    if not rows:
        raise ReplacedContent
    data = rows[0][2]
    return bytes(data) if data is not None else None


class ReplacedContent(StorageUnavailable):
    """A content was deleted between the statement that found it in a file or version and the one that reads it."""

    message = "The file was written at this moment. Read it again."


def read_again(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a function that finds a content and reads it: done again if a write came between."""

    @wraps(function)
    def read_until_whole(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(_READS - 1):
            with suppress(ReplacedContent):
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    return read_until_whole


def blob_is_missing(sha: str) -> StorageUnavailable:
    """The error of a content whose blob is not in blob storage: the file exists, so it is not `not_found`."""
    return StorageUnavailable(f"The content {sha} is missing in blob storage. Restore it from a backup.")


def read(content: int, first: int = 0, last: int | None = None) -> Iterator[bytes]:
    """The bytes of a content in parts, or some of them."""
    rows = raw_sql.read(_READ, [content])
    if not rows:
        raise ReplacedContent
    sha, _, data = rows[0]
    if data is not None:
        return iter([bytes(data)[first:last]])
    try:
        return blobs.of_instance().read(sha, first, last)
    except NotFound:
        raise blob_is_missing(sha) from None


def joined(content: int, size: int, added: NewContent) -> NewContent:
    """The bytes of a content with more at their end; put into blob storage if they are large."""
    more = added.parts()
    if size + added.size <= INLINE_BYTES:
        return NewContent.of(b"".join((*read(content), *more)))
    limit = config.current().MAX_FILE_BYTES
    if size + added.size > limit:
        raise limit_messages.too_large("A file", limit=limit, raised_by="MAX_FILE_BYTES")
    blob = blobs.of_instance().put(chain(read(content), more))
    return NewContent(blob.digest, blob.size)


def read_all(content: int, most: int | None = None) -> bytes:
    """The bytes of a content, at most so many."""
    return b"".join(read(content, 0, most))


def referenced(digests: Collection[str]) -> set[str]:
    """Those of the digests that are the blob of some content."""
    return set(Content.objects.filter(sha__in=list(digests), data=None).values_list("sha", flat=True))
