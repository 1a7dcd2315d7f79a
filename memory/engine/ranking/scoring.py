"""Scoring of candidates: cheap columns for all of them, full features for the best (the pool)."""

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
from memory.engine.ranking.candidates import BY_LEARNING, BY_LINK, BY_STANDING, Candidates, Floats, Mask, Places
from memory.engine.ranking.collection_shape import CollectionShape, space_facts
from memory.engine.ranking.linked_candidates import LinkedCandidates
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text.question import Query


@dataclass
class Scored:
    """The pool with its scores in parts, as fitting and explanations need them."""

    candidates: Candidates
    pool: Places  # indices of the fully scored candidates
    base: FusionParts
    loss: Floats  # penalty of superseded and contradicted ones in S, by candidate
    features: Floats  # raw features [features, pool]
    parts: Floats  # correction by group [groups, pool]
    level: Floats  # correction of a candidate without the signal, by group
    behind: Floats  # penalty that ranks a candidate behind its successor, by pool
    gains: Floats  # effect of votes, by pool
    scores: Floats  # before squashing
    deviation: float
    spread: Spread | None
    weights: dict[str, object]
    gate: float
    boost: vote_boost.VoteBoost


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
    """Candidates with their scores, or None if nothing answers.

    `every` computes all features also where no weight uses them, which fitting needs.
    """
    caps = [] if caps is None else caps
    vector = None if "meaning" in settings.without or index.dense is None else vector
    asked = query if "words" not in settings.without else None
    if not index.size or not query.terms:
        return None
    # If all rows are allowed, no mask is needed.
    mask = None if allowed is not None and index.open(allowed) == index.size else allowed
    matches = candidates.search(index, query, vector, mask, depth=settings.depth, standing=settings.standing, caps=caps)
    if asked is None:
        matches.words = (matches.words[0][:0], matches.words[1][:0])
    speakers = named_speakers(index, query)
    space = space_facts(index, ROLES)
    linked = LinkedCandidates(index, space, query, vector, matches, speakers, allowed, now, settings, caps)
    boost = vote_boost.NO_BOOST
    if "learning" not in settings.without:
        boost = vote_boost.compute_boost(index.learned, query, vector, index, settings.learning, allowed)
    has_lead = len(linked.entry_links[0]) or len(linked.dated) or len(boost.candidates)
    if not has_lead and _is_nonsense(matches, settings):
        return None
    more = [(linked.rows, BY_LINK), (boost.candidates, BY_LEARNING)]
    gathered = candidates.gather_candidates(index, query, vector, matches, mask, more, sessions=space.sessions)
    if asked is None:
        gathered.counts[:] = 0
        gathered.words[:] = 0
        gathered.best_words = 0.0
    if not len(gathered.rows):
        return None
    linked.fill_columns(gathered)
    without = settings.without
    columns = compute_columns(
        index,
        space,
        query,
        gathered,
        speakers,
        balance=settings.balance,
        speaker=0.0 if "speaker" in without else settings.speaker,
        role=0.0 if "speaker" in without else settings.role,
        date=0.0 if "time" in without else settings.date,
    )
    loss = supersession.supersession_loss(index, gathered.rows, allowed, settings)
    pool = _choose_pool(index, columns, loss, settings)
    weights, description = _cached_weights(index, ranker, space.shape, None if "own" in without else index.own)
    corrects = bool(np.logical_or.reduce(weights))
    raw = (
        features.measure_features(index, query, columns, pool)
        if every or corrects
        else features.confidence_features(index, columns, pool)
    )
    if without:
        for at, group in enumerate(features.FEATURES.values()):
            if group in without:
                raw[at] = 0
    base = (columns.whole - loss)[pool]
    deviation = max(_deviation(base), rank.LEAST_DEVIATION)
    corrected, level = rank.correction(raw, weights)
    scores = base / np.float32(deviation)
    if corrects:
        scores += np.add.reduce(corrected, axis=0)
    gains = boost.gains(gathered.rows[pool], scores, settings.learning)
    gained = scores + gains
    behind = supersession.successor_penalty(index, gathered.rows[pool], gained)
    return Scored(
        gathered,
        pool,
        columns.base,
        loss,
        raw,
        corrected,
        level,
        behind,
        gains,
        gained + behind,
        deviation,
        linked.spread,
        description,
        float(description["gate"]),  # type: ignore[arg-type]
        boost,
    )


def _cached_weights(
    index: Index, ranker: rank.Ranker, shape: CollectionShape, own: SpaceWeights | None
) -> tuple[Floats, dict[str, object]]:
    """Weights and description, cached on the index until the ranker, the shape or the space's own weights change."""
    cached = vars(index).get("_weights")
    if cached is None or cached[0] is not ranker or cached[1] is not shape or cached[2] is not own:
        cached = ranker, shape, own, ranker.weights(shape, own)
        vars(index)["_weights"] = cached
    weights: tuple[Floats, dict[str, object]] = cached[3]
    return weights


def _deviation(values: Floats) -> float:
    centred = values - np.add.reduce(values) / np.float32(len(values))
    return math.sqrt(float(centred @ centred) / len(values))


def _is_nonsense(matches: candidates.SearchMatches, settings: Settings) -> bool:
    """Whether no word is known and the nearest vector is no nearer than random ones.

    Deviations from the mean of the space do not help: letters typed at random deviate as much as questions.
    """
    if len(matches.words[0]):
        return False
    return not len(matches.meaning[0]) or float(matches.meaning[1][0]) < settings.noise


def _choose_pool(index: Index, columns: CandidateColumns, loss: Floats, settings: Settings) -> Places:
    """Candidates that are fully scored: the best by plain fusion, the others by all cheap signals."""
    candidates, fused = columns.candidates, columns.fused
    if len(candidates.rows) <= settings.pool:
        return np.arange(len(candidates.rows))
    grain_id = index.columns["id"][candidates.rows]
    signals = candidates.hop + candidates.cites + candidates.links + candidates.entry_links + np.float32(0.5) * fused
    if columns.beside is not None:
        previous, following = values_at(fused, columns.beside[0]), values_at(fused, columns.beside[1])
        signals += previous + (previous + following) / 4 + columns.session_best
    priority = columns.whole - loss + np.float32(settings.beside) * signals
    priority[np.lexsort((grain_id, -fused))[: settings.plain]] = np.inf
    priority[candidates.source & (BY_STANDING | BY_LEARNING) != 0] = np.inf
    return np.sort(np.lexsort((grain_id, -priority))[: settings.pool])
