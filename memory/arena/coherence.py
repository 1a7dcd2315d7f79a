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
from django.db.models import Q
from numpy.typing import NDArray

from fluxcore import events
from fluxcore.db_errors import error_place
from fluxcore.events import Position
from fluxcore.models import Event
from memory.arena import log_reader, queries
from memory.arena.arena import Arena
from memory.arena.changes import CONDUIT, MEMBER, Changes, unpack
from memory.arena.grain_rows import GrainRecord
from memory.arena.log_reader import LogChange
from memory.arena.votes import VoteRow

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
            if not log_reaches(arena.position):
                arena.sound = False
                return False
        found, new = _look(arena, BEHIND_LIMIT + 1)
        if len(new) > BEHIND_LIMIT:
            arena.behind = True
            threading.Thread(target=_go_on, args=[arena], name=f"arena-{arena.space}", daemon=True).start()
            return False
        replay(arena, found, new)
        if head is not None:
            arena.position = max(head, arena.position)  # everything of ours up to there has been read just now
    return arena.sound


def _look(arena: Arena, limit: int) -> tuple[list[LogChange], list[LogChange]]:
    """What stands after the arena's place in the log, and what of it is new."""
    found = log_reader.read_changes(arena.space, arena.position, limit + len(arena.ahead))
    return found, [told for told in found if told.position not in arena.ahead]


def replay(arena: Arena, found: Sequence[LogChange], new: Sequence[LogChange]) -> None:
    """Apply what is new and move on. Whatever goes wrong with the arrays leaves the arena unsound."""
    try:
        if any(told.packed for told in new):
            changes = merge_changes(new)
            wanted = sorted({*changes.grains, *arena.unknown(changes)})
            rows = queries.read_grains_by_number(arena.space, arena.encoder, wanted) if wanted else []
            lessons = queries.read_votes(arena.space, changes.judged) if changes.judged else []
            own = queries.read_attunement(arena.space) if changes.attuned else None
            arena.apply([GrainRecord(*row) for row in rows], changes, [VoteRow(*row) for row in lessons], own)
    except Error:
        raise  # the database's trouble, not the arena's
    except Exception as error:
        log.warning("the arena of space %d does not fit the log and is built anew: %s", arena.space, error_place(error))
        arena.sound = False
        return
    if found:
        arena.position = log_reader.settled_position(found, arena.position)
        arena.ahead = {told.position for told in found if not told.settled}
    arena.followed_at = time.monotonic()


def merge_changes(found: Sequence[LogChange]) -> Changes:
    """What several events say together; the last word on a conduit counts.

    By the events' numbers: a number is taken after the row was locked, so where two transactions changed
    the same row, the one that came later has the higher number, whatever order their transactions have.
    """
    grains: dict[int, None] = {}
    conduits: dict[int, np.void] = {}
    cut: dict[int, None] = {}
    judged: dict[int, None] = {}
    attuned = False
    members: list[NDArray[np.void]] = [np.empty(0, MEMBER)]
    exploring: bool | None = None
    for told in sorted(found, key=lambda one: one.position.id):
        if not told.packed:
            continue
        change = unpack(told.packed)
        grains.update(dict.fromkeys(change.grains))
        for number, conduit in zip(change.conduits["id"].tolist(), change.conduits, strict=True):
            conduits[number] = conduit
            cut.pop(number, None)
        for number in change.cut:
            conduits.pop(number, None)
            cut[number] = None
        judged.update(dict.fromkeys(change.judged))
        attuned |= change.attuned
        members.append(change.members)  # of two that speak of one grain the later one is written later
        exploring = exploring if change.exploring is None else change.exploring
    return Changes(
        tuple(grains),
        np.array([*conduits.values()], CONDUIT),
        tuple(cut),
        tuple(sorted(judged)),
        np.concatenate(members),
        exploring,
        attuned,
    )


def log_reaches(position: Position) -> bool:
    """Whether the log still holds an event at or before a position: then it holds every change that came after it.

    The event at the position may itself be gone. It is cut at its old end, and news are let go wherever they stand.
    """
    if position == Position():
        return events.head() == position
    return Event.objects.filter(Q(xid=position.xid, id__lte=position.id) | Q(xid__lt=position.xid)).exists()


def event_mark(position: Position) -> str | None:
    """What tells the event at a position from that of any other log with the same numbers."""
    # Asked for by its number: whether other transactions are still open says nothing about this one.
    found = Event.objects.filter(id=position.id, xid=position.xid).values_list("kind", "subject", "at").first()
    return f"{found[0]} {found[1]} {found[2].isoformat()}" if found is not None else None


def _go_on(arena: Arena) -> None:
    """Catch up slice by slice; readers have their turn in between."""
    try:
        while True:
            with arena.following:
                found, new = _look(arena, SLICE)
                replay(arena, found, new)
                if len(new) < SLICE or not arena.sound:
                    arena.behind = False
                    return
    except Exception as error:
        log.warning("the arena of space %d could not catch up: %s", arena.space, error_place(error))
        arena.behind = False  # the next recall tries again
    finally:
        connection.close()
