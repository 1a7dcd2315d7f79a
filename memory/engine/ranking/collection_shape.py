"""What kind of collection a space is, in seven numbers, and how far it lies from those the ranker was fitted on.

A correction learned on chats of short turns does harm among pages of text. So it counts as much as the
space resembles a fitted one:

    d    = the largest difference of any of the seven numbers, each in units of its own reach
    near = exp(-1/2 (max(d - FREE, 0) / FADE)^2), 0 below LEAST
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import NO_ROW, Index

# A difference up to FREE costs nothing; at FREE + FADE the correction counts .61, beyond FREE + 2.1 FADE nothing.
FREE, FADE, LEAST = 0.4, 0.15, 0.1
SAMPLE = 2_048


class CollectionShape(NamedTuple):
    """Each number is divided by what counts as one whole difference, so that they can be compared."""

    length: float  # ln of the mean number of characters, by 1.5
    spread: float  # standard deviation of ln characters, by 1
    speakers: float  # share of grains with a speaker
    roles: float  # share of grains whose speaker is a role: user, assistant
    sessions: float  # share of grains that belong to a session
    turns: float  # ln of the mean number of grains in a session, by 3
    size: float  # ln of the number of grains, by 6: a hundred and a hundred thousand are still one kind

    def distance(self, other: CollectionShape) -> float:
        return max(abs(mine - theirs) for mine, theirs in zip(self, other, strict=True))


def nearness(distance: float) -> float:
    """1 among what was fitted, towards 0 outside; a trace of nearness is none."""
    found = exp(-0.5 * (max(distance - FREE, 0.0) / FADE) ** 2)
    return found if found >= LEAST else 0.0


@dataclass(frozen=True)
class SpaceFacts:
    """What recall wants to know about a space as a whole."""

    size: int
    shape: CollectionShape
    titles: int  # grains that begin with one
    sessions: bool  # whether any grain belongs to one
    roles: bool  # whether any speaker is one

    @property
    def titled(self) -> bool:
        return 10 * self.titles >= self.size


def space_facts(index: Index, roles: NDArray[np.uint64]) -> SpaceFacts:
    """Kept beside the index until it grows: a space is asked more often than it is told. Only new rows are counted."""
    held: SpaceFacts | None = vars(index).get("_known")
    if held is None or held.size != index.size:
        since = held.size if held is not None and held.size < index.size else 0
        titles, sessions = (held.titles, held.sessions) if held is not None and since else (0, False)
        new = slice(since, index.size)
        held = SpaceFacts(
            index.size,
            measure_shape(index, roles),
            titles + int(np.count_nonzero(index.columns["title"][new])),
            sessions or bool(index.columns["session"][new].any()),
            not index.speakers.keys().isdisjoint(roles.tolist()),
        )
        vars(index)["_known"] = held
    return held


def measure_shape(index: Index, roles: NDArray[np.uint64]) -> CollectionShape:
    """Measured on a sample that follows from the rows alone (every 2^n-th), so that processes agree."""
    if not index.size:
        return CollectionShape(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    stride = 1
    while index.size > SAMPLE * stride:
        stride *= 2
    taken = slice(0, index.size, stride)
    lengths = np.log(np.maximum(index.columns["chars"][taken].astype(np.float64), 1.0))
    speaker = index.columns["speaker"][taken]
    inside = index.columns["session"][taken] != 0
    begins = inside & (index.columns["prev"][taken] == NO_ROW)
    _, characters = index.totals()
    turns = int(np.count_nonzero(inside)) / max(int(np.count_nonzero(begins)), 1)
    return CollectionShape(
        length=float(np.log(max(characters / index.size, 1.0))) / 1.5,
        spread=float(lengths.std()),
        speakers=float(np.count_nonzero(speaker)) / len(speaker),
        roles=float(np.isin(speaker, roles).mean()),
        sessions=float(inside.mean()),
        turns=float(np.log(max(turns, 1.0))) / 3,
        size=float(np.log(index.size)) / 6,
    )
