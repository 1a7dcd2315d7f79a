"""Ranker: plain fusion with three priors, plus a fitted correction in spaces similar to a fitted collection.

    x = S / deviation of S over the pool  +  z . (g w_shared + sum of k_e w_e)

z are the standardised features, g is the nearness of the space to any fitted shape, k_e to the shapes of one kind. Far
from all of them the score is S alone. The correction is bounded: it moves no candidate by more than BOUND deviations,
whatever the weights. What was fitted only on generated or one-sided collections counts in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.engine.index.space_index import SpaceWeights
from memory.engine.ranking import features, fitted_weights
from memory.engine.ranking.candidates import Floats
from memory.engine.ranking.collection_shape import CollectionShape, nearness

BOUND = 8.0  # deviations
# 0..1. Weight, in all spaces, of what was fitted on generated and one-sided collections.
HALF = 0.15
# 0..1. Weight of what was fitted on such collections, in spaces of the same kind. A real chat with an assistant that
# was not used for fitting got worse with .4, but the values were chosen on its 17 questions, LongMemEval and the
# generated sets: more real chats should decide them.
HALF_OF_KIND = {"assistant": 0.1, "notes": 0.4}
LEAST_DEVIATION = 0.02  # of S: small differences between nearly equal candidates are not magnified
GROUPS = tuple(dict.fromkeys(features.FEATURES.values()))
_GROUP = np.array([GROUPS.index(group) for group in features.FEATURES.values()])
_MEMBERS = np.eye(len(GROUPS), dtype=np.float32)[:, _GROUP]  # [groups, features]


def nearest_shape(shape: CollectionShape, fitted: tuple[CollectionShape, ...]) -> float:
    """Nearness of a shape to the nearest of the fitted ones, 0 to 1."""
    return nearness(min((shape.distance(other) for other in fitted), default=np.inf))


@dataclass(frozen=True)
class Expert:
    """Weights that apply only near some shapes."""

    name: str
    shapes: tuple[CollectionShape, ...]
    weights: Floats
    trust: float = 1.0  # less if it was fitted only on generated or one-sided collections

    def near(self, shape: CollectionShape) -> float:
        return self.trust * nearest_shape(shape, self.shapes)


@dataclass(frozen=True)
class Ranker:
    """Fitted weights: shared ones and those of experts, with the shapes they apply to."""

    version: str
    shapes: tuple[CollectionShape, ...]  # of the collections it was fitted on, and of their variants
    half: tuple[CollectionShape, ...]  # of generated and one-sided ones: near these the correction counts in part
    shared: Floats
    experts: tuple[Expert, ...]
    trust: float = HALF

    def gates(self, shape: CollectionShape) -> tuple[float, list[float]]:
        """Nearness of the space to anything fitted, and to each expert."""
        gate = max(nearest_shape(shape, self.shapes), self.trust * nearest_shape(shape, self.half))
        return gate, [expert.near(shape) for expert in self.experts]

    def weights(self, shape: CollectionShape, own: SpaceWeights | None = None) -> tuple[Floats, dict[str, object]]:
        """Weights for a space of this shape, plus its own fitted difference, and their description for explanations."""
        gate, shares = self.gates(shape)
        total = np.float32(gate) * self.shared
        for expert, share in zip(self.experts, shares, strict=True):
            total = total + np.float32(share) * expert.weights
        kind = self.experts[int(np.argmax(shares))].name if max(shares, default=0.0) > 0.01 else ""
        description: dict[str, object] = {"version": self.version, "gate": round(gate, 3), "kind": kind}
        if own is not None and own.version == self.version:
            total = total + own.weights
            description |= {"questions": own.questions, "moved": round(float(np.linalg.norm(own.weights)), 3)}
        return total, description


def correction(raw: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Correction by signal, bounded in sum: [groups, pool]; and the correction of a candidate without the signal.

    The latter, [groups], is the same for all candidates, so it does not affect the order.
    """
    if not np.logical_or.reduce(weights):
        return np.zeros((len(GROUPS), raw.shape[1]), np.float32), np.zeros(len(GROUPS), np.float32)
    weighted, absent = features.standardise(raw)
    weighted *= weights[:, None]
    parts: Floats = _MEMBERS @ weighted
    total = np.abs(np.add.reduce(parts, axis=0))
    if np.maximum.reduce(total, initial=0) > BOUND:
        parts *= np.minimum(np.float32(1), np.float32(BOUND) / np.maximum(total, np.float32(1e-6)))
    level: Floats = _MEMBERS @ (absent * weights)
    return parts, level


def weights_array(named: dict[str, float]) -> Floats:
    """Weights by name as an array in the order of the features; a missing name has weight 0."""
    return np.array([named.get(name, 0.0) for name in features.NAMES], np.float32)


def load_ranker(data: dict[str, Any]) -> Ranker:
    return Ranker(
        data["version"],
        tuple(CollectionShape(*shape) for shape in data["shapes"]),
        tuple(CollectionShape(*shape) for shape in data["half"]),
        weights_array(data["shared"]),
        tuple(
            Expert(
                expert["name"],
                tuple(CollectionShape(*shape) for shape in expert["shapes"]),
                weights_array(expert["weights"]),
                expert["trust"],
            )
            for expert in data["experts"]
        ),
    )


FITTED_RANKER = load_ranker(fitted_weights.WEIGHTS)
