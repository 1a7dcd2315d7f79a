"""Answer from scored candidates: equal texts folded, confidence, and the reasons for each row."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memory.engine.graph.signal_spread import SignalStep
from memory.engine.index import bm25
from memory.engine.index.space_index import Index
from memory.engine.ranking import confidence, lateral, rank
from memory.engine.ranking.candidates import SOURCES, Candidates, Floats, Mask, Places, Rows
from memory.engine.ranking.scoring import Scored
from memory.engine.ranking.settings import Settings


@dataclass
class Ranking:
    """The answer as rows, with everything a trace records."""

    rows: Rows = field(default_factory=lambda: np.empty(0, np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    confidence: float = 0.0
    sources: list[str] = field(default_factory=list)
    contributions: list[dict[str, float]] = field(default_factory=list)
    matched: list[list[tuple[int, float]]] = field(default_factory=list)
    paths: list[list[SignalStep]] = field(default_factory=list)
    folded: list[list[int]] = field(default_factory=list)
    hops: int = 0
    fallback: bool = False
    expansion: Rows = field(default_factory=lambda: np.empty(0, np.int32))
    lateral: list[int] = field(default_factory=list)  # cluster each row of `expansion` was taken from, 0 for none
    weights: dict[str, object] = field(default_factory=dict)
    caps: list[str] = field(default_factory=list)


def build_ranking(
    index: Index, scored: Scored, k: int, settings: Settings, caps: list[str], allowed: Mask | None = None
) -> Ranking:
    """Order the pool, fold equal texts, and compute confidence and reasons of the best k rows."""
    candidates, pool = scored.candidates, scored.pool
    rows = candidates.rows[pool]
    order = np.lexsort((index.columns["id"][rows], -scored.scores))
    order, folded = _fold_equal_texts(index, rows, order)
    order, folded = _limit_sessions(index, rows, order, folded, k, settings)
    first = order[: confidence.FIRST]
    ranked = scored.scores[order]
    answer_confidence = confidence.confidence(
        ranked, scored.features[:, first], confidence.question_facts(candidates, index.size), scored.gate
    )
    answer_confidence = 1 - (1 - answer_confidence) * (1 - scored.boost.confidence(rows[first]))
    shown = order[:k]
    scores = _squash_scores(ranked[:k], answer_confidence)
    places = pool[shown]
    fallback = not np.logical_or.reduce(candidates.words[places] > 0)
    expansion: Rows = np.empty(0, np.int32)
    clusters: list[int] = []
    if answer_confidence < settings.unsure:
        rest = pool[order[k:]]
        linked = candidates.links[rest] + candidates.hop[rest]
        expansion, clusters = lateral.expand_answer(
            index, rows[shown], candidates.rows[rest], linked, allowed, settings
        )
    paths = [
        scored.spread.path(row) if scored.spread is not None and linked else []
        for row, linked in zip(rows[shown].tolist(), (candidates.links[places] > 0).tolist(), strict=True)
    ]
    return Ranking(
        rows=rows[shown],
        scores=scores,
        confidence=answer_confidence,
        sources=[_SOURCE[bits] for bits in candidates.source[places].tolist()],
        contributions=_score_parts(scored, shown),
        matched=_matched_terms(index, candidates, places),
        paths=paths,
        folded=folded[:k] if folded else [[] for _ in range(len(shown))],
        hops=max((len(path) for path in paths), default=0),
        fallback=bool(fallback),
        expansion=expansion,
        lateral=clusters,
        weights=scored.weights,
        caps=list(dict.fromkeys(caps)),
    )


def _fold_equal_texts(index: Index, rows: Rows, order: Places) -> tuple[Places, list[list[int]]]:
    """Order without repeated texts, and for each row the rows of the same text; no lists if no text is repeated."""
    rows = rows[order]
    digest = index.columns["digest"][rows]
    ordered = digest.copy()
    ordered.sort()
    if not np.logical_or.reduce(ordered[1:] == ordered[:-1]):
        return order, []
    kept: list[int] = []
    folded: list[list[int]] = []
    place_of: dict[int, int] = {}
    for place, text in enumerate(digest.tolist()):
        if text and text in place_of:
            folded[place_of[text]].append(int(rows[place]))
            continue
        place_of[text] = len(kept)
        kept.append(place)
        folded.append([])
    return order[kept], folded


def _limit_sessions(
    index: Index, rows: Rows, order: Places, folded: list[list[int]], k: int, settings: Settings
) -> tuple[Places, list[list[int]]]:
    """Order in which no session fills more than its share of the answer while other sessions have candidates."""
    most = max(int(np.ceil(settings.one_session * k)), 1)
    if most >= k or len(order) <= k:
        return order, folded
    session = index.columns["session"][rows[order]]
    _, inverse = np.unique(session, return_inverse=True)
    by_session = inverse.argsort(kind="stable")
    rank_in_session = np.empty(len(order), np.int64)
    rank_in_session[by_session] = np.arange(len(order)) - inverse[by_session].searchsorted(inverse[by_session])
    above_share = (rank_in_session >= most) & (session != 0)
    moved = above_share.argsort(kind="stable")
    return order[moved], [folded[place] for place in moved.tolist()] if folded else []


def _squash_scores(scores: Floats, confidence: float) -> Floats:
    """Shown scores: the first is the confidence itself, the others decrease with their distance to the first."""
    difference = np.minimum(scores - scores[0], 0)
    squashed: Floats = np.minimum.accumulate(np.float32(confidence) * 2 / (1 + np.exp(-difference / 2))).astype(
        np.float32
    )
    return squashed


# Name of the strongest source by the bits of `Candidates.source`.
_SOURCE = tuple(
    next((name for at, name in enumerate(SOURCES) if bits >> at & 1), SOURCES[-1]) for bits in range(1 << len(SOURCES))
)


# Matched terms that are reported per row: for a whole page as a question, all of them would be megabytes.
MOST_MATCHED = 32
LEVEL = "level"  # contribution that is the same for every candidate
# Names of contributions: the fitted signals in their order, votes, supersession, and the level.
_PARTS = (*("correction" if group == "form" else group for group in rank.GROUPS), "learning", "truth", LEVEL)
_WORDS, _MEANING, _SPEAKER, _TIME = (rank.GROUPS.index(group) for group in ("words", "meaning", "speaker", "time"))


def _score_parts(scored: Scored, shown: Places) -> list[dict[str, float]]:
    """Parts of each score by signal; they add up to the score before squashing.

    A signal that a candidate does not have must not look like a reason: what standardising adds for its absence is the
    same for all candidates and is reported separately, as the level.
    """
    place = scored.pool[shown]
    scale = 1 / scored.deviation
    base = scored.base
    parts = np.zeros((len(_PARTS), len(shown)), np.float32)
    parts[: len(rank.GROUPS)] = scored.parts[:, shown] - scored.level[:, None]
    parts[_WORDS] += base.words[place] * scale
    parts[_MEANING] += base.meaning[place] * scale
    parts[_SPEAKER] += (base.speaker[place] + base.role[place]) * scale
    parts[_TIME] += base.date[place] * scale
    parts[-3] = scored.gains[shown]
    parts[-2] = scored.behind[shown] - scored.loss[place] * scale
    parts[-1] = scored.level.sum()
    return [{name: part for name, part in zip(_PARTS, row, strict=True) if part} for row in parts.T.tolist()]


def _matched_terms(index: Index, candidates: Candidates, places: Places) -> list[list[tuple[int, float]]]:
    """Per row: places of the matched terms in the question and their scores; at most MOST_MATCHED, the highest."""
    asked = candidates.asked
    parts = bm25.by_term(
        index, candidates.rows[places], candidates.counts[:, places], asked.idf, bm25.bm25_parameters(index)
    )
    term_places = asked.places.tolist()
    if len(term_places) > MOST_MATCHED:
        most = np.sort((-parts).argsort(axis=0, kind="stable")[:MOST_MATCHED], axis=0)
        return [
            [(term_places[at], part) for at, part in zip(which, row[which].tolist(), strict=True) if part]
            for which, row in zip(most.T.tolist(), parts.T, strict=True)
        ]
    return [[(place, part) for place, part in zip(term_places, row, strict=True) if part] for row in parts.T.tolist()]
