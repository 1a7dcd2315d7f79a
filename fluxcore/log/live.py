"""The live feed: one follower of the log for all sockets of a process, however many are open.

Five times a second one statement asks whether the log has grown; where commits are announced (`Feed.wake`), less often
and at once. Whatever is new is handed out after the right to see it was looked up again, later than the events
themselves: what is written after a revocation returned reaches nobody whose right was revoked.
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
CHECK_SECONDS = 0.4  # a right that ended is noticed within this, a poll and the time a check takes
BLIND_SECONDS = 3.0  # longer without an answer from the database, and the sockets are closed
PAGE = 200  # events a socket is handed at once; it gets more when it has taken them


class Message(TypedDict):
    """What a socket says. `position` is where to go on after a break: `?since=`."""

    kind: str
    at: str | None
    actor: str
    subject: str
    data: dict[str, Any]
    position: str


class CloseReason(NamedTuple):
    """Why a socket is closed, in numbers for programs and words for people."""

    code: int
    reason: str


SIGNED_OUT = CloseReason(4401, "The token or session has ended.")
NOT_ALLOWED = CloseReason(4403, "You may no longer follow this space.")
BLIND = CloseReason(1013, "The database does not answer. Try again later.")
BROKEN = CloseReason(1011, "Something failed inside the server.")

Shows = Callable[[LoggedEvent], bool]
Listen = Callable[[Callable[[], None]], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class LiveSubscriber:
    """Somebody who may follow a space, and how to find out whether they still may."""

    owner: str  # sockets are counted per owner
    credential: str  # sockets with the same one are asked about once
    space: int
    actor: str
    where: str  # the space's name
    rights: Callable[[], Shows]  # asks the database what to show; raises when it is nothing any more
    since: Position | None = None


@dataclass(eq=False)
class Socket:
    visitor: LiveSubscriber
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
    """What one look at the database brought."""

    pages: dict[tuple[int, Position], tuple[list[tuple[LoggedEvent, str]], Position]]
    verdicts: dict[str, Shows | CloseReason]


class Feed:
    """The sockets of this process. It looks at the database only while there are any."""

    def __init__(self) -> None:
        self.sockets: set[Socket] = set()
        self._owners: Counter[str] = Counter()
        self._follower: asyncio.Task[None] | None = None
        self._announced = asyncio.Event()
        self._listen: Listen | None = None
        self._idle_seconds = POLL_SECONDS

    def use(self, listen: Listen, *, from_everywhere: bool) -> None:
        """Say how announcements of commits are heard, and whether those of all processes are."""
        self._listen = listen
        self._idle_seconds = CHECK_SECONDS if from_everywhere else POLL_SECONDS

    def wake(self) -> None:
        """A commit was announced: look soon. Call in the loop of the follower."""
        self._announced.set()

    def join(self, visitor: LiveSubscriber, position: Position) -> Socket:
        if len(self.sockets) >= settings.LIVE_SOCKETS:
            raise Busy("Too many live feeds are open. Try again in a minute.", retry_after=60)
        if self._owners[visitor.owner] >= settings.LIVE_SOCKETS_EACH:
            raise limit_messages.at_once_reached(
                "live feeds of one agent or person",
                limit=settings.LIVE_SOCKETS_EACH,
                raised_by="FLUX_LIVE_SOCKETS_EACH",
                wait=10,
                do="Close one first",
            )
        loop = asyncio.get_running_loop()
        socket = Socket(visitor, position, loop.time(), loop.create_future())
        self.sockets.add(socket)
        self._owners[visitor.owner] += 1
        if self._follower is None or self._follower.done():
            self._follower = loop.create_task(self._follow())
        return socket

    def leave(self, socket: Socket) -> None:
        self.sockets.discard(socket)
        self._owners[socket.visitor.owner] -= 1
        self._owners += Counter()  # drops the zeros

    async def _follow(self) -> None:
        # A thread of its own keeps its database connection, and no other work can make a check late.
        thread = ThreadPoolExecutor(1, "live-feed")
        loop = asyncio.get_running_loop()
        self._announced = asyncio.Event()  # it belongs to the loop it is first awaited in
        listening = loop.create_task(self._listen(self.wake)) if self._listen is not None else None
        try:
            while self.sockets:
                more, began = False, loop.time()
                try:
                    more = await self._round(thread)
                except (DatabaseError, InterfaceError) as error:
                    log.warning("the live feed cannot look at the database: %s", error_place(error))
                except Exception as error:
                    log.error("the live feed stumbled: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
                self._close_the_unchecked(loop.time())
                await (asyncio.sleep(0) if more else self._pause(began))
        finally:
            if listening is not None:
                listening.cancel()
            thread.submit(connection.close)
            thread.shutdown(wait=False)

    async def _pause(self, began: float) -> None:
        """Until a commit is announced or a right is to be checked; a look that follows at once waits a poll's time."""
        now = asyncio.get_running_loop().time()
        unchecked = min((socket.checked for socket in self.sockets), default=now) + CHECK_SECONDS
        try:
            async with asyncio.timeout(min(self._idle_seconds, max(unchecked - now, POLL_SECONDS / 4))):
                await self._announced.wait()
        except TimeoutError:
            return
        # Commits that come one after the other are one look.
        await asyncio.sleep(began + POLL_SECONDS - asyncio.get_running_loop().time())
        self._announced.clear()

    async def _round(self, thread: ThreadPoolExecutor) -> bool:
        """Look once and hand out what was found. True if somebody has more waiting."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        asked = list(self.sockets)
        places = {socket: (socket.visitor.space, socket.position) for socket in asked if not socket.arrived.is_set()}
        due = {
            socket.visitor.credential for socket in asked if now - socket.checked >= CHECK_SECONDS - POLL_SECONDS / 2
        }
        looking = loop.run_in_executor(thread, look, asked, places, due)
        while not looking.done():
            await asyncio.wait({looking}, timeout=1.0)
            self._close_the_unchecked(loop.time())
        found = looking.result()
        more = False
        for socket in asked:
            verdict = found.verdicts.get(socket.visitor.credential)
            if isinstance(verdict, CloseReason):
                socket.end(verdict)
                continue
            if verdict is not None:
                socket.checked = now
            where = places.get(socket)
            if where in found.pages and verdict is not None:
                page, position = found.pages[where]
                socket.take([text for change, text in page if verdict(change)], position)
                more = more or len(page) == PAGE
        return more

    def _close_the_unchecked(self, now: float) -> None:
        for socket in self.sockets:
            if now - socket.checked > BLIND_SECONDS:
                socket.end(BLIND)


def look(sockets: list[Socket], places: dict[Socket, tuple[int, Position]], due: set[str]) -> _Found:
    """One visit to the database: is there anything new, for whom, and may they see it?"""
    close_old_connections()
    try:
        head = events.head()
        pages = {where: _page(*where, head) for where in set(places.values()) if where[1] < head}
        wanted = {
            socket.visitor.credential: socket.visitor.rights
            for socket in sockets
            if socket.visitor.credential in due or (socket in places and places[socket] in pages)
        }
        return _Found(pages, {credential: _verdict(rights) for credential, rights in wanted.items()})
    finally:
        close_old_connections()


def _page(space: int, position: Position, head: Position) -> tuple[list[tuple[LoggedEvent, str]], Position]:
    changes, position = events.follow(position, space=space, limit=PAGE)
    if len(changes) < PAGE:
        # Everything of this space up to the head has been seen, so that sockets of different ages meet there.
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
        return BLIND  # too much waits to be written, say: nothing is known about the right
    except (DatabaseError, InterfaceError):
        raise
    except Exception as error:
        log.error("a right could not be looked up: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
        return BROKEN  # theirs alone; everybody else's feed goes on


def encoded(change: LoggedEvent) -> str:
    return spoken(
        Message(
            kind=change.kind,
            at=clock.rfc3339(change.at),
            actor=change.actor,
            subject=change.subject,
            data=change.data,
            position=str(change.position),
        )
    )


def spoken(message: Message) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


feed = Feed()
