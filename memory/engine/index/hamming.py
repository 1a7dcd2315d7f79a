"""Hamming distances between the bits of a query and of many rows: the coarse first step of vector search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]

_IN_CACHE = 32_768  # columns per block, about: intermediate arrays stay in the CPU cache
_FIT = 3  # 64-bit words whose counts always fit into a byte (192), which is added fastest
_BYTE = 4  # 64-bit words whose counts fit into a byte except for the highest sum, 256


def hamming(parts: Sequence[Words], query: Words) -> NDArray[np.unsignedinteger]:
    """Number of bits in which each column differs from the query. Parts, [words, rows] each, are concatenated.

    Up to 256 bits are counted in bytes. A column that differs in each of the first 192 has one less there.
    """
    total = np.empty(sum(part.shape[1] for part in parts), np.uint8 if len(query) <= _BYTE else np.uint16)
    room = -(
        -len(total) // max(round(len(total) / _IN_CACHE), 1)
    )  # equal blocks: a small last block costs as much as a full one
    differ, count, count_bits = np.empty(room, np.uint64), np.empty((2, room), np.uint8), _count_bits
    if len(query) > _BYTE:
        count_bits = _count_bits_wide
    done = 0
    for pieces, filled in _blocks(parts, room):
        words = pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)
        count_bits(words, query, differ[:filled], count[:, :filled], total[done : done + filled])
        done += filled
    return total


def _blocks(parts: Sequence[Words], room: int) -> Iterator[tuple[list[Words], int]]:
    """Blocks of at most `room` columns, split and gathered from the parts, each with its width."""
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


def _count_bits(words: Words, query: Words, differ: Words, count: NDArray[np.uint8], into: NDArray[Any]) -> None:
    np.bitwise_count(np.bitwise_xor(words[0], query[0], out=differ), out=into)
    part = count[0]
    for place in range(1, len(query)):
        np.bitwise_count(np.bitwise_xor(words[place], query[place], out=differ), out=part)
        if place == _FIT and np.maximum.reduce(into) == 64 * _FIT:  # checking is cheaper than clipping
            np.minimum(into, 64 * _FIT - 1, out=into)
        np.add(into, part, out=into)


def _count_bits_wide(words: Words, query: Words, differ: Words, count: NDArray[np.uint8], into: NDArray[Any]) -> None:
    part, more = count
    for first in range(0, len(query), _FIT):
        for place in range(first, min(first + _FIT, len(query))):
            counts = more if place > first else part
            np.bitwise_count(np.bitwise_xor(words[place], query[place], out=differ), out=counts)
            if place > first:
                part += more
        np.add(into, part, out=into) if first else np.copyto(into, part)
