"""How an arena follows the log: before each recall, what was committed since is replayed into it.

SQL is the truth and the log says what moved. Whatever does not fit (a change nobody can read, a log that
no longer reaches back to where the arena stands) makes the arena unsound: it is dropped and built anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

import numpy as np
from django.db import Error, connection

from fluxcore import events
from fluxcore.events import Change, Position
from fluxcore.faults import place
from memory.arena import tables
from memory.arena.arena import Arena
from memory.arena.changes import CONDUIT, Changes, unpack
from memory.arena.rows import Record

log = logging.getLogger(__name__)

# Further behind than this, answers come from what is there while the rest is read in the background.
BEHIND_LIMIT = 2_000
SLICE = 500
# After so long without a look at it, the log may have been cut below where the arena stands.
QUIET_SECONDS = 300.0


def catch_up(arena: Arena) -> bool:
    """Bring the arena to the end of the log with one statement, two if grains changed.

    False if it is so far behind that it goes on in the background, or no longer sound.
    """
    if arena.behind:
        return False
    with arena.following:
        if arena.behind or not arena.sound:
            return False
        head = None
        if time.monotonic() - arena.followed_at > QUIET_SECONDS:
            head = events.head()
            if not reaches(arena.position):
                arena.sound = False
                return False
        found, position = events.follow(arena.position, space=arena.space, limit=BEHIND_LIMIT + 1)
        if len(found) > BEHIND_LIMIT:
            arena.behind = True
            threading.Thread(target=_go_on, args=[arena], name=f"arena-{arena.space}", daemon=True).start()
            return False
        replay(arena, found, position if head is None else max(head, position))
    return arena.sound


def replay(arena: Arena, found: Sequence[Change], position: Position) -> None:
    """Apply events and move on to `position`. Whatever goes wrong with the arrays leaves the arena unsound."""
    try:
        changes = gather(found)
        wanted = sorted({*changes.grains, *arena.unknown(changes)})
        rows = tables.grains_by_number(arena.space, arena.encoder, wanted) if wanted else []
        if wanted or changes.cut or len(changes.conduits):
            arena.apply([Record(*row) for row in rows], changes)
    except Error:
        raise  # the database's trouble, not the arena's
    except Exception as error:
        log.warning("the arena of space %d does not fit the log and is built anew: %s", arena.space, place(error))
        arena.sound = False
        return
    arena.position = position
    arena.followed_at = time.monotonic()


def gather(found: Sequence[Change]) -> Changes:
    """What several events say together; the last word on a conduit counts.

    By the events' numbers: a number is taken after the row was locked, so where two transactions changed
    the same row, the one that came later has the higher number, whatever order their transactions have.
    """
    grains: dict[int, None] = {}
    conduits: dict[int, np.void] = {}
    cut: dict[int, None] = {}
    for change in sorted(found, key=lambda one: one.position.id):
        if not change.packed:
            continue
        told = unpack(change.packed)
        grains.update(dict.fromkeys(told.grains))
        for conduit in told.conduits:
            number = int(conduit["id"])
            conduits[number] = conduit
            cut.pop(number, None)
        for number in told.cut:
            conduits.pop(number, None)
            cut[number] = None
    return Changes(tuple(grains), np.array([*conduits.values()], CONDUIT), tuple(cut))


def reaches(position: Position) -> bool:
    """Whether the log still holds the event at a position: then it holds all that came after it."""
    if position == Position():
        return events.head() == position
    return mark(position) is not None


def mark(position: Position) -> str | None:
    """What tells the event at a position from that of any other log with the same numbers."""
    found, at = events.follow(Position(position.xid, position.id - 1), limit=1)
    return f"{found[0].kind} {found[0].subject} {found[0].at.isoformat()}" if found and at == position else None


def _go_on(arena: Arena) -> None:
    """Catch up slice by slice; readers have their turn in between."""
    try:
        while True:
            with arena.following:
                found, position = events.follow(arena.position, space=arena.space, limit=SLICE)
                replay(arena, found, position)
                if len(found) < SLICE or not arena.sound:
                    arena.behind = False
                    return
    except Exception as error:
        log.warning("the arena of space %d could not catch up: %s", arena.space, place(error))
        arena.behind = False  # the next recall tries again
    finally:
        connection.close()
