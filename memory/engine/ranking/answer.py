"""From weighed candidates to an answer: equal texts folded, the confidence, and for each row the reasons."""

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
    """The answer in rows, with everything a receipt keeps."""

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
    lateral: list[int] = field(default_factory=list)  # of each, the cluster it was taken from, 0 for none
    weights: dict[str, object] = field(default_factory=dict)
    caps: list[str] = field(default_factory=list)


def build_ranking(
    index: Index, weighed: Scored, k: int, settings: Settings, caps: list[str], allowed: Mask | None = None
) -> Ranking:
    scene, pool = weighed.scene, weighed.pool
    rows = scene.rows[pool]
    order = np.lexsort((index.columns["id"][rows], -weighed.scores))
    order, folded = _folded(index, rows, order)
    order, folded = _spread_out(index, rows, order, folded, k, settings)
    first = order[: confidence.FIRST]
    ranked = weighed.scores[order]
    sure = confidence.confidence(
        ranked, weighed.found[:, first], confidence.question_facts(scene, index.size), weighed.gate
    )
    sure = 1 - (1 - sure) * (1 - weighed.told.sure(rows[first]))
    shown = order[:k]
    scores = _squashed(ranked[:k], sure)
    places = pool[shown]
    fallback = not np.logical_or.reduce(scene.words[places] > 0)
    expansion: Rows = np.empty(0, np.int32)
    clusters: list[int] = []
    if sure < settings.unsure:
        rest = pool[order[k:]]
        linked = scene.links[rest] + scene.hop[rest]
        expansion, clusters = lateral.expand_answer(index, rows[shown], scene.rows[rest], linked, allowed, settings)
    paths = [
        weighed.spread.path(row) if weighed.spread is not None and linked else []
        for row, linked in zip(rows[shown].tolist(), (scene.links[places] > 0).tolist(), strict=True)
    ]
    return Ranking(
        rows=rows[shown],
        scores=scores,
        confidence=sure,
        sources=[_SOURCE[bits] for bits in scene.source[places].tolist()],
        contributions=_contributions(weighed, shown),
        matched=_matched(index, scene, places),
        paths=paths,
        folded=folded[:k] if folded else [[] for _ in range(len(shown))],
        hops=max((len(path) for path in paths), default=0),
        fallback=bool(fallback),
        expansion=expansion,
        lateral=clusters,
        weights=weighed.weights,
        caps=list(dict.fromkeys(caps)),
    )


def _folded(index: Index, rows: Rows, order: Places) -> tuple[Places, list[list[int]]]:
    """Places of the first row of each text, and for each the rows that say the same; nothing where none does."""
    rows = rows[order]
    digest = index.columns["digest"][rows]
    alike = digest.copy()
    alike.sort()
    if not np.logical_or.reduce(alike[1:] == alike[:-1]):
        return order, []
    kept: list[int] = []
    folded: list[list[int]] = []
    first: dict[int, int] = {}
    for place, text in enumerate(digest.tolist()):
        if text and text in first:
            folded[first[text]].append(int(rows[place]))
            continue
        first[text] = len(kept)
        kept.append(place)
        folded.append([])
    return order[kept], folded


def _spread_out(
    index: Index, rows: Rows, order: Places, folded: list[list[int]], k: int, settings: Settings
) -> tuple[Places, list[list[int]]]:
    """No session fills more than its share of the answer while others wait behind it."""
    most = max(int(np.ceil(settings.one_session * k)), 1)
    if most >= k or len(order) <= k:
        return order, folded
    session = index.columns["session"][rows[order]]
    _, inverse = np.unique(session, return_inverse=True)
    by = inverse.argsort(kind="stable")
    rank_in = np.empty(len(order), np.int64)
    rank_in[by] = np.arange(len(order)) - inverse[by].searchsorted(inverse[by])
    late = (rank_in >= most) & (session != 0)
    moved = late.argsort(kind="stable")
    return order[moved], [folded[place] for place in moved.tolist()] if folded else []


def _squashed(scores: Floats, sure: float) -> Floats:
    """The first gets the confidence itself, the others less by how far they stand behind it."""
    behind = np.minimum(scores - scores[0], 0)
    squashed: Floats = np.minimum.accumulate(np.float32(sure) * 2 / (1 + np.exp(-behind / 2))).astype(np.float32)
    return squashed


# By the bits of what brought a row: the strongest reason.
_SOURCE = tuple(
    next((name for at, name in enumerate(SOURCES) if bits >> at & 1), SOURCES[-1]) for bits in range(1 << len(SOURCES))
)


# Terms of a question that are told of each row: a page as a question would make megabytes of reasons.
MOST_MATCHED = 32
LEVEL = "level"  # of a contribution: what every candidate has
# The fitted signals in their order, then what votes gave, what truth takes, and the level.
_PARTS = (*("correction" if group == "form" else group for group in rank.GROUPS), "learning", "truth", LEVEL)
_WORDS, _MEANING, _SPEAKER, _TIME = (rank.GROUPS.index(group) for group in ("words", "meaning", "speaker", "time"))


def _contributions(weighed: Scored, shown: Places) -> list[dict[str, float]]:
    """The parts of each score by signal; they add up to the score before squashing.

    A signal that a candidate has nothing of must not look like a reason for it: what standardising gives for
    that is the same for all and stands apart, as the level.
    """
    place = weighed.pool[shown]
    scale = 1 / weighed.deviation
    base = weighed.base
    found = np.zeros((len(_PARTS), len(shown)), np.float32)
    found[: len(rank.GROUPS)] = weighed.parts[:, shown] - weighed.level[:, None]
    found[_WORDS] += base.words[place] * scale
    found[_MEANING] += base.meaning[place] * scale
    found[_SPEAKER] += (base.speaker[place] + base.role[place]) * scale
    found[_TIME] += base.date[place] * scale
    found[-3] = weighed.gains[shown]
    found[-2] = weighed.truth[shown] - weighed.loss[place] * scale
    found[-1] = weighed.level.sum()
    return [{name: part for name, part in zip(_PARTS, parts, strict=True) if part} for parts in found.T.tolist()]


def _matched(index: Index, scene: Candidates, places: Places) -> list[list[tuple[int, float]]]:
    """Per row: which term of the question it holds and what that brought; of very many, those that brought most."""
    asked = scene.asked
    parts = bm25.by_term(index, scene.rows[places], scene.counts[:, places], asked.idf, bm25.bm25_parameters(index))
    stands = asked.places.tolist()
    if len(stands) > MOST_MATCHED:
        most = np.sort((-parts).argsort(axis=0, kind="stable")[:MOST_MATCHED], axis=0)
        return [
            [(stands[at], part) for at, part in zip(which, row[which].tolist(), strict=True) if part]
            for which, row in zip(most.T.tolist(), parts.T, strict=True)
        ]
    return [[(place, part) for place, part in zip(stands, row, strict=True) if part] for row in parts.T.tolist()]
