"""Store on a server, as MemoryStore uses it. Each write is sent at once.

The transcript is compared with what the server is known to have: messages that are new in the list are appended, those
that are no longer in it are removed by their numbers. Messages of other writers are never touched, and are added to the
list at their places.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from flux import paths
from flux.calls.store_answers import FileFacts, FileVersion, FileWritten, StoreEvent, StoreFacts
from flux.client import FluxClient
from flux.errors import FluxError
from flux.memory import transcript, tree
from flux.memory.errors import MemoryStoreError
from flux.memory.transcript import MessageText
from flux.memory.tree import MemoryMeta, stamp
from fluxcore.errors import Forbidden, Gone, Invalid, NotFound, RateLimited

PAGE = 1_000  # files, versions, messages or events of one answer
BATCH_BYTES = 1024 * 1024  # of messages in one request, well below what a server accepts
FLUSH_WAITS = 600.0  # seconds that one flush waits for the limit of messages in a minute, in total


def client_of(client: FluxClient | None) -> FluxClient:
    """The given client, or one with FLUX_URL and FLUX_TOKEN, shared by all stores of the process."""
    return client or _shared_client(os.environ.get("FLUX_URL"), os.environ.get("FLUX_TOKEN"), os.getpid())


@functools.lru_cache(maxsize=16)
def _shared_client(url: str | None, token: str | None, process: int) -> FluxClient:
    return FluxClient(url, token)


class KeyedStore:
    """Files, facts, log and transcript of one store."""

    def __init__(self, client: FluxClient, store: str) -> None:
        self.client, self.store = client, store
        self._known: dict[int, MessageText] = {}  # messages the server has, by number
        self._read_to = 0  # all messages up to this number are known
        self._unanswered: tuple[str, list[MessageText]] | None = (
            None  # idempotency key and messages that may have arrived
        )
        self._total = 0  # messages of the transcript, as the last answer has it
        self._readable = True
        self._lock = threading.Lock()

    def facts(self) -> StoreFacts:
        return self.client.get_store(self.store)

    def read(self, path: str) -> bytes | None:
        try:
            return self.client.get_file(self.store, path)
        except NotFound as error:
            _check_store(error)
        if self._is_folder(path):
            raise IsADirectoryError(f"{path!r} is a folder.")
        return None

    def write(self, path: str, content: bytes, actor: str, reason: str, expected_sha: str | None) -> MemoryMeta:
        written = self.client.put_file(
            self.store, path, content, actor=actor, reason=reason or None, expected_sha=expected_sha
        )
        found = None if written["changed"] else self._facts_of_content(path)
        return found if found and found.sha256 == written["sha"] else _meta(written, actor, reason)

    def _facts_of_content(self, path: str) -> MemoryMeta | None:
        """Who wrote a content first, as far as the token may read it. The write is done in any case."""
        try:
            return self.meta(path)
        except (FluxError, MemoryStoreError):
            return None

    def read_version(self, name: str) -> bytes | None:
        """The content of a version that is kept, by the name that the log has for it."""
        path = tree.path_of_version(name)
        for row in self._versions(path):
            if row["kept"] and paths.version_file(path, datetime.fromisoformat(row["at"]), row["sha"]) == name:
                try:
                    return self.client.get_file(self.store, path, version=row["version"])
                except (NotFound, Gone):
                    return None  # removed meanwhile
        return None

    def _versions(self, path: str) -> Iterator[FileVersion]:
        """All versions of a file, newest first."""
        before = None
        while before is None or before > 1:
            try:
                rows = self.client.file_versions(self.store, path, limit=PAGE, before=before)["versions"]
            except NotFound as error:
                _check_store(error)
                return
            if not rows:
                return
            yield from rows
            before = rows[-1]["version"]

    def sha(self, path: str) -> str:
        found = self._file_facts(path)
        return found["sha"] if found else ""

    def meta(self, path: str) -> MemoryMeta | None:
        found = self._file_facts(path)
        return _meta(found, found["actor"] or found["updated_by"], found["reason"]) if found else None

    def exists(self, path: str) -> bool:
        return self._file_facts(path) is not None or self._is_folder(path)

    def paths(self, prefix: str) -> list[str]:
        """Files below a folder."""
        found, cursor = list[str](), None
        while True:
            page = self.client.list_files(self.store, prefix or None, limit=PAGE, cursor=cursor)
            found += [file["path"] for file in page["files"] if file["path"] != prefix]
            cursor = page["next_cursor"]
            if cursor is None:
                return sorted(found)

    def tail(self, count: int) -> list[dict[str, Any]]:
        """The newest events of files, as flyte's log has no others; all if `count` is not positive."""
        found, before = list[StoreEvent](), None
        while True:
            page = self.client.store_audit(
                self.store, min(count - len(found), PAGE) if count > 0 else PAGE, before=before
            )
            found = [event for event in page["events"] if event["path"] != paths.MESSAGES] + found
            before = page["next_before"]
            if before is None or len(found) == count:
                return [{**event, "ts": stamp(datetime.fromisoformat(event["ts"]))} for event in found]

    def _file_facts(self, path: str) -> FileFacts | None:
        try:
            return self.client.file_facts(self.store, path)
        except NotFound as error:
            _check_store(error)
            return None

    def _is_folder(self, path: str) -> bool:
        return bool(self.client.list_files(self.store, path, limit=1)["files"])

    def load(self) -> list[dict[str, Any]]:
        """The transcript; an empty one if the token may not read it."""
        with self._lock:
            try:
                self._read_all()
            except Forbidden:
                self._readable = False
            return [text.message() for text in self._known.values()]

    def flush(self, messages: list[dict[str, Any]]) -> None:
        """Bring list and server together. When it returns the server has all changes of the list."""
        with self._lock:
            waits = _Waits(FLUSH_WAITS)
            if self._unanswered is not None:
                self._send_when_allowed(*self._unanswered, waits)
            snapshot = list(messages)
            mine = transcript.texts(snapshot)
            transcript.check_sendable(mine)
            self._sort()
            numbers = list(self._known)
            kept, added = transcript.difference(list(self._known.values()), mine)
            still = [numbers[at] for at in kept]
            for batch in _batches(added):
                still += self._send_all(batch, waits)
            # Last, so that a flush that fails in the middle has lost nothing; the next one removes them.
            self._remove(set(numbers) - set(still))
            if not added or self._read_to < still[-1] or self._total != len(self._known):
                self._catch_up()
            if list(self._known) != still:
                own = dict(zip(still, snapshot, strict=True))
                messages[: len(snapshot)] = [
                    own[number] if number in own else text.message() for number, text in self._known.items()
                ]

    def numbers(self) -> list[int]:
        """Numbers of the messages of the transcript, as of the last flush."""
        return list(self._known)

    def assume(self, numbers: list[int], messages: list[dict[str, Any]]) -> None:
        """Continue from a transcript that was flushed elsewhere."""
        self._known = dict(zip(numbers, transcript.texts(messages), strict=True))
        self._read_to = max(numbers, default=0)

    def _send_all(self, batch: list[MessageText], waits: _Waits) -> list[int]:
        """Append messages in as many requests as the server's limit of a minute needs."""
        numbers, most = list[int](), len(batch)
        while len(numbers) < len(batch):
            part = batch[len(numbers) : len(numbers) + most]
            try:
                numbers += self._send_when_allowed(uuid.uuid4().hex, part, waits)
            except Invalid as error:
                limit = error.details.get("limit")
                if not isinstance(limit, int) or not 0 < limit < len(part):
                    raise
                most = limit  # a minute has room for no more than that
        return numbers

    def _send_when_allowed(self, key: str, batch: list[MessageText], waits: _Waits) -> list[int]:
        while True:
            try:
                return self._send(key, batch)
            except RateLimited as error:
                waits.wait(error)

    def _send(self, key: str, batch: list[MessageText]) -> list[int]:
        """Append messages. A batch without an answer is sent again with its key, so that it counts once."""
        self._unanswered = (key, batch)
        try:
            answer = self.client.append_messages(self.store, [text.message() for text in batch], idempotency_key=key)
        except FluxError as error:
            if error.status < 500:  # refused: it did not arrive
                self._unanswered = None
            raise
        self._unanswered = None
        numbers, self._total = answer["seqs"], answer["total"]
        self._known |= dict(zip(numbers, batch, strict=True))
        if numbers[0] == self._read_to + 1:  # nobody else wrote meanwhile
            self._read_to = numbers[-1]
        return numbers

    def _remove(self, numbers: Iterable[int]) -> None:
        wanted = sorted(numbers)
        for first in range(0, len(wanted), PAGE):
            batch = wanted[first : first + PAGE]
            self._total = self.client.pop_messages(self.store, seqs=batch)["total"]
            for number in batch:
                del self._known[number]

    def _catch_up(self) -> None:
        """Read what others appended. If they also removed messages, read the whole transcript."""
        if not self._readable:
            return
        self._read(self._read_to)
        if self._total != len(self._known):
            self._read_all()
        self._sort()

    def _read_all(self) -> None:
        before, self._known = self._known, {}
        self._read(0)
        self._known = {number: before.get(number, text) for number, text in self._known.items()}

    def _read(self, after: int | None) -> None:
        """Read the messages with higher numbers."""
        while after is not None:
            page = self.client.read_messages(self.store, after=after, limit=PAGE)
            for one in page["messages"]:
                self._known.setdefault(one["seq"], transcript.message_text(one["message"], one["seq"]))
                self._read_to = max(self._read_to, one["seq"])
            after, self._total = page["next_after"], page["total"]

    def _sort(self) -> None:
        self._known = dict(sorted(self._known.items()))


class _Waits:
    """Waits between the requests of one flush, limited in total."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def wait(self, error: RateLimited) -> None:
        """Wait as long as the server says; raise its refusal if that is too long."""
        seconds = 1.0 if error.retry_after is None else error.retry_after
        if seconds > self.left:
            raise error
        self.left -= seconds
        _wait(seconds)


def _batches(texts: list[MessageText]) -> Iterator[list[MessageText]]:
    """Messages in requests of a bounded size."""
    batch, size = list[MessageText](), 0
    for text in texts:
        length = len(text.whole.encode("utf-8", "surrogatepass"))
        if batch and (len(batch) == PAGE or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _check_store(error: NotFound) -> None:
    """A store that is gone is no missing file."""
    if "store" in error.details:
        raise MemoryStoreError(error.message) from error


def _meta(facts: FileFacts | FileWritten, actor: str, reason: str) -> MemoryMeta:
    updated_at = stamp(datetime.fromisoformat(facts["updated_at"]))
    return MemoryMeta(facts["path"], facts["sha"], updated_at, actor, reason, facts["bytes"])


def _wait(seconds: float) -> None:
    time.sleep(seconds)
