"""Conduits as plain columns (`ConduitColumns`), and their sorting into the arrays of a `ConduitGraph`."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]

RELATED, SUPPORTS, CONTRADICTS, SUPERSEDES, CAUSED_BY, NEXT = range(6)
HOUR = 3_600
LATEST = (1 << 32) - 1  # highest time of use in seconds since 1970: the year 2106
NARROW_IDS = 1 << 32  # ids below it are stored in four bytes
# Creation times are stored as hours relative to the newest at build time, clipped to 3.7 years before and after it.
_HALF_RANGE = 1 << 15
_SPARE, _LEAST_SPARE = 16, 1_024  # spare capacity after a build: a sixteenth of the size, but at least 1,024


class ConduitColumns(NamedTuple):
    """Conduits in any order, column by column. One that starts at an entry has the entry's key, and source -1."""

    id: Numbers
    key: NDArray[np.uint64]
    source: Numbers
    target: Numbers
    weight: NDArray[np.float32]
    affinity: NDArray[np.float32]
    made: Numbers
    used: Numbers
    relation: NDArray[np.uint8]
    decay_class: NDArray[np.uint8]

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Mask of conduits whose two ends are known; the source is known by a row or by the key of an entry."""
        whole: NDArray[np.bool_] = (self.target >= 0) & ((self.source >= 0) | (self.key != 0))
        return whole

    @property
    def kind(self) -> NDArray[np.uint8]:
        """Relation and, four bits up, decay class."""
        return (self.relation | self.decay_class << 4).astype(np.uint8)


def no_conduits() -> ConduitColumns:
    """Columns of no conduits, with their dtypes."""
    columns: list[Any] = [np.zeros(0, kind) for kind in ("i8", "u8", "i8", "i8", "f4", "f4", "i8", "i8", "u1", "u1")]
    return ConduitColumns(*columns)


def conduit_columns(
    records: NDArray[np.void], from_row: NDArray[np.integer], to_row: NDArray[np.integer]
) -> ConduitColumns:
    """Columns from CONDUIT records (`memory.arena.changes`) and the rows of their grains, -1 where there is none."""
    entry = records["from_entry"] != 0
    return ConduitColumns(
        records["id"].astype(np.int64),
        np.where(entry, records["entry_key"], 0).astype(np.uint64),
        np.where(entry, -1, np.asarray(from_row, np.int64)),
        np.asarray(to_row, np.int64),
        _finite(records["weight"]),
        _finite(records["affinity"]),
        records["made_at"].astype(np.int64),
        records["used_at"].astype(np.int64),
        records["relation"].astype(np.uint8),
        records["decay_class"].astype(np.uint8),
    )


def sort_conduits(given: ConduitColumns, rows: int, capacity: int = 0) -> dict[str, NDArray[Any]]:
    """Arrays of a graph with at least `rows` grains.

    Conduits are sorted by source (grains, then entries), strongest first; `into` is the order by target.
    """
    living = given.whole & (given.weight > 0)
    if not living.all():
        columns: list[Any] = [column[living] for column in given]
        given = ConduitColumns(*columns)
    count = len(given.id)
    rows = max(rows, 1 + int(given.source.max(initial=-1)), 1 + int(given.target.max(initial=-1)))
    keys = np.unique(given.key[given.source < 0])
    source = np.where(given.source < 0, rows + keys.searchsorted(given.key), given.source)
    # Among equal weights the most recently used comes first, then the lower row.
    used = np.clip(given.used, 0, LATEST)
    order = np.lexsort((given.id, given.target, -used, -given.weight, source))
    target, weight, used = given.target[order], given.weight[order], used[order]
    start = _starts(source, rows + len(keys))
    epoch = epoch_of(given.made)
    room, first = max(capacity, count + count // _SPARE + _LEAST_SPARE), int(start[rows])
    narrow = not count or int(given.id.max()) < NARROW_IDS
    arrays: dict[str, NDArray[Any]] = {
        "ids": given.id[order].astype(np.uint32 if narrow else np.int64),
        "target": target.astype(np.int32),
        "weight": weight,
        "used": used.astype(np.uint32),
        "made": hours_after(epoch, given.made[order]),
        "kind": given.kind[order],
    }
    return {name: padded(column, room) for name, column in arrays.items()} | {
        "affinity": padded(given.affinity[order][first:].astype(np.float16), room - first),
        "start": start,
        "into": np.lexsort((-used, -weight, target)).astype(np.int32),
        "into_start": _starts(target, rows),
        "keys": keys,
        "epoch": np.array([epoch], np.int64),
    }


def epoch_of(made: Numbers) -> int:
    """Zero of the stored creation hours, in hours since 1970."""
    return int(made.max(initial=0)) // HOUR - _HALF_RANGE


def hours_after(epoch: int, seconds: Numbers) -> NDArray[np.uint16]:
    """Times in seconds as stored creation hours."""
    return np.clip(seconds // HOUR - epoch, 0, 2 * _HALF_RANGE - 1).astype(np.uint16)


def room_after(size: int) -> int:
    """Next capacity of arrays that are full at `size`."""
    return size + max(_LEAST_SPARE, size // 8)


def runs(begin: Numbers, count: Numbers) -> Numbers:
    """Concatenated ranges: begin[0], begin[0] + 1, ... (count[0] numbers), then those of begin[1], ..."""
    offset: Numbers = begin + count - count.cumsum()
    return np.arange(int(count.sum())) + offset.repeat(count)


def padded(array: NDArray[Any], room: int) -> NDArray[Any]:
    """The array with zeros appended up to the length `room`."""
    if len(array) >= room:
        return array
    wider = np.zeros(room, array.dtype)
    wider[: len(array)] = array
    return wider


def _starts(nodes: Numbers, count: int) -> NDArray[np.int32]:
    """Start of the run of each node, and the end of the last one, for conduits sorted by node."""
    start = np.zeros(count + 1, np.int32)
    np.bincount(nodes, minlength=count).cumsum(out=start[1:])
    return start


def _finite(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.nan_to_num(values.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
