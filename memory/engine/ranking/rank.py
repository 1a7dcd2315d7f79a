"""The order of candidates: plain fusion with three priors, corrected where the space resembles a fitted one.

    x = S / deviation of S over the pool  +  z . (g w_shared + sum of k_e w_e)

z are the standardised features, g is how near the space is to any fitted shape, k_e to those of one kind. Far
from all of them the answer is S alone. The correction is bounded: whatever the weights, it moves no
candidate by more than BOUND deviations. What only generated or one-sided collections taught counts in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.engine.index.space_index import SpaceWeights
from memory.engine.ranking import features, fitted_weights
from memory.engine.ranking.candidates import Floats
from memory.engine.ranking.collection_shape import CollectionShape, nearness

BOUND = 8.0
# 0..1. How far what generated and one-sided collections taught all spaces is believed,
HALF = 0.15
# 0..1. and what they taught spaces of their own kind. A real chat with an assistant that taught nothing lost by .4, but
# these were chosen on its 17 questions, LongMemEval and the generated sets: more real chats should decide them.
HALF_OF_KIND = {"assistant": 0.1, "notes": 0.4}
LEAST_DEVIATION = 0.02  # of S: candidates that are all alike are not pulled apart
GROUPS = tuple(dict.fromkeys(features.FEATURES.values()))
_GROUP = np.array([GROUPS.index(group) for group in features.FEATURES.values()])
_MEMBERS = np.eye(len(GROUPS), dtype=np.float32)[:, _GROUP]  # [groups, features]


def nearest_shape(shape: CollectionShape, fitted: tuple[CollectionShape, ...]) -> float:
    return nearness(min((shape.distance(other) for other in fitted), default=np.inf))


@dataclass(frozen=True)
class Expert:
    """Weights that hold near some shapes only."""

    name: str
    shapes: tuple[CollectionShape, ...]
    weights: Floats
    trust: float = 1.0  # less where only generated or one-sided collections taught it

    def near(self, shape: CollectionShape) -> float:
        return self.trust * nearest_shape(shape, self.shapes)


@dataclass(frozen=True)
class Ranker:
    version: str
    shapes: tuple[CollectionShape, ...]  # of the collections it was fitted on, and of their variants
    half: tuple[CollectionShape, ...]  # of generated and one-sided ones: near these the correction counts in part
    shared: Floats
    experts: tuple[Expert, ...]
    trust: float = HALF

    def gates(self, shape: CollectionShape) -> tuple[float, list[float]]:
        """How near the space is to anything fitted, and to each kind."""
        gate = max(nearest_shape(shape, self.shapes), self.trust * nearest_shape(shape, self.half))
        return gate, [expert.near(shape) for expert in self.experts]

    def weights(self, shape: CollectionShape, own: SpaceWeights | None = None) -> tuple[Floats, dict[str, object]]:
        """The weights for a space of this shape, with its own step from them, and what an explanation says of them."""
        gate, each = self.gates(shape)
        whole = np.float32(gate) * self.shared
        for expert, share in zip(self.experts, each, strict=True):
            whole = whole + np.float32(share) * expert.weights
        kind = self.experts[int(np.argmax(each))].name if max(each, default=0.0) > 0.01 else ""
        said: dict[str, object] = {"version": self.version, "gate": round(gate, 3), "kind": kind}
        if own is not None and own.version == self.version:
            whole = whole + own.weights
            said |= {"questions": own.questions, "moved": round(float(np.linalg.norm(own.weights)), 3)}
        return whole, said


def correction(found: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """What each signal adds, bounded in sum: [groups, pool]; and what it gives a candidate that has none of it.

    The latter, [groups], is the same for all, so it orders nothing.
    """
    if not np.logical_or.reduce(whole):
        return np.zeros((len(GROUPS), found.shape[1]), np.float32), np.zeros(len(GROUPS), np.float32)
    standing, absent = features.standardise(found)
    standing *= whole[:, None]
    parts: Floats = _MEMBERS @ standing
    total = np.abs(np.add.reduce(parts, axis=0))
    if np.maximum.reduce(total, initial=0) > BOUND:
        parts *= np.minimum(np.float32(1), np.float32(BOUND) / np.maximum(total, np.float32(1e-6)))
    level: Floats = _MEMBERS @ (absent * whole)
    return parts, level


def weights_array(named: dict[str, float]) -> Floats:
    """Weights by name in the order of the features; a name that is not there weighs nothing."""
    return np.array([named.get(name, 0.0) for name in features.NAMES], np.float32)


def load_ranker(data: dict[str, Any]) -> Ranker:
    return Ranker(
        data["version"],
        tuple(CollectionShape(*shape) for shape in data["shapes"]),
        tuple(CollectionShape(*shape) for shape in data["half"]),
        weights_array(data["shared"]),
        tuple(
            Expert(
                one["name"],
                tuple(CollectionShape(*shape) for shape in one["shapes"]),
                weights_array(one["weights"]),
                one["trust"],
            )
            for one in data["experts"]
        ),
    )


FITTED_RANKER = load_ranker(fitted_weights.WEIGHTS)
