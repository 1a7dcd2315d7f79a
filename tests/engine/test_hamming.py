"""Bits that differ are counted alike, whole or part by part."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.engine.index import hamming


def by_hand(bits: NDArray[np.uint64], query: NDArray[np.uint64]) -> list[int]:
    return [sum((int(a) ^ int(b)).bit_count() for a, b in zip(row, query, strict=True)) for row in bits.T]


@pytest.mark.parametrize("words", [1, 3, 4, 6])
@pytest.mark.parametrize("cuts", [[], [0, 0], [1], [30, 32, 32, 95], [64]])
def test_every_part_counts_in_its_place(monkeypatch: pytest.MonkeyPatch, words: int, cuts: list[int]) -> None:
    monkeypatch.setattr(hamming, "_IN_CACHE", 32)
    chance = np.random.default_rng(words)
    bits = chance.integers(0, 2**64 - 1, (words, 100), np.uint64, endpoint=True)
    query = chance.integers(0, 2**64 - 1, words, np.uint64, endpoint=True)
    bits[:, 7], bits[:, 8] = query, ~query  # none differs, all do
    found = hamming.hamming(np.split(bits, cuts, axis=1), query)
    furthest = 255 if words == 4 else 64 * words  # a byte ends there, and nobody asks for the furthest
    assert (found[7], found[8]) == (0, furthest)
    assert np.delete(found, 8).tolist() == by_hand(np.delete(bits, 8, axis=1), query)


def test_no_rows_have_no_distances() -> None:
    nobody = np.empty((4, 0), np.uint64)
    assert hamming.hamming([nobody, nobody], np.zeros(4, np.uint64)).tolist() == []
