"""How many bits of a query differ from those of many rows: the first, coarse look at vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

_IN_CACHE = 32_768  # columns at a time, about, so that what is in between stays near the core
_FIT = 3  # words whose counts add up to no more than a byte holds (192), which adds fastest
_BYTE = 4  # words whose counts a byte holds but for the very last: 256


def hamming(parts: Sequence[Words], query: Words) -> NDArray[np.unsignedinteger]:
    """Bits in which each column differs from the query. Parts, [words, rows] each, are read one after the other.

    Up to 256 bits are counted in bytes. A column that differs in each of the first 192 has one less there.
    """
    total = np.empty(sum(part.shape[1] for part in parts), np.uint8 if len(query) <= _BYTE else np.uint16)
    room = -(-len(total) // max(round(len(total) / _IN_CACHE), 1))  # in equal parts: a small rest costs as much as one
    differ, count, add_up = np.empty(room, np.uint64), np.empty((2, room), np.uint8), _add_up
    if len(query) > _BYTE:
        add_up = _add_up_wide
    done = 0
    for pieces, filled in _filled(parts, room):
        words = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        add_up(words, query, differ[:filled], count[:, :filled], total[done : done + filled])
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


def _add_up(words: Words, query: Words, differ: Words, count: NDArray[np.uint8], into: NDArray[Any]) -> None:
    np.bitwise_count(np.bitwise_xor(words[0], query[0], out=differ), out=into)
    part = count[0]
    for place in range(1, len(query)):
        np.bitwise_count(np.bitwise_xor(words[place], query[place], out=differ), out=part)
        if place == _FIT and np.maximum.reduce(into) == 64 * _FIT:  # to look is cheaper than to cut off
            np.minimum(into, 64 * _FIT - 1, out=into)
        np.add(into, part, out=into)


def _add_up_wide(words: Words, query: Words, differ: Words, count: NDArray[np.uint8], into: NDArray[Any]) -> None:
    part, more = count
    for first in range(0, len(query), _FIT):
        for place in range(first, min(first + _FIT, len(query))):
            one = more if place > first else part
            np.bitwise_count(np.bitwise_xor(words[place], query[place], out=differ), out=one)
            if place > first:
                part += more
        np.add(into, part, out=into) if first else np.copyto(into, part)
