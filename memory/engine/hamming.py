"""How many bits of a query differ from those of many rows: the first, coarse look at vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

_IN_CACHE = 16_384  # columns at a time, so that what is in between stays near the core
_FIT = 3  # words whose counts add up to no more than a byte holds (192), which adds fastest


def hamming(parts: Sequence[Words], query: Words) -> NDArray[np.uint16]:
    """Bits in which each column differs from the query. Parts, [words, rows] each, are read one after the other."""
    total = np.empty(sum(part.shape[1] for part in parts), np.uint16)
    room = min(_IN_CACHE, len(total))
    differ, count = np.empty((len(query), room), np.uint64), np.empty((len(query), room), np.uint8)
    column, done = query[:, None], 0
    for pieces, filled in _filled(parts, room):
        some = differ[:, :filled]
        if len(pieces) == 1:
            np.bitwise_xor(pieces[0], column, out=some)
        else:
            np.concatenate(pieces, axis=1, out=some)
            np.bitwise_xor(some, column, out=some)
        _add_up(some, count[:, :filled], total[done : done + filled])
        done += filled
    return total


def _filled(parts: Sequence[Words], room: int) -> Iterator[tuple[list[Words], int]]:
    """The parts cut and gathered into as much as there is room for, and how much that is."""
    pieces: list[Words] = []
    filled = 0
    for part in parts:
        width = part.shape[1]
        if filled and filled + width > room:
            yield pieces, filled
            pieces, filled = [], 0
        begin = 0
        while width and width - begin >= room:
            yield [part[:, begin : begin + room]], room
            begin += room
        if begin < width:
            pieces.append(part[:, begin:] if begin else part)
            filled += width - begin
    if filled:
        yield pieces, filled


def _add_up(differ: Words, count: NDArray[np.uint8], into: NDArray[np.uint16]) -> None:
    np.bitwise_count(differ, out=count)
    for first in range(0, len(count), _FIT):
        part = count[first]
        for more in count[first + 1 : first + _FIT]:
            part += more
        np.add(into, part, out=into) if first else np.copyto(into, part)
