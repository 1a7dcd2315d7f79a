"""Filter masks of a recall: which rows it may return, by status, validity, time, tags, sessions and origin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from accounts import origins
from memory.engine.index.space_index import BEGINNING_OF_TIME, END_OF_TIME, SECOND, STATUSES, Index
from memory.engine.text import words
from memory.grains.sources import NONE, VisibleKinds
from memory.recall.recall_request import RecallRequest

# Statuses of a recall that names none: active grains first, dormant and archived ones if places are left.
STATUS_TIERS = (("active",), ("dormant", "archived"))

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Mask = NDArray[np.bool_]


def epoch_seconds(moment: datetime) -> int:
    """Whole seconds since 1970, rounded down."""
    return epoch_microseconds(moment) // SECOND


def epoch_microseconds(moment: datetime) -> int:
    """Microseconds since 1970, as the arrays have them; a float is not exact enough for 9999.

    Raw statements on SQLite return times without an offset; all stored times are UTC.
    """
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH) // timedelta.resolution


def count_without_vector(index: Index) -> int:
    """Number of grains that a recall may return and that have no vector yet."""
    has = index.dense.has[: index.size] if index.dense is not None else np.zeros(0, np.bool_)
    if len(has) == index.size and bool(has.all()):
        return 0
    living: Mask = index.column("status") <= STATUSES.index("archived")
    living[: len(has)] &= ~has  # rows beyond the vector index have no vector
    return int(np.count_nonzero(living))


def allowed_rows(
    index: Index, ask: RecallRequest, statuses: tuple[str, ...], moment: datetime, seen: VisibleKinds = NONE
) -> Mask:
    """Mask of rows the recall may return at this time. Read-only, because it may be cached and shared.

    `statuses` may name kinds of made grains; of those in `seen.sessions` only the rows of these sessions, and of
    `seen.tags`, are allowed.
    """
    narrowed = [kind for kind in seen.sessions if kind in statuses]
    if ask.as_of is None:
        mask = _valid_now(index, statuses, epoch_microseconds(moment))
        if not (ask.since or ask.until or ask.origin_floor or ask.sessions or ask.tags or narrowed):
            return mask
        mask = mask.copy()
    else:
        mask = _with_status(index, statuses)
        _remove_invalid(index, mask, epoch_microseconds(ask.as_of), in_past=True)
    for kind in narrowed:
        mask &= (index.column("status") != STATUSES.index(kind)) | _rows_seen(index, seen, kind)
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
        mask &= _tagged(index, tag)
    return mask


def _rows_seen(index: Index, seen: VisibleKinds, kind: str) -> Mask:
    """Rows of the sessions and tags to which a kind of made grains is limited."""
    keys = words.keys([f"session:{session}" for session in seen.sessions[kind]])
    rows: Mask = np.isin(index.column("session"), keys)
    for tag in seen.tags.get(kind, ()):
        rows |= _tagged(index, tag)
    return rows


def _tagged(index: Index, tag: str) -> Mask:
    rows = np.zeros(index.size, np.bool_)
    rows[index.postings.of(words.key(f"#{tag}"))[0]] = True
    return rows


def exclude_texts(index: Index, mask: Mask, shown_texts: NDArray[np.uint64]) -> Mask:
    """The mask without rows whose text (digest) is among those already shown."""
    rows = np.flatnonzero(mask)
    repeated = rows[np.isin(index.column("digest")[rows], shown_texts[shown_texts != 0])]
    if len(repeated):
        mask = mask.copy()
        mask[repeated] = False
    return mask


def _with_status(index: Index, statuses: tuple[str, ...]) -> Mask:
    status = index.column("status")
    mask: Mask = np.zeros(len(status), np.bool_)  # of nothing, if the caller may read none of the kinds
    for other in statuses:
        mask |= status == STATUSES.index(other)
    return mask


class _ValidNow(NamedTuple):
    """Cached mask of valid rows, usable until a grain changes or a validity begins or ends."""

    version: int
    since: int
    until: int
    mask: Mask


def _valid_now(index: Index, statuses: tuple[str, ...], now: int) -> Mask:
    cache: dict[frozenset[str], _ValidNow] = vars(index).setdefault("_valid_now", {})
    key = frozenset(statuses)  # independent of the order of statuses, as each mask is as long as the space
    cached = cache.get(key)
    if cached is None or cached.version != index.version or not cached.since <= now < cached.until:
        mask, since, until = _with_status(index, statuses), BEGINNING_OF_TIME, END_OF_TIME
        for moments in (index.column("valid_from"), index.column("valid_to")):
            finite = moments[(moments != BEGINNING_OF_TIME) & (moments != END_OF_TIME)]
            since = max(since, int(finite[finite <= now].max(initial=BEGINNING_OF_TIME)))
            until = min(until, int(finite[finite > now].min(initial=END_OF_TIME)))
        if (since, until) != (BEGINNING_OF_TIME, END_OF_TIME):
            _remove_invalid(index, mask, now, in_past=False)
        mask.setflags(write=False)
        cached = cache[key] = _ValidNow(index.version, since, until, mask)
    return cached.mask


def _remove_invalid(index: Index, mask: Mask, moment: int, *, in_past: bool) -> None:
    """Remove rows that are not valid at a time; the interval is half-open: valid from its begin, not at its end."""
    begins, ends = index.column("valid_from"), index.column("valid_to")
    mask &= ends > moment
    if in_past:
        # For an earlier time, a grain without a begin is valid from when it was said, unless it had already ended when
        # it was said: then it began before.
        said = index.column("said")
        begins = np.where((begins == BEGINNING_OF_TIME) & (ends > said), said, begins)
    mask &= begins <= moment
