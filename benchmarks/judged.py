"""Judged questions as the ranker sees them: the pool with its features, and which of it answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks import measure
from benchmarks.spaces import Space
from memory.engine.ranking import candidate_columns, confidence, features, rank
from memory.engine.ranking.collection_shape import CollectionShape, measure_shape
from memory.engine.ranking.scoring import Scored, score_candidates
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text import question

Floats = NDArray[np.float64]


@dataclass
class Judged:
    """One question. `pool` is empty when nothing was found."""

    id: str
    category: str
    wanted: int  # items that answer it
    answers: NDArray[np.bool_]  # by pool
    found: NDArray[np.float32]  # raw features [features, pool]
    z: NDArray[np.float32]  # the same, standardised, [pool, features]
    plain: Floats  # F
    base: Floats  # S in deviations
    facts: confidence.QuestionFacts

    @property
    def counts(self) -> bool:
        """Whether it enters the means."""
        return bool(self.wanted) and not measure.apart(self.category)

    @property
    def teaches(self) -> bool:
        return self.counts and bool(self.answers.any())


@dataclass
class Lesson:
    """One space with its judged questions. `variant` is empty for a collection as it came."""

    set: str
    collection: str
    variant: str
    encoder: str
    shape: CollectionShape
    questions: list[Judged]


def lesson(space: Space, encoder: str, settings: Settings = DEFAULT) -> Lesson:
    row = {name: at for at, name in enumerate(space.ids)}
    collection, _, variant = space.collection["id"].partition("/")
    judged = []
    for at, query in enumerate(space.collection["queries"]):
        vector = None if space.vectors is None else space.vectors[at]
        asked = question.read_question(query["query"], space.now)
        weighed = score_candidates(
            space.index, asked, vector, allowed=None, now=space.now, settings=settings, every=True
        )
        judged.append(_judged(query, [row[one] for one in query["evidence"] if one in row], weighed, space.index.size))
    return Lesson(space.set, collection, variant, encoder, measure_shape(space.index, candidate_columns.ROLES), judged)


def _judged(query: dict[str, str], evidence: list[int], weighed: Scored | None, size: int) -> Judged:
    if weighed is None:
        none, width = np.empty(0, np.float64), len(features.NAMES)
        return Judged(
            query["id"],
            query["category"],
            len(evidence),
            none.astype(np.bool_),
            np.empty((width, 0), np.float32),
            np.empty((0, width), np.float32),
            none,
            none,
            confidence.QuestionFacts(1.0, 0.0, 0),
        )
    base = (weighed.base.whole(weighed.base.fused) - weighed.loss)[weighed.pool].astype(np.float64)
    return Judged(
        query["id"],
        query["category"],
        len(evidence),
        np.isin(weighed.candidates.rows[weighed.pool], evidence),
        weighed.features,
        features.standardise(weighed.features)[0].T.copy(),
        weighed.base.fused[weighed.pool].astype(np.float64),
        base / weighed.deviation,
        confidence.question_facts(weighed.candidates, size),
    )


def order(scores: Floats) -> NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")


def ranked(one: Judged, weights: Floats | None) -> Floats:
    """Scores of the pool: S, corrected if there are weights."""
    if weights is None:
        return one.base
    moved = one.z @ weights
    return one.base + np.clip(moved, -rank.BOUND, rank.BOUND)


def score(one: Judged, scores: Floats) -> dict[str, float]:
    """Recall and nDCG of an order of the pool; what is not in the pool counts as missed."""
    hits = one.answers[order(scores)]
    names = [f"hit{at}" if hit else f"miss{at}" for at, hit in enumerate(hits)]
    wanted = [name for name in names if name.startswith("hit")]
    lost = [f"lost{at}" for at in range(one.wanted - len(wanted))]
    return measure.scored(names, wanted + lost)
