"""Store on a server, as MemoryStore uses it. Each write is sent at once.

The transcript is compared with what the server is known to have: messages that are new in the list are appended, those
that are no longer in it are removed by their numbers. Messages of other writers are never touched, and are added to the
list at their places.
"""

from __future__ import annotations

import functools
import json
import os
import threading
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from flux.calls.store_answers import FileFacts, FileWritten, StoreFacts
from flux.client import FluxClient
from flux.errors import FluxError
from flux.memory import transcript
from flux.memory.errors import MemoryStoreError
from flux.memory.tree import MemoryMeta, stamp
from fluxcore.errors import Forbidden, NotFound

PAGE = 1_000  # files, messages or events of one answer
BATCH_BYTES = 1024 * 1024  # of messages in one request, well below what a server accepts


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
        self._known: dict[int, str] = {}  # messages the server has, by number
        self._read_to = 0  # all messages up to this number are known
        self._unanswered: tuple[str, list[str]] | None = None  # idempotency key and messages that may have arrived
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
        found = None if written["changed"] else self.meta(path)  # of the write that made this content
        return found or _meta(written, actor, reason)

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
        """The newest events; all that one answer may have if `count` is not positive."""
        events = self.client.store_audit(self.store, min(count, PAGE) if count > 0 else PAGE)["events"]
        return [{**event, "ts": stamp(datetime.fromisoformat(event["ts"]))} for event in events]

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
            return [json.loads(text) for text in self._known.values()]

    def flush(self, messages: list[dict[str, Any]]) -> None:
        """Bring list and server together. When it returns the server has all changes of the list."""
        with self._lock:
            if self._unanswered is not None:
                self._send(*self._unanswered)
            snapshot = list(messages)
            mine = transcript.texts(snapshot)
            self._sort()
            numbers = list(self._known)
            kept, added = transcript.difference(list(self._known.values()), mine)
            still = [numbers[at] for at in kept]
            for batch in _batches(added):
                still += self._send(uuid.uuid4().hex, batch)
            # Last, so that a flush that fails in the middle has lost nothing; the next one removes them.
            self._remove(set(numbers) - set(still))
            if not added or self._read_to < still[-1] or self._total != len(self._known):
                self._catch_up()
            if list(self._known) != still:
                own = dict(zip(still, snapshot, strict=True))
                messages[: len(snapshot)] = [
                    own[number] if number in own else json.loads(text) for number, text in self._known.items()
                ]

    def numbers(self) -> list[int]:
        """Numbers of the messages of the transcript, as of the last flush."""
        return list(self._known)

    def assume(self, numbers: list[int], messages: list[dict[str, Any]]) -> None:
        """Continue from a transcript that was flushed elsewhere."""
        self._known = dict(zip(numbers, transcript.texts(messages), strict=True))
        self._read_to = max(numbers, default=0)

    def _send(self, key: str, batch: list[str]) -> list[int]:
        """Append messages. A batch without an answer is sent again with its key, so that it counts once."""
        self._unanswered = (key, batch)
        try:
            answer = self.client.append_messages(self.store, [json.loads(text) for text in batch], idempotency_key=key)
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


def _batches(texts: list[str]) -> Iterator[list[str]]:
    """Messages in requests of a bounded size."""
    batch, size = list[str](), 0
    for text in texts:
        if batch and (len(batch) == PAGE or size + len(text.encode("utf-8", "surrogatepass")) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text.encode("utf-8", "surrogatepass"))
    if batch:
        yield batch


def _check_store(error: NotFound) -> None:
    """A store that is gone is no missing file."""
    if "store" in error.details:
        raise MemoryStoreError(error.message) from error


def _meta(facts: FileFacts | FileWritten, actor: str, reason: str) -> MemoryMeta:
    updated_at = stamp(datetime.fromisoformat(facts["updated_at"]))
    return MemoryMeta(facts["path"], facts["sha"], updated_at, actor, reason, facts["bytes"])
