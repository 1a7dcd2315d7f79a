"""Shape of a collection: seven numbers, and their distance to the collections the ranker was fitted on.

A correction fitted on chats of short turns does harm among pages of text. So its weight depends on how similar the
space is to a fitted collection:

    d    = the largest difference of any of the seven numbers, each divided by its own scale
    near = exp(-1/2 (max(d - FREE, 0) / FADE)^2), 0 below LEAST
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import NO_ROW, Index

# Up to a distance of FREE the correction counts fully, at FREE + FADE by .61, beyond FREE + 2.1 FADE not at all.
FREE, FADE, LEAST = 0.4, 0.15, 0.1
SAMPLE = 2_048  # rows that a shape is measured on


class CollectionShape(NamedTuple):
    """Each number is divided by its scale, so that differences of all seven can be compared."""

    length: float  # ln of the mean number of characters, by 1.5
    spread: float  # standard deviation of ln characters, by 1
    speakers: float  # share of grains with a speaker
    roles: float  # share of grains whose speaker is a role: user, assistant
    sessions: float  # share of grains that belong to a session with others
    turns: float  # ln of the mean number of grains in a session, by 3
    size: float  # ln of the number of grains, by 6: a hundred and a hundred thousand differ by about 1

    def distance(self, other: CollectionShape) -> float:
        """Largest difference of any of the numbers."""
        return max(abs(value - fitted) for value, fitted in zip(self, other, strict=True))


def nearness(distance: float) -> float:
    """Weight of a correction at this distance: 1 near a fitted shape, falling to 0; values below LEAST are 0."""
    weight = exp(-0.5 * (max(distance - FREE, 0.0) / FADE) ** 2)
    return weight if weight >= LEAST else 0.0


@dataclass(frozen=True)
class SpaceFacts:
    """Facts about a space as a whole that recall needs."""

    size: int
    shape: CollectionShape
    titles: int  # number of grains that begin with a title
    sessions: bool  # whether any grain belongs to a session with others
    roles: bool  # whether any speaker is a role

    @property
    def titled(self) -> bool:
        """Whether at least one grain in ten begins with a title."""
        return 10 * self.titles >= self.size


def space_facts(index: Index, roles: NDArray[np.uint64]) -> SpaceFacts:
    """Facts about the space, cached on the index until it grows; then only new rows are counted."""
    facts: SpaceFacts | None = vars(index).get("_known")
    if facts is None or facts.size != index.size:
        counted = facts.size if facts is not None and facts.size < index.size else 0
        titles, sessions = (facts.titles, facts.sessions) if facts is not None and counted else (0, False)
        new = slice(counted, index.size)
        facts = SpaceFacts(
            index.size,
            measure_shape(index, roles),
            titles + int(np.count_nonzero(index.columns["title"][new])),
            sessions or bool(_in_company(index, new).any()),
            not index.speakers.keys().isdisjoint(roles.tolist()),
        )
        vars(index)["_known"] = facts
    return facts


def _in_company(index: Index, rows: slice) -> NDArray[np.bool_]:
    """Which of these rows belong to a session with others: one passage alone in its file is no conversation."""
    inside: NDArray[np.bool_] = (index.columns["prev"][rows] != NO_ROW) | (index.columns["next"][rows] != NO_ROW)
    return inside


def measure_shape(index: Index, roles: NDArray[np.uint64]) -> CollectionShape:
    """Shape of a space, measured on every 2^n-th row, so that all processes compute the same."""
    if not index.size:
        return CollectionShape(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    stride = 1
    while index.size > SAMPLE * stride:
        stride *= 2
    taken = slice(0, index.size, stride)
    lengths = np.log(np.maximum(index.columns["chars"][taken].astype(np.float64), 1.0))
    speaker = index.columns["speaker"][taken]
    inside = _in_company(index, taken)
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
