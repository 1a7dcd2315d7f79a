"""Live feed of events: one follower of the event log for all sockets of a process.

Five times a second one statement checks whether the log has grown; where commits are announced (`Feed.wake`), less
often and at once. New events are sent after the right to see them was checked again, later than they were read: an
event that is written after a revocation has returned is not sent to anybody whose right was revoked.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

from django.conf import settings
from django.db import DatabaseError, InterfaceError, close_old_connections, connection

from fluxcore import clock, events
from fluxcore.db_errors import error_place
from fluxcore.errors import Busy, FluxError, Forbidden, Unauthenticated
from fluxcore.events import LoggedEvent, Position
from fluxcore.writes import limit_messages

log = logging.getLogger(__name__)

POLL_SECONDS = 0.2
CHECK_SECONDS = 0.6  # a revoked right is noticed within this, plus a poll and the time of a check
BLIND_SECONDS = 3.0  # without an answer of the database for longer, the sockets are closed
PAGE = 200  # events sent to a socket at once; it gets more after it has taken them


class LiveMessage(TypedDict):
    """A message to a socket. To continue after a disconnect, pass its `position` as `?since=`."""

    kind: str
    at: str | None
    actor: str
    subject: str
    data: dict[str, Any]
    position: str


class CloseReason(NamedTuple):
    """Reason for closing a socket: a code for programs and a sentence for people."""

    code: int
    reason: str


SIGNED_OUT = CloseReason(4401, "The token or session has ended.")
NOT_ALLOWED = CloseReason(4403, "You no longer have access to this space.")
BLIND = CloseReason(1013, "The database does not answer. Try again later.")
BROKEN = CloseReason(1011, "Internal error.")

Shows = Callable[[LoggedEvent], bool]
Listen = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class LiveSubscriber:
    """A person or agent that follows a space, with a function that checks whether they still may."""

    owner: str  # sockets are counted per owner
    credential: str  # sockets with the same one are checked together
    space: int
    actor: str
    where: str  # name of the space
    rights: Callable[[], Shows]  # reads from the database what to show; raises if the right has ended
    since: Position | None = None


@dataclass(eq=False)
class Socket:
    """An open socket: its position in the log and the page of messages to send next."""

    subscriber: LiveSubscriber
    position: Position
    checked: float
    ending: asyncio.Future[CloseReason]
    page: list[str] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, page: list[str], position: Position) -> None:
        self.position = position
        if page:
            self.page = page
            self.arrived.set()

    def taken(self) -> None:
        self.page = []
        self.arrived.clear()

    def end(self, ending: CloseReason) -> None:
        if not self.ending.done():
            self.ending.set_result(ending)


class _Found(NamedTuple):
    """Result of one read of the database: pages by space and position, verdicts by credential."""

    pages: dict[tuple[int, Position], tuple[list[tuple[LoggedEvent, str]], Position]]
    verdicts: dict[str, Shows | CloseReason]


class Feed:
    """The sockets of this process and their follower, which reads the database only while there are any."""

    def __init__(self) -> None:
        self.sockets: set[Socket] = set()
        self._owners: Counter[str] = Counter()
        self._follower: asyncio.Task[None] | None = None
        self._announced = asyncio.Event()
        self._listen: Listen | None = None
        self._idle_seconds = POLL_SECONDS

    def use(self, listen: Listen, *, from_everywhere: bool) -> None:
        """Set the listener for announcements of commits, and whether it hears those of all processes."""
        self._listen = listen
        self._idle_seconds = CHECK_SECONDS if from_everywhere else POLL_SECONDS

    def wake(self) -> None:
        """Read the log soon, after a commit was announced. Call in the event loop of the follower."""
        self._announced.set()

    def join(self, subscriber: LiveSubscriber, position: Position) -> Socket:
        if len(self.sockets) >= settings.LIVE_SOCKETS:
            raise Busy("Too many live feeds are open. Try again in a minute.", retry_after=60)
        if self._owners[subscriber.owner] >= settings.LIVE_SOCKETS_EACH:
            raise limit_messages.at_once_reached(
                "live feeds of one agent or person",
                limit=settings.LIVE_SOCKETS_EACH,
                raised_by="FLUX_LIVE_SOCKETS_EACH",
                wait=10,
                do="Close one first",
            )
        loop = asyncio.get_running_loop()
        socket = Socket(subscriber, position, loop.time(), loop.create_future())
        self.sockets.add(socket)
        self._owners[subscriber.owner] += 1
        if self._follower is None or self._follower.done():
            self._follower = loop.create_task(self._follow())
        return socket

    def leave(self, socket: Socket) -> None:
        self.sockets.discard(socket)
        self._owners[socket.subscriber.owner] -= 1
        self._owners += Counter()  # drops the zeros

    async def _follow(self) -> None:
        # A separate thread keeps its database connection, and no other work can delay a check.
        thread = ThreadPoolExecutor(1, "live-feed")
        loop = asyncio.get_running_loop()
        self._announced = asyncio.Event()  # created here because it belongs to the loop it is first awaited in
        listening = loop.create_task(self._listen(self.wake)) if self._listen is not None else None
        try:
            while self.sockets:
                more, began = False, loop.time()
                try:
                    more = await self._round(thread)
                except (DatabaseError, InterfaceError) as error:
                    log.warning("the live feed cannot read the database: %s", error_place(error))
                except Exception as error:
                    log.error("the live feed failed: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
                self._close_unchecked(loop.time())
                await (asyncio.sleep(0) if more else self._pause(began))
        finally:
            if listening is not None:
                listening.cancel()
            thread.submit(connection.close)
            thread.shutdown(wait=False)

    async def _pause(self, began: float) -> None:
        """Sleep until a commit is announced or a right must be checked; two reads are at least a poll apart."""
        now = asyncio.get_running_loop().time()
        unchecked = min((socket.checked for socket in self.sockets), default=now) + CHECK_SECONDS
        try:
            async with asyncio.timeout(min(self._idle_seconds, max(unchecked - now, POLL_SECONDS / 4))):
                await self._announced.wait()
        except TimeoutError:
            return
        # Commits in quick succession are read together.
        await asyncio.sleep(began + POLL_SECONDS - asyncio.get_running_loop().time())
        self._announced.clear()

    async def _round(self, thread: ThreadPoolExecutor) -> bool:
        """Read the log once and pass new events to the sockets. True if a socket has more events to read."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        sockets = list(self.sockets)
        places = {
            socket: (socket.subscriber.space, socket.position) for socket in sockets if not socket.arrived.is_set()
        }
        due = {
            socket.subscriber.credential
            for socket in sockets
            if now - socket.checked >= CHECK_SECONDS - POLL_SECONDS / 2
        }
        reading = loop.run_in_executor(thread, look, sockets, places, due)
        while not reading.done():
            await asyncio.wait({reading}, timeout=1.0)
            self._close_unchecked(loop.time())
        found = reading.result()
        more = False
        for socket in sockets:
            verdict = found.verdicts.get(socket.subscriber.credential)
            if isinstance(verdict, CloseReason):
                socket.end(verdict)
                continue
            if verdict is not None:
                socket.checked = now
            place = places.get(socket)
            if place in found.pages and verdict is not None:
                page, position = found.pages[place]
                socket.take([text for change, text in page if verdict(change)], position)
                more = more or len(page) == PAGE
        return more

    def _close_unchecked(self, now: float) -> None:
        for socket in self.sockets:
            if now - socket.checked > BLIND_SECONDS:
                socket.end(BLIND)


def look(sockets: list[Socket], places: dict[Socket, tuple[int, Position]], due: set[str]) -> _Found:
    """Read new events and due rights from the database, for these sockets."""
    close_old_connections()
    try:
        head = events.head()
        pages = {place: _page(*place, head) for place in set(places.values()) if place[1] < head}
        wanted = {
            socket.subscriber.credential: socket.subscriber.rights
            for socket in sockets
            if socket.subscriber.credential in due or (socket in places and places[socket] in pages)
        }
        return _Found(pages, {credential: _verdict(rights) for credential, rights in wanted.items()})
    finally:
        close_old_connections()


def _page(space: int, position: Position, head: Position) -> tuple[list[tuple[LoggedEvent, str]], Position]:
    changes, position = events.follow(position, space=space, limit=PAGE)
    if len(changes) < PAGE:
        # All events of this space up to the head were read, so that all its sockets continue from the same position.
        position = max(position, head)
    return [(change, encoded(change)) for change in changes], position


def _verdict(rights: Callable[[], Shows]) -> Shows | CloseReason:
    try:
        return rights()
    except Unauthenticated:
        return SIGNED_OUT
    except Forbidden:
        return NOT_ALLOWED
    except FluxError:
        return BLIND  # nothing is known about the right, for example because the write queue is full
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:
        log.error("a right could not be checked: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
        return BROKEN  # closes only their sockets


def encoded(change: LoggedEvent) -> str:
    return spoken(
        LiveMessage(
            kind=change.kind,
            at=clock.rfc3339(change.at),
            actor=change.actor,
            subject=change.subject,
            data=change.data,
            position=str(change.position),
        )
    )


def spoken(message: LiveMessage) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


feed = Feed()
