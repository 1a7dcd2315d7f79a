"""Which rows of an index a question may touch at all: status, validity, time, tags, sessions, origin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounts import origins
from memory.engine.index.space_index import BEGINNING_OF_TIME, END_OF_TIME, SECOND, STATUSES, Index
from memory.engine.text import words
from memory.recall.recall_request import RecallRequest

# What answers when nobody names a status: what is alive first; what has faded only where that leaves room.
STATUS_TIERS = (("active",), ("dormant", "archived"))

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Mask = NDArray[np.bool_]


def epoch_seconds(moment: datetime) -> int:
    """Whole seconds since 1970, cut off downwards."""
    return epoch_microseconds(moment) // SECOND


def epoch_microseconds(moment: datetime) -> int:
    """Microseconds since 1970, as the arrays have them; a float is not exact enough for 9999.

    SQLite hands times out without an offset where raw statements read them: all of ours are UTC.
    """
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta.resolution


def count_without_vector(index: Index) -> int:
    """How many grains that a recall may return have no vector yet."""
    has = index.dense.has[: index.size] if index.dense is not None else np.zeros(0, np.bool_)
    if len(has) == index.size and bool(has.all()):
        return 0
    living: Mask = index.column("status") <= STATUSES.index("archived")
    living[: len(has)] &= ~has  # newer rows than it has room for have none
    return int(np.count_nonzero(living))


def allowed_rows(index: Index, ask: RecallRequest, statuses: tuple[str, ...], moment: datetime) -> Mask:
    """True for each row the question may see at this moment. Not to be written into: others may have the same."""
    if ask.as_of is None:
        mask = _valid_now(index, statuses, epoch_microseconds(moment))
        if not (ask.since or ask.until or ask.origin_floor or ask.sessions or ask.tags):
            return mask
        mask = mask.copy()
    else:
        mask = _of(index, statuses)
        _valid(index, mask, epoch_microseconds(ask.as_of), then=True)
    if ask.since is not None:
        mask &= index.column("said") >= epoch_microseconds(ask.since)
    if ask.until is not None:
        mask &= index.column("said") < epoch_microseconds(ask.until)
    if ask.origin_floor is not None:
        mask &= index.column("authority") <= origins.RANK[ask.origin_floor]
    if ask.sessions:
        keys = words.keys([f"session:{session}" for session in ask.sessions])
        mask &= np.isin(index.column("session"), keys)
    for tag in ask.tags:
        tagged = np.zeros(index.size, np.bool_)
        tagged[index.postings.of(words.key(f"#{tag}"))[0]] = True
        mask &= tagged
    return mask


def exclude_texts(index: Index, mask: Mask, said: NDArray[np.uint64]) -> Mask:
    """The mask without rows whose text is among those said already."""
    rows = np.flatnonzero(mask)
    again = rows[np.isin(index.column("digest")[rows], said[said != 0])]
    if len(again):
        mask = mask.copy()
        mask[again] = False
    return mask


def _of(index: Index, statuses: tuple[str, ...]) -> Mask:
    status = index.column("status")
    mask: Mask = status == STATUSES.index(statuses[0])
    for other in statuses[1:]:
        mask |= status == STATUSES.index(other)
    return mask


class _ValidNow(NamedTuple):
    """What is valid, as long as no grain changes and none begins or ends to be valid."""

    version: int
    since: int
    until: int
    mask: Mask


def _valid_now(index: Index, statuses: tuple[str, ...], now: int) -> Mask:
    held: dict[frozenset[str], _ValidNow] = vars(index).setdefault("_valid_now", {})
    asked = frozenset(statuses)  # in whichever order somebody names them: each mask is as long as the space
    found = held.get(asked)
    if found is None or found.version != index.version or not found.since <= now < found.until:
        mask, since, until = _of(index, statuses), BEGINNING_OF_TIME, END_OF_TIME
        for moments in (index.column("valid_from"), index.column("valid_to")):
            given = moments[(moments != BEGINNING_OF_TIME) & (moments != END_OF_TIME)]
            since = max(since, int(given[given <= now].max(initial=BEGINNING_OF_TIME)))
            until = min(until, int(given[given > now].min(initial=END_OF_TIME)))
        if (since, until) != (BEGINNING_OF_TIME, END_OF_TIME):
            _valid(index, mask, now, then=False)
        mask.setflags(write=False)
        found = held[asked] = _ValidNow(index.version, since, until, mask)
    return found.mask


def _valid(index: Index, mask: Mask, moment: int, *, then: bool) -> None:
    """Half-open: a fact is valid from its beginning and no longer valid at its end."""
    begins, ends = index.column("valid_from"), index.column("valid_to")
    mask &= ends > moment
    if then:
        # Of an earlier moment only what had been said by then can have been valid, where nobody gave a beginning;
        # but what had ended when it was said had begun before.
        said = index.column("said")
        begins = np.where((begins == BEGINNING_OF_TIME) & (ends > said), said, begins)
    mask &= begins <= moment
