"""Watching of keys, locks, queues and boards: changes since a position of the event log, by long poll or as a stream.

One thread per process follows the head of the log and wakes the waiting watches, which read on from their positions.
Capabilities are checked after the events were read and every second while a watch waits, so that a revoked one shows
nothing more and a granted one takes effect at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import close_old_connections, connection

from accounts.authorise import authorise
from accounts.principals import Principal
from fluxcore import clock, events
from fluxcore.db_errors import error_place
from fluxcore.errors import Busy, Gone, Invalid, RateLimited, TooManyWatches
from fluxcore.events import LoggedEvent, Position
from fluxcore.fair_queue import free_connection
from fluxcore.globs import compile_glob
from fluxcore.writes import limit_messages
from memory.keyvalue import namespaces
from memory.keyvalue.models import WatchLimit
from memory.keyvalue.namespaces import NamespaceName
from memory.keyvalue.validation import check_pattern

log = logging.getLogger(__name__)

KINDS = ("kv", "lock", "queue", "board")  # first words of the kinds of events that are shown
# Watches of a process, at most: each occupies a thread.
MAX_WATCHES = 8
MAX_EACH = 2  # watches of one agent or person in a process
MAX_SPACE = 4  # watches of one space in a process
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # time between checks of capabilities while a watch waits
PAGE = 500  # events read at once

Who = Callable[[], Principal]  # reads the caller and its capabilities again


@dataclass(frozen=True)
class WatchRequest:
    """The place and the pattern of keys that are watched."""

    where: NamespaceName
    pattern: str

    def matches(self, principal: Principal, change: LoggedEvent) -> bool:
        if change.kind.partition(".")[0] not in KINDS or change.data.get("in") != str(self.where):
            return False
        key = change.data.get("key")
        if key is None:  # an event of the whole board
            return namespaces.reads_something(principal, self.where)
        return compile_glob(self.pattern).matches(key) and namespaces.reader(principal, self.where)(key)


def watch(where: Any, pattern: str | None) -> WatchRequest:
    return WatchRequest(namespaces.place(where), check_pattern(pattern or "*"))


def check(principal: Principal, request: WatchRequest) -> None:
    """Refuse a watch without the capability to read some key there."""
    if not namespaces.reads_something(principal, request.where):
        authorise(principal, request.where.operation(principal, "read"), None, action="kv.watch")
    if principal.space is None:
        raise Invalid("The space is missing: add space.", field="space")


def start(since: str | None) -> Position:
    """The position a watch begins at: `since`, or the head of the log."""
    head = events.head()
    if since is None:
        return head
    position = Position.parse(since)
    if position > head:
        raise Invalid("Position is ahead of the log. Watch without `since`.", field="since")
    limit = WatchLimit.objects.first()
    if limit is not None and position < Position(limit.xid, limit.event):
        raise Gone(since=since)
    return position


def read_changes(who: Who, request: WatchRequest, position: Position) -> tuple[list[dict[str, Any]], Position]:
    """The next events the caller may see, and the position to continue from."""
    changes: list[LoggedEvent] = []
    head = events.head()
    principal = who()
    if position < head:
        changes, last = events.follow(position, space=principal.space, limit=PAGE)
        position = last if len(changes) == PAGE else max(last, head)
        principal = who()  # read after the events, so that nothing written after a revocation is shown
    check(principal, request)
    return [change_facts(change) for change in changes if request.matches(principal, change)], position


def change_facts(change: LoggedEvent) -> dict[str, Any]:
    """A change as answers show it."""
    data = {name: value for name, value in change.data.items() if name != "in"}
    return {
        "kind": change.kind,
        "in": change.data["in"],
        **data,
        "actor": change.actor,
        "at": clock.rfc3339(change.at),
        "position": str(change.position),
    }


def poll(who: Who, request: WatchRequest, since: str | None, wait: float) -> dict[str, Any]:
    """Changes since a position, waiting up to `wait` seconds for the first; with the position to continue from."""
    if not 0 <= wait <= MAX_WAIT_SECONDS:
        raise Invalid(f"wait must be 0 to {MAX_WAIT_SECONDS:.0f} seconds.", field="wait")
    principal = who()
    check(principal, request)
    position, deadline = start(since), time.monotonic() + wait
    with _slot(principal):
        while True:
            changes, position = read_changes(who, request, position)
            seconds_left = deadline - time.monotonic()
            if changes or seconds_left <= 0:
                return {"changes": changes, "count": len(changes), "position": str(position)}
            follower.wait(position, min(seconds_left, CHECK_SECONDS))


class Stream:
    """Iterator of changes for a number of seconds; None after each second without a change.

    Its slot is acquired when it is created, not with the first change, so that a caller too many gets 503 at once.
    """

    def __init__(self, who: Who, request: WatchRequest, since: str | None, *, seconds: float) -> None:
        principal = who()
        check(principal, request)
        self._who, self._request, self._position, self._seconds = who, request, start(since), seconds
        self._release: Callable[[], None] | None = _acquire_slot(principal)

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        deadline = time.monotonic() + self._seconds
        try:
            yield {"kind": "watch.open", "position": str(self._position)}
            while time.monotonic() < deadline:
                changes, self._position = read_changes(self._who, self._request, self._position)
                yield from changes
                if not changes:
                    yield None
                follower.wait(self._position, CHECK_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        """Release the slot, once; also needed if nothing was ever read."""
        release, self._release = self._release, None
        if release is not None:
            release()


# Limits of simultaneous watches --------------------------------------------------------------------

_open_watches: list[tuple[int | None, str]] = []  # space and actor of each
_open_watches_lock = threading.Lock()


def _acquire_slot(principal: Principal) -> Callable[[], None]:
    """Count a watch of this process, or refuse it with the limit; a function that releases the slot."""
    watch_of = (principal.space, principal.actor)
    with _open_watches_lock:
        if _open_watches.count(watch_of) >= MAX_EACH:
            raise _too_many("watches of one agent or person", MAX_EACH)
        if sum(space == principal.space for space, _ in _open_watches) >= MAX_SPACE:
            raise _too_many("watches of one space", MAX_SPACE)
        if len(_open_watches) >= MAX_WATCHES:
            raise Busy(f"{MAX_WATCHES} watches are open in this process. Try again.", retry_after=5, limit=MAX_WATCHES)
        _open_watches.append(watch_of)

    def release() -> None:
        with _open_watches_lock:
            _open_watches.remove(watch_of)

    return release


def _too_many(what: str, limit: int) -> RateLimited:
    return limit_messages.at_once_reached(
        what, limit=limit, raised_by=None, wait=5, do="End one first", error=TooManyWatches
    )


@contextmanager
def _slot(principal: Principal) -> Iterator[None]:
    release = _acquire_slot(principal)
    try:
        yield
    finally:
        release()


class Follower:
    """Reads the head of the event log for all waiting watches of this process, while there are any."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._head = Position()
        self._waiting = 0
        self._thread: threading.Thread | None = None

    def wait(self, position: Position, seconds: float) -> None:
        """Return when the log has grown beyond the position, or after `seconds`."""
        free_connection()
        with self._condition:
            self._waiting += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._follow, name="watch-follower", daemon=True)
                self._thread.start()
            try:
                self._condition.wait_for(lambda: self._head > position, timeout=seconds)
            finally:
                self._waiting -= 1

    def _follow(self) -> None:
        try:
            idle = 0
            while idle < 5:  # streams wait again at once, so the thread survives short pauses
                try:
                    close_old_connections()
                    head = events.head()
                    free_connection()
                except Exception as error:
                    if not self._waiting:
                        return
                    # Waiting watches read for themselves every second and get the error.
                    log.warning("cannot read the head of the event log: %s", error_place(error))
                    head = self._head
                with self._condition:
                    idle = idle + 1 if not self._waiting else 0
                    if head != self._head:
                        self._head = head
                        self._condition.notify_all()
                time.sleep(POLL_SECONDS)
        finally:
            connection.close()


follower = Follower()
