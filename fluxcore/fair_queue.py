"""Fair queue for a limited number of places: by space first, then by agent, so that one agent cannot delay others.

A free place goes to the waiting space that has the fewest, within it to the agent that has the fewest, and among equals
to the one that was served longest ago. One agent never has all places, so that another one finds a free place. While
other agents are served too, an agent has one place, and pauses after each of its turns if more of its requests wait.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

QueueKey = tuple[Hashable, Hashable]  # space and agent; for sign-ins source and name
LATELY_SECONDS = 1.0  # time after a request for which its agent counts as served lately
MOST_REST_SECONDS = 0.25
_MANY = 1_000  # agents in _served above which those not served lately are removed
_served: dict[QueueKey, float] = {}  # when, in monotonic seconds
_serving = threading.Lock()


def note_served(caller: QueueKey) -> None:
    """Note that this process has received a request of this agent."""
    now = time.monotonic()
    with _serving:
        if len(_served) > _MANY:
            for old in [key for key, at in _served.items() if now - at > LATELY_SECONDS]:
                del _served[old]
        _served[caller] = now


def others_served(caller: QueueKey) -> bool:
    """Whether any other agent has been served lately."""
    since = time.monotonic() - LATELY_SECONDS
    with _serving:
        return any(at > since and key != caller for key, at in _served.items())


class QueuePlace:
    """One caller in the queue: waits, then has a place until it leaves."""

    __slots__ = ("_gate", "caller", "granted", "granted_at", "turns")

    def __init__(self, turns: FairQueue, caller: QueueKey) -> None:
        self.turns, self.caller, self.granted = turns, caller, False
        self.granted_at = 0.0  # in monotonic seconds
        self._gate = threading.Lock()
        self._gate.acquire()  # released when the place is granted

    def wait(self, seconds: float) -> bool:
        """Wait for the place; whether it was granted in this time."""
        if not self.granted:
            free_connection()
            self._gate.acquire(timeout=seconds)
        return self.granted

    def grant(self) -> None:
        self.granted, self.granted_at = True, time.monotonic()
        self._gate.release()

    def leave(self) -> None:
        """Give up the place, or stop waiting for one."""
        self.turns.leave(self)


class FairQueue:
    """Queue for a number of places, served in turn by space and agent."""

    def __init__(self, places: int) -> None:
        self.places = places
        self.most_each = max(1, places - 1)
        self._lock = threading.Lock()
        self._held: Counter[QueueKey] = Counter()
        self._held_by_space: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, dict[Hashable, deque[QueuePlace]]] = {}  # served longest ago first

    def join(self, space: Hashable, agent: Hashable) -> QueuePlace:
        """Join the queue; the place is granted at once if one is free."""
        turn = QueuePlace(self, (space, agent))
        with self._lock:
            self._waiting.setdefault(space, {}).setdefault(agent, deque()).append(turn)
            self._grant()
        return turn

    @contextmanager
    def place(self, space: Hashable, agent: Hashable, seconds: float) -> Iterator[bool]:
        """Hold a place during the block; False if none was granted in this time."""
        turn = self.join(space, agent)
        try:
            yield turn.wait(seconds)
        finally:
            turn.leave()

    def rest(self, space: Hashable, agent: Hashable, seconds: float) -> None:
        """Pause before leaving, as long as this turn took, if the agent has more in the queue and others are served."""
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
        """Take the next caller out of the queue and put its space and agent behind the others."""
        for space in sorted(self._waiting, key=self._held_by_space.__getitem__):
            agents = self._waiting[space]
            agent = min(agents, key=lambda name: self._held[space, name])
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
    """Subtract one and delete zeros, so that the counter does not keep every agent for ever."""
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


class FairShares:
    """Limited places without a queue: taken or refused at once. Nobody has more than what is left for the others.

    A single agent has at most half of the places, two have a third each, and so on, and a space has two thirds: some
    places are always free for another agent.
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
    """Return the connection of a waiting thread to PostgreSQL's pool. SQLite would have to reopen its file."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()
