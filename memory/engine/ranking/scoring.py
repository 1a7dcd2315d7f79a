"""Candidates and their scores: everything that may answer is looked at, the best of it weighed in full."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memory.engine.graph.signal_spread import Spread
from memory.engine.index.space_index import Index, SpaceWeights
from memory.engine.learning import vote_boost
from memory.engine.ranking import candidates, features, rank, supersession
from memory.engine.ranking.candidate_columns import (
    ROLES,
    CandidateColumns,
    FusionParts,
    compute_columns,
    named_speakers,
    values_at,
)
from memory.engine.ranking.candidates import BY_LEARNING, BY_LINK, Candidates, Floats, Mask, Places
from memory.engine.ranking.collection_shape import CollectionShape, space_facts
from memory.engine.ranking.linked_candidates import LinkedCandidates
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text.question import Query


@dataclass
class Scored:
    """The pool with its score in parts: what fitting and measuring look at."""

    scene: Candidates
    pool: Places
    base: FusionParts
    loss: Floats  # what truth takes from S, by scene
    found: Floats  # raw features [features, pool]
    parts: Floats  # correction by group [groups, pool]
    level: Floats  # what of it comes from having nothing of a signal, by group
    truth: Floats  # what stands behind its successor, by pool
    gains: Floats  # what votes give and take, by pool
    scores: Floats  # before squashing
    deviation: float
    spread: Spread | None
    weights: dict[str, object]
    gate: float
    told: vote_boost.VoteBoost


def score_candidates(
    index: Index,
    query: Query,
    vector: Floats | None,
    *,
    allowed: Mask | None,
    now: int,
    settings: Settings = DEFAULT,
    ranker: rank.Ranker = rank.FITTED_RANKER,
    caps: list[str] | None = None,
    every: bool = False,
) -> Scored | None:
    """Candidates and their scores, or None if nothing answers. Fitting wants `every` feature, weighed here or not."""
    caps = [] if caps is None else caps
    vector = None if "meaning" in settings.without or index.dense is None else vector
    asked = query if "words" not in settings.without else None
    if not index.size or not query.terms:
        return None
    # Where every row may be seen, nobody need look at a mask.
    mask = None if allowed is not None and index.open(allowed) == index.size else allowed
    finds = candidates.search(index, query, vector, mask, depth=settings.depth, standing=settings.standing, caps=caps)
    if asked is None:
        finds.words = (finds.words[0][:0], finds.words[1][:0])
    named = named_speakers(index, query)
    space = space_facts(index, ROLES)
    linked = LinkedCandidates(index, space, query, vector, finds, named, allowed, now, settings, caps)
    told = vote_boost.NO_BOOST
    if "learning" not in settings.without:
        told = vote_boost.compute_boost(index.learned, query, vector, index, settings.learning, allowed)
    somewhere = len(linked.doors[0]) or len(linked.then) or len(told.candidates)
    if not somewhere and _nonsense(finds, settings):
        return None
    more = [(linked.rows, BY_LINK), (told.candidates, BY_LEARNING)]
    scene = candidates.gather_candidates(index, query, vector, finds, mask, more, sessions=space.sessions)
    if asked is None:
        scene.counts[:] = 0
        scene.words[:] = 0
        scene.best_words = 0.0
    if not len(scene.rows):
        return None
    linked.tell(scene)
    without = settings.without
    seen = compute_columns(
        index,
        space,
        query,
        scene,
        named,
        balance=settings.balance,
        speaker=0.0 if "speaker" in without else settings.speaker,
        role=0.0 if "speaker" in without else settings.role,
        date=0.0 if "time" in without else settings.date,
    )
    loss = supersession.supersession_loss(index, scene.rows, allowed, settings)
    pool = _pool(index, seen, loss, settings)
    whole, said = _weights(index, ranker, space.shape, None if "own" in without else index.own)
    weighs = bool(np.logical_or.reduce(whole))
    found = (
        features.measure_features(index, query, seen, pool)
        if every or weighs
        else features.confidence_features(index, seen, pool)
    )
    if without:
        for at, group in enumerate(features.FEATURES.values()):
            if group in without:
                found[at] = 0
    base = (seen.whole - loss)[pool]
    deviation = max(_deviation(base), rank.LEAST_DEVIATION)
    corrected, level = rank.correction(found, whole)
    scores = base / np.float32(deviation)
    if weighs:
        scores += np.add.reduce(corrected, axis=0)
    gains = told.gains(scene.rows[pool], scores, settings.learning)
    gained = scores + gains
    behind = supersession.successor_penalty(index, scene.rows[pool], gained)
    return Scored(
        scene,
        pool,
        seen.base,
        loss,
        found,
        corrected,
        level,
        behind,
        gains,
        gained + behind,
        deviation,
        linked.spread,
        said,
        float(said["gate"]),  # type: ignore[arg-type]
        told,
    )


def _weights(
    index: Index, ranker: rank.Ranker, shape: CollectionShape, own: SpaceWeights | None
) -> tuple[Floats, dict[str, object]]:
    """Kept beside the index until the space has another shape, or other weights of its own."""
    held = vars(index).get("_weights")
    if held is None or held[0] is not ranker or held[1] is not shape or held[2] is not own:
        held = ranker, shape, own, ranker.weights(shape, own)
        vars(index)["_weights"] = held
    found: tuple[Floats, dict[str, object]] = held[3]
    return found


def _deviation(values: Floats) -> float:
    away = values - np.add.reduce(values) / np.float32(len(values))
    return math.sqrt(float(away @ away) / len(values))


def _nonsense(finds: candidates.SearchMatches, settings: Settings) -> bool:
    """No word is known, and the nearest vector is no nearer than chance has it.

    Deviations from the mean of the space do not tell: letters typed at random stand out as far as questions do.
    """
    if len(finds.words[0]):
        return False
    return not len(finds.meaning[0]) or float(finds.meaning[1][0]) < settings.noise


def _pool(index: Index, seen: CandidateColumns, loss: Floats, settings: Settings) -> Places:
    """The rows that are weighed in full: the first by plain fusion, the rest by all that is cheap to know."""
    scene, fused = seen.scene, seen.fused
    if len(scene.rows) <= settings.pool:
        return np.arange(len(scene.rows))
    number = index.columns["id"][scene.rows]
    more = scene.hop + scene.cites + scene.links + scene.doors + np.float32(0.5) * fused
    if seen.beside is not None:
        before, after = values_at(fused, seen.beside[0]), values_at(fused, seen.beside[1])
        more += before + (before + after) / 4 + seen.session_best
    wish = seen.whole - loss + np.float32(settings.beside) * more
    wish[np.lexsort((number, -fused))[: settings.plain]] = np.inf
    wish[scene.source & (candidates.BY_STANDING | BY_LEARNING) != 0] = np.inf
    return np.sort(np.lexsort((number, -wish))[: settings.pool])
