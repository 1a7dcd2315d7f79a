"""Exact memory as objects: `AgentMemory` for an agent's own keys, `Blackboard` for shared ones, and its locks.

Each uses a `FluxClient`; `flux/exact_async.py` has the same for an `AsyncFluxClient`. The agent is the token's, unless
another one is named.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flux import errors
from flux.answers import BatchDone, Changed, Deleted, History, KeyPage, KeyValue, Lock, Written
from flux.client import FluxClient
from flux.errors import FluxError
from flux.rooms.null_arguments import NOT_GIVEN, must_expect

TRIES = 50  # maximum tries of cas_retry
PAUSE_SECONDS = 0.1  # between two tries to acquire a lock that is held


class _Keys:
    """Operations on the keys of one namespace."""

    _prefix: str

    def __init__(self, client: FluxClient) -> None:
        self.client = client

    @property
    def name(self) -> str:
        raise NotImplementedError

    def _call(self, what: str, *given: Any, **named: Any) -> Any:
        return getattr(self.client, f"{self._prefix}_{what}")(self.name, *given, **named)

    def entry(self, key: str) -> KeyValue | None:
        """The value with its version, expiry and writer; None if the key does not exist."""
        try:
            found: KeyValue = self._call("get", key)
        except errors.NotFound:
            return None
        return found

    def get(self, key: str, default: Any = None) -> Any:
        found = self.entry(key)
        return default if found is None else found["value"]

    def set(self, key: str, value: Any, *, ttl_secs: float | None = None, **named: Any) -> Written:
        done: Written = self._call("set", key, value, ttl_secs, **named)
        return done

    def cas(
        self,
        key: str,
        expected_version: int | None,
        value: Any,
        *,
        expected_value: Any = NOT_GIVEN,
        ttl_secs: float | None = None,
        **named: Any,
    ) -> Written:
        """Write if the version is as expected (0: absent; None: compare the value instead); else raise `Conflict`."""
        must_expect(expected_version, expected_value, named)
        done: Written = self._call(
            "set", key, value, ttl_secs, expected_version=expected_version, expected_value=expected_value, **named
        )
        return done

    def cas_retry(self, key: str, change: Callable[[Any], Any], *, default: Any = None, tries: int = TRIES) -> Any:
        """Replace the value by `change(value)`, again after each conflict; returns the value that was written."""
        for left in range(tries, 0, -1):
            found = self.entry(key)
            value = change(found["value"] if found else default)
            try:
                self.cas(key, found["version"] if found else 0, value)
            except errors.Conflict as refusal:
                if left == 1 or type(refusal) is not errors.Conflict:
                    raise
            else:
                return value
        raise ValueError("tries must be at least 1")

    def delete(self, key: str, expected_version: int | None = None, *, history: str | None = None) -> Deleted:
        """Delete a key; `history="forget"` purges its earlier versions too."""
        done: Deleted = self._call("delete", key, expected_version, history=history)
        return done

    def list(self, pattern: str | None = None, **named: Any) -> KeyPage:
        found: KeyPage = self._call("list", pattern, **named)
        return found

    def keys(self, pattern: str | None = None) -> Iterator[str]:
        """Iterate over all keys, page by page."""
        cursor: str | None = None
        while True:
            page = self.list(pattern, cursor=cursor)
            yield from (entry["key"] for entry in page["keys"])
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def touch(self, key: str, ttl_secs: float | None) -> Changed:
        return self._step("touch", key, ttl_secs=ttl_secs)

    def incr(self, key: str, by: float = 1) -> Any:
        return self._step("incr", key, by=by)["value"]

    def append(self, key: str, value: Any) -> Changed:
        return self._step("append", key, value=value)

    def restore(self, key: str, version: int) -> Changed:
        return self._step("restore", key, version=version)

    def patch(self, key: str, patch: Any) -> Changed:
        done: Changed = self._call("patch", key, patch)
        return done

    def history(self, key: str, version: int | None = None) -> History:
        found: History = self._call("history", key, version)
        return found

    def batch(self, operations: Sequence[Mapping[str, Any]]) -> BatchDone:
        """Change up to 100 keys in one transaction: all, or none."""
        done: BatchDone = self._call("batch", operations)
        return done

    def _step(self, op: str, key: str, **named: Any) -> Changed:
        done: Changed = self._call("change", key, op, **named)
        return done


class AgentMemory(_Keys):
    """An agent's own exact memory."""

    _prefix = "memory"

    def __init__(self, client: FluxClient, agent: str | None = None) -> None:
        super().__init__(client)
        self._agent = agent

    @property
    def name(self) -> str:
        if self._agent is None:
            self._agent = self.client.me()["agent"]
        return self._agent

    # Names of these methods in agentd.
    def memory_get(self, key: str) -> Any:
        return self.get(key)

    def memory_set(self, key: str, value: Any, ttl_secs: float | None = None) -> Written:
        return self.set(key, value, ttl_secs=ttl_secs)


class Blackboard(_Keys):
    """A board shared by agents, with its locks."""

    _prefix = "board"

    def __init__(self, client: FluxClient, board: str = "main") -> None:
        super().__init__(client)
        self._board = board

    @property
    def name(self) -> str:
        return self._board

    def cas_value(self, key: str, expected: Any, value: Any, *, ttl_secs: float | None = None) -> Written:
        """Compare and swap by value. None means absent: an expected None, or a new None, which deletes the key."""
        return self.cas(key, None, value, expected_value=expected, ttl_secs=ttl_secs)

    @contextmanager
    def lock(
        self, name: str, ttl_secs: float = 30.0, *, wait: float | None = 0.0, renew: bool = True
    ) -> Iterator[LockHandle]:
        """Hold a lock in a `with` block, renewed until its end. Waits up to `wait` seconds for it (None: no limit)."""
        held = LockHandle(self, self._acquire(name, ttl_secs, wait), ttl_secs)
        if renew:
            held.keep()
        try:
            yield held
        finally:
            held.release()

    def _acquire(self, name: str, ttl_secs: float, wait: float | None) -> Lock:
        until = None if wait is None else time.monotonic() + wait
        while True:
            try:
                return self.client.acquire_lock(name, ttl_secs, board=self.name)
            except errors.Held:
                if until is not None and time.monotonic() + PAUSE_SECONDS > until:
                    raise
                time.sleep(PAUSE_SECONDS)


class LockHandle:
    """A held lock. `token` increases with each holder; a write with `fence` is refused once the lock is lost."""

    def __init__(self, board: Blackboard, lock: Lock, ttl_secs: float) -> None:
        self.board, self.name, self.token, self._ttl = board, lock["lock"], lock["token"], ttl_secs
        self.lost = threading.Event()  # set when renewal was refused: another agent may hold it
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def fence(self) -> dict[str, Any]:
        return {"lock": self.name, "token": self.token}

    def set(self, key: str, value: Any, **named: Any) -> Written:
        """Write a key on the board, fenced by this lock."""
        return self.board.set(key, value, fence=self.fence, **named)

    def renew(self) -> None:
        self.board.client.renew_lock(self.name, self.token, self._ttl, board=self.board.name)

    def keep(self) -> None:
        """Start a thread that renews the lock every third of its lifetime."""
        self._thread = threading.Thread(target=self._renewing, name=f"lock {self.name}", daemon=True)
        self._thread.start()

    def _renewing(self) -> None:
        while not self._over.wait(self._ttl / 3):
            try:
                self.renew()
            except errors.Fenced:
                self.lost.set()
                return
            except FluxError:
                continue  # the server may answer again before the lock expires

    def release(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(self._ttl)
        try:
            self.board.client.release_lock(self.name, self.token, board=self.board.name)
        except errors.Fenced:
            self.lost.set()  # it has expired: there is nothing to release
