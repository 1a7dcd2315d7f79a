"""Watching keys: what changed since a position of the event log, waiting for it if nothing has.

One follower of the log per process looks whether it has grown; those who wait are woken and read on from where
each of them is. What a caller may read is looked up after the events were read and again every second while it
waits, so a right that ended shows nothing any more, and one that was given shows at once.
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

KINDS = ("kv", "lock", "queue", "board")  # the first words of what is told
# Watches of a process: each keeps one of its threads.
MAX_WATCHES = 8
# Of these, the most that one agent or person has, and the most of one space.
MAX_EACH, MAX_SPACE = 2, 4
MAX_WAIT_SECONDS = 60.0
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # how long a right that ended may go unnoticed while nothing happens
PAGE = 500  # events looked at in one step

Who = Callable[[], Principal]  # asks anew who the caller is and what it holds


@dataclass(frozen=True)
class WatchRequest:
    """What somebody wants to hear of."""

    where: NamespaceName
    pattern: str

    def shows(self, principal: Principal, change: LoggedEvent) -> bool:
        if change.kind.partition(".")[0] not in KINDS or change.data.get("in") != str(self.where):
            return False
        key = change.data.get("key")
        if key is None:  # of the board as a whole
            return namespaces.reads_something(principal, self.where)
        return compile_glob(self.pattern).matches(key) and namespaces.reader(principal, self.where)(key)


def watch(where: Any, pattern: str | None) -> WatchRequest:
    return WatchRequest(namespaces.place(where), check_pattern(pattern or "*"))


def check(principal: Principal, what: WatchRequest) -> None:
    """To watch takes the capability to read something there."""
    if not namespaces.reads_something(principal, what.where):
        authorise(principal, what.where.operation(principal, "read"), None, action="kv.watch")
    if principal.space is None:
        raise Invalid("Name a space.", field="space")


def start(since: str | None) -> Position:
    """Where a watch begins: behind a position it knows, or now."""
    head = events.head()
    if since is None:
        return head
    position = Position.parse(since)
    if position > head:
        raise Invalid("The log has not come that far. Begin anew, without since.", field="since")
    horizon = WatchLimit.objects.first()
    if horizon is not None and position < Position(horizon.xid, horizon.event):
        raise Gone(since=since)
    return position


def look(who: Who, what: WatchRequest, position: Position) -> tuple[list[dict[str, Any]], Position]:
    """What the caller may see of the next events, and where to go on."""
    space = None
    found: list[LoggedEvent] = []
    head = events.head()
    principal = who()
    if position < head:
        space = principal.space
        found, after = events.follow(position, space=space, limit=PAGE)
        position = after if len(found) == PAGE else max(after, head)
        principal = who()  # later than the events: what is written after a revocation is not shown
    check(principal, what)
    return [shape(change) for change in found if what.shows(principal, change)], position


def shape(change: LoggedEvent) -> dict[str, Any]:
    data = {name: value for name, value in change.data.items() if name != "in"}
    return {
        "kind": change.kind,
        "in": change.data["in"],
        **data,
        "actor": change.actor,
        "at": clock.rfc3339(change.at),
        "position": str(change.position),
    }


def poll(who: Who, what: WatchRequest, since: str | None, wait: float) -> dict[str, Any]:
    """Changes since a position; none yet, then wait for some. The answer's position is where to go on."""
    if not 0 <= wait <= MAX_WAIT_SECONDS:
        raise Invalid(f"wait is 0 to {MAX_WAIT_SECONDS:.0f} seconds.", field="wait")
    principal = who()
    check(principal, what)
    position, until = start(since), time.monotonic() + wait
    with _place(principal):
        while True:
            found, position = look(who, what, position)
            left = until - time.monotonic()
            if found or left <= 0:
                return {"changes": found, "count": len(found), "position": str(position)}
            follower.wait(position, min(left, CHECK_SECONDS))


class Stream:
    """Changes as they come, for so many seconds; None when there is nothing to say for a while.

    Its place is taken when it is made, not when the first line is asked for: a caller too many hears 503 at once.
    """

    def __init__(self, who: Who, what: WatchRequest, since: str | None, *, lasts: float) -> None:
        principal = who()
        check(principal, what)
        self._who, self._what, self._position, self._lasts = who, what, start(since), lasts
        self._leave: Callable[[], None] | None = _take_place(principal)

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        until = time.monotonic() + self._lasts
        try:
            yield {"kind": "watch.open", "position": str(self._position)}
            while time.monotonic() < until:
                found, self._position = look(self._who, self._what, self._position)
                yield from found
                if not found:
                    yield None
                follower.wait(self._position, CHECK_SECONDS)
        finally:
            self.close()

    def close(self) -> None:
        """Let the place go, once, also if nobody ever asked for a line."""
        leave, self._leave = self._leave, None
        if leave is not None:
            leave()


# At most so many at once ---------------------------------------------------------------------------

_taken: list[tuple[int | None, str]] = []  # space and actor of each watch under way
_counting = threading.Lock()


def _take_place(principal: Principal) -> Callable[[], None]:
    """A place among the watches of this process, or a refusal that names the bound; what gives it back."""
    own = (principal.space, principal.actor)
    with _counting:
        if _taken.count(own) >= MAX_EACH:
            raise _too_many("watches of one agent or person", MAX_EACH)
        if sum(space == principal.space for space, _ in _taken) >= MAX_SPACE:
            raise _too_many("watches of one space", MAX_SPACE)
        if len(_taken) >= MAX_WATCHES:
            raise Busy(f"{MAX_WATCHES} watches are open in this process. Try again.", retry_after=5, limit=MAX_WATCHES)
        _taken.append(own)

    def leave() -> None:
        with _counting:
            _taken.remove(own)

    return leave


def _too_many(what: str, limit: int) -> RateLimited:
    return limit_messages.at_once_reached(
        what, limit=limit, raised_by=None, wait=5, do="End one first", error=TooManyWatches
    )


@contextmanager
def _place(principal: Principal) -> Iterator[None]:
    leave = _take_place(principal)
    try:
        yield
    finally:
        leave()


class Follower:
    """Looks at the head of the log for all who wait in this process, and only while somebody does."""

    def __init__(self) -> None:
        self._bell = threading.Condition()
        self._head = Position()
        self._waiting = 0
        self._thread: threading.Thread | None = None

    def wait(self, position: Position, seconds: float) -> None:
        """Return when the log has grown beyond the position, or after so long."""
        free_connection()
        with self._bell:
            self._waiting += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._follow, name="watch-follower", daemon=True)
                self._thread.start()
            try:
                self._bell.wait_for(lambda: self._head > position, timeout=seconds)
            finally:
                self._waiting -= 1

    def _follow(self) -> None:
        try:
            idle = 0
            while idle < 5:  # a stream comes back at once: the thread outlives a pause
                try:
                    close_old_connections()
                    head = events.head()
                    free_connection()
                except Exception as error:
                    if not self._waiting:
                        return
                    # Those who wait look themselves every second, and hear what is wrong.
                    log.warning("a follower of the log cannot look: %s", error_place(error))
                    head = self._head
                with self._bell:
                    idle = idle + 1 if not self._waiting else 0
                    if head != self._head:
                        self._head = head
                        self._bell.notify_all()
                time.sleep(POLL_SECONDS)
        finally:
            connection.close()


follower = Follower()
