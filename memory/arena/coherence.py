"""Coherence of arenas with the database: before each recall, newly committed changes are replayed from the log.

SQL is the truth, the log tells what changed. Anything that does not fit (an unreadable change, a log that no longer
reaches back to the position of the arena) makes the arena unsound: it is dropped and built again.
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

# With more changes to replay than this, recalls use the arena as it is while a thread catches up.
BEHIND_LIMIT = 2_000
SLICE = 500  # changes that the thread replays at once
# After so long without reading it, the log may have been cut beyond the position of the arena.
QUIET_SECONDS = 300.0


def catch_up(arena: Arena) -> bool:
    """Replay the log up to its end with one statement, two if grains changed.

    False if the arena is so far behind that a thread catches up, or if it is not sound any more.
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
        changes, new = _read_new(arena, BEHIND_LIMIT + 1)
        if len(new) > BEHIND_LIMIT:
            arena.behind = True
            threading.Thread(
                target=_catch_up_in_background, args=[arena], name=f"arena-{arena.space}", daemon=True
            ).start()
            return False
        replay(arena, changes, new)
        if head is not None:
            arena.position = max(head, arena.position)  # all changes of this space up to there have just been read
    return arena.sound


def _read_new(arena: Arena, limit: int) -> tuple[list[LogChange], list[LogChange]]:
    """Changes after the position of the arena, and those of them that are not applied yet."""
    changes = log_reader.read_changes(arena.space, arena.position, limit + len(arena.ahead))
    return changes, [change for change in changes if change.position not in arena.ahead]


def replay(arena: Arena, read: Sequence[LogChange], new: Sequence[LogChange]) -> None:
    """Apply new changes and advance the position. Any error in the arrays makes the arena unsound."""
    try:
        if any(change.packed for change in new):
            changes = merge_changes(new)
            wanted = sorted({*changes.grains, *arena.unknown(changes)})
            rows = queries.read_grains_by_number(arena.space, arena.encoder, wanted) if wanted else []
            votes = queries.read_votes(arena.space, changes.judged) if changes.judged else []
            own = queries.read_attunement(arena.space) if changes.attuned else None
            arena.apply([GrainRecord(*row) for row in rows], changes, [VoteRow(*row) for row in votes], own)
    except Error:
        raise  # the database's trouble, not the arena's
    except Exception as error:
        log.warning("the arena of space %d does not fit the log and is built anew: %s", arena.space, error_place(error))
        arena.sound = False
        return
    if read:
        arena.position = log_reader.settled_position(read, arena.position)
        arena.ahead = {change.position for change in read if not change.settled}
    arena.followed_at = time.monotonic()


def merge_changes(log_changes: Sequence[LogChange]) -> Changes:
    """Merge the changes of several events; of two changes to a conduit the later one counts.

    Later is the higher event id: an id is assigned after the row was locked, so of two transactions that changed the
    same row the later one has the higher id, whatever the order of the transaction ids.
    """
    grains: dict[int, None] = {}
    conduits: dict[int, np.void] = {}
    cut: dict[int, None] = {}
    judged: dict[int, None] = {}
    attuned = False
    members: list[NDArray[np.void]] = [np.empty(0, MEMBER)]
    exploring: bool | None = None
    for change in sorted(log_changes, key=lambda log_change: log_change.position.id):
        if not change.packed:
            continue
        unpacked = unpack(change.packed)
        grains.update(dict.fromkeys(unpacked.grains))
        for number, conduit in zip(unpacked.conduits["id"].tolist(), unpacked.conduits, strict=True):
            conduits[number] = conduit
            cut.pop(number, None)
        for number in unpacked.cut:
            conduits.pop(number, None)
            cut[number] = None
        judged.update(dict.fromkeys(unpacked.judged))
        attuned |= unpacked.attuned
        members.append(unpacked.members)  # of two members of one grain the later one is written last
        exploring = exploring if unpacked.exploring is None else unpacked.exploring
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
    """Whether the log has an event at or before a position: then it has every change after the position.

    The log is cut at its old end, and events without a change may be deleted anywhere, so the event at the position
    itself may be gone.
    """
    if position == Position():
        return events.head() == position
    return Event.objects.filter(Q(xid=position.xid, id__lte=position.id) | Q(xid__lt=position.xid)).exists()


def event_mark(position: Position) -> str | None:
    """Fingerprint of the event at a position, different in any other log with the same ids."""
    # Looked up by its id: open transactions do not matter for it.
    event = Event.objects.filter(id=position.id, xid=position.xid).values_list("kind", "subject", "at").first()
    return f"{event[0]} {event[1]} {event[2].isoformat()}" if event is not None else None


def _catch_up_in_background(arena: Arena) -> None:
    """Replay the log in slices, so that readers can continue in between."""
    try:
        while True:
            with arena.following:
                changes, new = _read_new(arena, SLICE)
                replay(arena, changes, new)
                if len(new) < SLICE or not arena.sound:
                    arena.behind = False
                    return
    except Exception as error:
        log.warning("the arena of space %d could not catch up: %s", arena.space, error_place(error))
        arena.behind = False  # the next recall tries again
    finally:
        connection.close()
