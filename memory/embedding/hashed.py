"""Hashing encoder: words and character n-grams; no weights, any script, compares spelling but not meaning."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from functools import lru_cache
from math import log

import numpy as np
import numpy.typing as npt

from memory.embedding.encoder import Vectors, readable, unit
from memory.embedding.encoder_kinds import HASHED

# All patterns and numbers here are part of the encoder: with any other value it needs a new name.
_WORD = re.compile(r"\w+")
# Scripts written without spaces: each character and each pair of characters is a word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_SHORTEST, _LONGEST = 3, 5  # characters of a piece (n-gram)
_PIECES_SHARE = 1.5  # length of all pieces of a word together, relative to the word's own
_LONGEST_WORD = 64


class HashedEncoder:
    """Encoder whose vector of a text is the normalised sum of the hashed features of its words."""

    name, dimension = HASHED.name, HASHED.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        return unit(np.stack([self._row(text) for text in texts]))

    def _row(self, text: str) -> Vectors:
        row = np.zeros(self.dimension, dtype=np.float32)
        counts: dict[str, int] = {}
        for word in _words(text):
            counts[word] = counts.get(word, 0) + 1
        for word, count in counts.items():
            places, weights = _features(word)
            row[places] += weights * np.float32(1 + log(count))
        return row


def _words(text: str) -> list[str]:
    normal = unicodedata.normalize("NFKC", readable(text)).casefold()
    result: list[str] = []
    for match in _WORD.finditer(normal):
        word = match.group()[:_LONGEST_WORD]
        if _UNSPACED.search(word):
            result += [*word, *(word[at : at + 2] for at in range(len(word) - 1))]
        else:
            result.append(word)
    return result


@lru_cache(maxsize=16_384)
def _features(word: str) -> tuple[npt.NDArray[np.intp], Vectors]:
    """Indices and weights of a word: of the whole word, and of its pieces, which inflected forms share."""
    bounded = f"<{word}>"
    pieces = [
        bounded[at : at + size]
        for size in range(_SHORTEST, _LONGEST + 1)
        for at in range(len(bounded) - size + 1)
        if size < len(bounded)
    ]
    hashes = np.array([zlib.crc32(piece.encode()) for piece in (bounded, *pieces)], dtype=np.uint64)
    # The low bits of CRCs of short strings are too similar, so they are mixed.
    hashes = (hashes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    hashes ^= hashes >> np.uint64(29)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    places = (hashes >> np.uint64(40)) % np.uint64(HASHED.dimension)
    signs = np.where((hashes >> np.uint64(63)) == 0, np.float32(1), np.float32(-1))
    weights = np.full(len(hashes), _PIECES_SHARE / np.sqrt(max(1, len(pieces))), dtype=np.float32)
    weights[0] = 1
    # In languages with spaces short words are common; in scripts without spaces a single character is meaningful.
    rarity = 1.0 if _UNSPACED.search(word) else log(1 + min(len(word), 12))
    row = np.zeros(HASHED.dimension, dtype=np.float32)
    np.add.at(row, places.astype(np.intp), signs * weights * np.float32(rarity))
    used = np.flatnonzero(row)
    return used, row[used]
