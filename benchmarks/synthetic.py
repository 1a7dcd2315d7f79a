"""Made-up spaces of any size: words by Zipf's law, clustered vectors, conduits with hubs. Same seed, same space.

Texts have 8 to 24 words of a vocabulary of 50,000 whose frequencies follow Zipf and Mandelbrot: the
commonest word stands in half of them, as a stop word would. Vectors are a mixture of 2,000 clusters in 48
dimensions, turned into 256 with some noise. Each grain has ten conduits, seven of them to near ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

VOCABULARY, CLUSTERS, LATENT, DIMENSION, DEGREE = 50_000, 2_000, 48, 256, 10
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "or", "el")]


def word(number: int) -> str:
    """A word of two to four syllables, each number another one."""
    found, base = "", len(_SYLLABLES)
    number += base
    while number:
        number, digit = divmod(number, base)
        found += _SYLLABLES[digit]
    return found


@dataclass
class Synthetic:
    size: int
    seed: int = 7

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        rank = np.arange(1, VOCABULARY + 1)
        frequency = 1 / (rank + 2.7) ** 1.05
        self.cumulative = np.cumsum(frequency / frequency.sum())
        self.words = np.array([word(number) for number in range(VOCABULARY)])
        self.centres = self.random.standard_normal((CLUSTERS, LATENT)).astype(np.float32)
        self.turn = self.random.standard_normal((LATENT, DIMENSION)).astype(np.float32) / np.sqrt(LATENT)

    def some_words(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self.cumulative, self.random.random(count))

    def texts(self) -> Iterator[str]:
        for begin in range(0, self.size, 10_000):
            lengths = self.random.integers(8, 25, min(10_000, self.size - begin))
            flat = self.words[self.some_words(int(lengths.sum()))]
            for piece in np.split(flat, np.cumsum(lengths)[:-1]):
                yield " ".join(piece.tolist())

    def vectors(self, count: int) -> NDArray[np.float32]:
        """Unit rows."""
        latent = self.centres[self.random.integers(0, CLUSTERS, count)]
        latent = latent + 0.6 * self.random.standard_normal(latent.shape).astype(np.float32)
        found = latent @ self.turn + 0.25 * self.random.standard_normal((count, DIMENSION)).astype(np.float32)
        unit: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit.astype(np.float32)

    def conduits(self, begin: int, end: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """From, to and weight of the conduits of the grains begin..end; ends are places 0..size-1, no pair twice."""
        start = np.repeat(np.arange(begin, end), DEGREE)
        near = np.clip(start + self.random.integers(-200, 201, len(start)), 0, self.size - 1)
        # The square makes hubs: the first grains are named by very many.
        far = (self.random.random(len(start)) ** 3 * self.size).astype(np.int64)
        to = np.where(self.random.random(len(start)) < 0.7, near, far)
        pair = np.unique(np.stack((start, to)), axis=1)
        pair = pair[:, pair[0] != pair[1]]
        return pair[0], pair[1], np.round(self.random.uniform(0.1, 0.9, pair.shape[1]), 3)

    def question(self) -> str:
        """Eight words by the same law: three or four of them are as common as stop words."""
        return " ".join(self.words[self.some_words(8)].tolist())
