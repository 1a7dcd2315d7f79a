"""Places given in turn: by space first, then by agent, so that nobody's flood puts others behind it.

A free place goes to the waiting space that holds the fewest, within it to the agent that holds the fewest, and among
equals to the one that was served longest ago. One agent never holds all places, so a caller who comes alone finds one.
While other agents are served too, an agent holds one place, and rests after each of its turns if more of its own wait.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

QueueKey = tuple[Hashable, Hashable]  # space and agent; of a sign-in, the source and the name
LATELY_SECONDS = 1.0  # for which an agent counts as served after each of its requests
MOST_REST_SECONDS = 0.25
_MANY = 1_000  # agents, above which those who were not served lately are forgotten
_served: dict[QueueKey, float] = {}  # when, in monotonic seconds
_serving = threading.Lock()


def note_served(caller: QueueKey) -> None:
    """Note that a request of this agent has come to this process."""
    now = time.monotonic()
    with _serving:
        if len(_served) > _MANY:
            for one in [one for one, at in _served.items() if now - at > LATELY_SECONDS]:
                del _served[one]
        _served[caller] = now


def others_served(caller: QueueKey) -> bool:
    """Whether anybody else has been served lately."""
    since = time.monotonic() - LATELY_SECONDS
    with _serving:
        return any(at > since and one != caller for one, at in _served.items())


class QueuePlace:
    """One caller in the line: waiting, then holding a place until it leaves."""

    __slots__ = ("_gate", "caller", "granted", "granted_at", "turns")

    def __init__(self, turns: FairQueue, caller: QueueKey) -> None:
        self.turns, self.caller, self.granted = turns, caller, False
        self.granted_at = 0.0  # in monotonic seconds
        self._gate = threading.Lock()
        self._gate.acquire()  # let go when the place is given

    def wait(self, seconds: float) -> bool:
        """Whether the place was given in this time."""
        if not self.granted:
            free_connection()
            self._gate.acquire(timeout=seconds)
        return self.granted

    def grant(self) -> None:
        self.granted, self.granted_at = True, time.monotonic()
        self._gate.release()

    def leave(self) -> None:
        """Give the place back, or stop waiting for one."""
        self.turns.leave(self)


class FairQueue:
    def __init__(self, places: int) -> None:
        self.places = places
        self.most_each = max(1, places - 1)
        self._lock = threading.Lock()
        self._held: Counter[QueueKey] = Counter()
        self._held_by_space: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, dict[Hashable, deque[QueuePlace]]] = {}  # in the order they were served

    def join(self, space: Hashable, agent: Hashable) -> QueuePlace:
        """Stand in line; the turn is granted at once where a place is free."""
        turn = QueuePlace(self, (space, agent))
        with self._lock:
            self._waiting.setdefault(space, {}).setdefault(agent, deque()).append(turn)
            self._grant()
        return turn

    @contextmanager
    def place(self, space: Hashable, agent: Hashable, seconds: float) -> Iterator[bool]:
        """A place for the block; False if none was given in this time."""
        turn = self.join(space, agent)
        try:
            yield turn.wait(seconds)
        finally:
            turn.leave()

    def rest(self, space: Hashable, agent: Hashable, seconds: float) -> None:
        """Before leaving: let others compute for as long as this turn did, if this agent has more in line."""
        if agent in self._waiting.get(space, {}) and others_served((space, agent)):
            free_connection()
            time.sleep(min(seconds, MOST_REST_SECONDS))

    def leave(self, turn: QueuePlace) -> None:
        space, agent = turn.caller
        with self._lock:
            if turn.granted:
                _decrement(self._held, turn.caller)
                _decrement(self._held_by_space, space)
                self._grant()
            else:
                self._waiting[space][agent].remove(turn)
                self._tidy(space, agent)

    def _grant(self) -> None:
        while self._held.total() < self.places:
            turn = self._next()
            if turn is None:
                return
            self._held[turn.caller] += 1
            self._held_by_space[turn.caller[0]] += 1
            turn.grant()

    def _next(self) -> QueuePlace | None:
        """Who is next, taken out of the line and put behind the others for the turn after it."""
        for space in sorted(self._waiting, key=self._held_by_space.__getitem__):
            agents = self._waiting[space]
            agent = min(agents, key=lambda one: self._held[space, one])
            if self._held[space, agent] >= (1 if others_served((space, agent)) else self.most_each):
                continue
            turn = agents[agent].popleft()
            agents[agent] = agents.pop(agent)
            self._waiting[space] = self._waiting.pop(space)
            self._tidy(space, agent)
            return turn
        return None

    def _tidy(self, space: Hashable, agent: Hashable) -> None:
        if not self._waiting[space][agent]:
            del self._waiting[space][agent]
        if not self._waiting[space]:
            del self._waiting[space]


def _decrement(counts: Counter[Any], key: Hashable) -> None:
    """One less; what is at zero is forgotten, or every agent there ever was would be kept."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


class FairShares:
    """Places that are taken or refused, without a line: nobody holds more than what is left for the others.

    One agent alone holds half of the places at most, two hold a third each, and so on, and a space two thirds: some are
    always free for whoever comes next.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._lock = threading.Lock()
        self._held: Counter[QueueKey] = Counter()
        self._held_by_space: Counter[Hashable] = Counter()

    def take(self, space: Hashable, agent: Hashable) -> bool:
        note_served((space, agent))
        with self._lock:
            free = self.places - self._held.total()
            if self._held[space, agent] >= free or self._held_by_space[space] >= 2 * free:
                return False
            self._held[space, agent] += 1
            self._held_by_space[space] += 1
            return True

    def leave(self, space: Hashable, agent: Hashable) -> None:
        with self._lock:
            _decrement(self._held, (space, agent))
            _decrement(self._held_by_space, space)


def free_connection() -> None:
    """A thread that waits gives its connection back to PostgreSQL's pool; to SQLite it would mean opening the file."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
