"""What votes are worth to a question asked now.

It is compared with the few judged questions nearest to it. How alike two are is measured above what questions of
this space have in common anyway (its names, its way of asking):

    z = n (cosine - m) / (1 - m),   m = mean cosine to every judged question, drawn to .4 while there are few,
                                    n = share of the question's names and numbers that the judged one holds too
    log share = -7.55 + 1.15 z + 5.5 max(z - .6, 0) + 2.35 shared idf / joint idf
                + 1.5 (share of the question's idf that the judged one holds and the grain does not)
                + 2 (share that the grain holds and the judged one does not)
                + .39 ln(place the grain had in the judged answer);   same terms: 4 - 6 (1 - z)

A share is one of the answer's probability. Scores order candidates like logarithms of probability, so a useful
grain's share is added there (`Boost.gains`), not to its score: one that ranks low may rise to where such a question
usually has its answer, but passes the first only when the questions are nearly the same.

How a vote counts elsewhere depends on what matching knew without it: what was found first needs no help. So words the
grain does not hold, and a place far behind, count more; so do words the grain holds beyond the judged question; and a
grain's record counts a little whatever is asked (`_standing`). Grains nobody judged gain or lose a little by lying
where the answers of like questions lie (`lean.py`). How the numbers were fitted is told in docs/algorithms.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.dense import Dense
from memory.engine.index.space_index import Index
from memory.engine.learning import question_similarity, term_overlap, vote_direction
from memory.engine.learning.learned import FULL_CREDIT, Learned, QuestionCredits
from memory.engine.text.question import Query

Rows = NDArray[np.int32]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class VoteSettings:
    """Every number that shapes what a vote does to an answer."""

    # 1..64. Judged questions nearest in meaning, and as many nearest in words, that have a say.
    nearest: int = 8
    # -12..0. Logarithm of the share a useful grain gets from a question no more alike than any.
    alike: float = -7.55
    # 0..20. What it gains from there to the same question.
    slope: float = 1.15
    # 0..40. What it gains on top, above `near`.
    steep: float = 5.5
    # 0..1. Likeness from which on two questions are nearly the same.
    near: float = 0.6
    # 0..5. What it is worth when all rare words are the same.
    words: float = 2.35
    # 0..10. What it is worth when all words of the question stand in the judged one and none in the grain.
    lacking: float = 1.5
    # 0..10. What it is worth when all words of the question stand in the grain and none in the judged one.
    beyond: float = 2.0
    # 0..10. Logarithm of the share when the same question is asked again.
    same: float = 4.0
    # 0..20. What of that is lost when only the terms are the same, and the vectors as unlike as any.
    grammar: float = 6.0
    # 0..1. How much what else speaks for a grain counts in its share.
    own: float = 0.49
    # 0..20. Deviations that a grain loses that was not useful for the same question.
    loss: float = 5.0
    # 0..1. Likeness from which on it begins to lose.
    loss_near: float = 0.85
    # -12..0 and 0..20. Logarithm of the share from links of the question's terms: of none of its weight, and of all.
    link: float = -8.0
    link_slope: float = 5.5
    # 0..1. Share of the question's weight below which links say nothing.
    link_least: float = 0.5
    # -12..0. Logarithm of the share from which on a grain is looked at that nothing else found.
    least: float = -4.5
    # 1..1,000. Questions from which on a grain counts as useful for anything, which says little of each.
    breadth: int = 8
    # 0..2. Deviations, for each e-fold of the place it once was useful from, that a grain gains whatever is asked.
    missed: float = 0.1
    # 0..2. Deviations it loses for each e-fold of the questions it was shown for in vain,
    vain: float = 0.55
    # 1..100. beyond this number of them less one,
    vain_free: float = 2.0
    # 0..5. up to so many e-folds,
    vain_most: float = 1.5
    # 0..1. less this part of it where the grain holds all words of the question.
    vain_words: float = 1.0
    # 0..2. Logarithm of the share, for each e-fold of the place the grain had for the judged question.
    place: float = 0.39
    # 0..1 and 0..100. The mean cosine of questions where few are judged, and how many outweigh it.
    common: float = 0.4
    common_weight: int = 8
    # 0..5. Deviations a grain gains for lying where the answers of like questions lie, and not what was shown in vain,
    lean: float = 0.35
    # 0..5. and at most so many, or loses.
    lean_most: float = 0.25


DEFAULT = VoteSettings()
_FURTHEST = -9.0  # below this share, nothing speaks for a candidate at all
_MIDDLE = 5.0  # minus the logarithm of a share that is neither likely nor unlikely
_MOST_LINKED = 256  # grains behind one term that are looked at
_ROOT = 1 / 3  # without vectors: shared words are fewer than shared meaning


@dataclass
class VoteBoost:
    """What votes say to one question: rows ascending, each with its share and its loss."""

    rows: Rows
    share: Floats  # logarithm; -inf for none
    loss: Floats  # deviations
    reasons: list[tuple[str, int, float]]  # "question" or "term", its key, how alike or how much of the question
    certain: NDArray[np.bool_]  # the same question was asked before
    candidates: Rows  # those that are looked at even if nothing else found them
    learned: Learned | None = None
    dense: Dense | None = None
    toward: Floats | None = None  # the way the answers of like questions lie
    worded: term_overlap.QuestionTerms | None = None

    def gains(self, rows: Rows, scores: Floats, settings: VoteSettings = DEFAULT) -> Floats:
        """What each of these candidates gains or loses, given the scores of all."""
        if self.learned is None:
            return np.zeros(len(rows), np.float32)
        found = self._shared(rows, scores, settings.own) + _standing(self.learned, self.worded, rows, settings)
        if self.toward is not None and self.dense is not None and len(rows):
            far = np.float32(settings.lean) * vote_direction.distance_along(self.toward, self.dense, rows)
            found += np.clip(far, -settings.lean_most, settings.lean_most)
        return found

    def _shared(self, rows: Rows, scores: Floats, own: float) -> Floats:
        if not len(self.rows):
            return np.zeros(len(rows), np.float32)
        place = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
        here = rows[place] == self.rows
        place, share, loss, certain = place[here], self.share[here], self.loss[here], self.certain[here]
        gained = np.zeros(len(rows), np.float32)
        if not len(place):
            return gained
        peak = float(scores.max())
        whole = peak + np.log(np.exp(scores.astype(np.float64) - peak).sum())
        has = scores[place] - whole
        share = np.where(certain, share, share + own * (np.maximum(has, _FURTHEST) + _MIDDLE))
        gained[place] = np.logaddexp(has, share) - has - loss
        return gained

    def sure(self, rows: Rows) -> float:
        """The probability that one of these rows answers, by votes alone."""
        if not len(self.rows):
            return 0.0
        shares = self.share[np.isin(self.rows, rows)]
        best = float(np.exp(min(shares.max(initial=-np.inf), 20.0)))
        return best / (1 + best)


_NONE = np.empty(0, np.int32)
NO_BOOST = VoteBoost(_NONE, np.empty(0, np.float32), np.empty(0, np.float32), [], np.empty(0, np.bool_), _NONE)


def compute_boost(
    learned: Learned | None,
    query: Query,
    vector: Floats | None,
    index: Index,
    settings: VoteSettings = DEFAULT,
    allowed: NDArray[np.bool_] | None = None,
) -> VoteBoost:
    """What votes say to this question; the cost does not grow with their number."""
    if not learned or not len(query.keys):
        return NO_BOOST
    keys = frozenset(query.keys.tolist())
    told = _VoteShares(settings, learned)
    same: set[int] = learned.by_terms.get(keys, set())
    near = question_similarity.nearest_by_meaning(
        learned, vector, settings.nearest, settings.common, settings.common_weight
    )
    by_words = [] if near else question_similarity.sharing_words(learned, keys)
    questions = [(key, learned.questions[key]) for key in sorted(same | near.keys() | set(by_words))]
    toward = vote_direction.direction(((judged, near.get(key, 0.0)) for key, judged in questions), index, allowed)
    weights = question_similarity.term_weights(index, keys.union(*(judged.terms for _, judged in questions)))
    in_words = {key: question_similarity.shared_weight(weights, keys, judged.terms) for key, judged in questions}
    if not near:
        best = sorted(in_words, key=lambda key: (-in_words[key], key))[: settings.nearest]
        near = {key: in_words[key] ** _ROOT for key in best}
    about = question_similarity.naming_terms(query)
    heard = [(key, judged) for key, judged in questions if key in same or key in near]
    worded = term_overlap.QuestionTerms(index, query, weights)
    apart = term_overlap.TermDifference(worded, heard, index.size)
    for key, judged in heard:
        # Two questions of one form are alike in everything but what they are about.
        shared = len(about & judged.terms) / len(about) if about else 1.0
        told.question(key, judged, near.get(key, 1.0) * shared, in_words[key], key in same, apart)
    _linked(learned, keys, about, weights, told, settings)
    found = told.boost(index, allowed)
    found.dense, found.toward, found.worded = index.dense, toward, worded
    return found


def _standing(
    learned: Learned, worded: term_overlap.QuestionTerms | None, rows: Rows, settings: VoteSettings
) -> Floats:
    """What votes say of grains whatever is asked: little, and it is bounded.

    One that was useful and stood far behind is worth more than it looks. One that was shown again and again in vain
    is worth less: it is like every question, and answers none. Unless it holds what is asked for now: then it is not
    here for being like everything.
    """
    found = np.zeros(len(rows), np.float32)
    behind, useless = learned.behind, learned.useless
    in_vain: list[int] = []
    for at, row in enumerate(rows.tolist()):
        if row in behind:
            found[at] = settings.missed * math.log(max(behind[row]))
        if row in useless:
            in_vain.append(at)
    if in_vain:
        shown = np.array([useless[row] for row in rows[in_vain].tolist()], np.float32)
        vain = np.clip(np.log((1 + shown) / np.float32(settings.vain_free)), 0, settings.vain_most)
        cover = worded.cover(rows[in_vain]) if worded is not None else 0.0
        found[in_vain] -= settings.vain * vain * (1 - settings.vain_words * cover)
    return found


def _linked(
    learned: Learned,
    keys: frozenset[int],
    about: set[int],
    weights: dict[int, float],
    told: _VoteShares,
    settings: VoteSettings,
) -> None:
    """Grains that terms of the question lead to, by the share of its weight that they cover.

    A term that many judged questions hold is part of how people ask: it leads nowhere in particular. What a question
    names must lead there too.
    """
    whole = sum(weights[term] for term in keys)
    if whole <= 0:
        return
    named = {term for term in about if weights[term] > 0}
    covered: dict[int, float] = {}
    met: dict[int, int] = {}
    for term in sorted(keys):  # in a fixed order: sums of floats depend on it
        rows = learned.links.get(term)
        if rows and weights[term] > 0 and len(rows) <= _MOST_LINKED:
            weight = weights[term] / math.log2(1 + len(learned.by_term[term]))
            for row, credit in rows.items():
                covered[row] = covered.get(row, 0.0) + weight * min(credit / FULL_CREDIT, 1.0)
                met[row] = met.get(row, 0) + (term in named)
    for row, cover in covered.items():
        share = cover / whole * (met[row] / len(named) if named else 1.0)
        if share >= settings.link_least:
            told.link(row, share)


class _VoteShares:
    """Shares and losses by row while they are gathered: of several questions, the strongest counts."""

    def __init__(self, settings: VoteSettings, learned: Learned) -> None:
        self.settings, self.learned = settings, learned
        self.share: dict[int, float] = {}
        self.loss: dict[int, float] = {}
        self.certain: set[int] = set()
        self.reasons: dict[int, tuple[str, int, float]] = {}

    def question(
        self,
        key: int,
        judged: QuestionCredits,
        near: float,
        words: float,
        same: bool,
        apart: term_overlap.TermDifference,
    ) -> None:
        s = self.settings
        share = s.alike + s.slope * near + s.steep * max(near - s.near, 0.0) + s.words * words
        lost = max((near - s.loss_near) / (1 - s.loss_near), 0.0) ** 2
        if same:  # grammar may differ: "before" and "now" leave the same terms, and the vector tells them apart
            share, lost = s.same - s.grammar * (1 - near), max(near, 0.0)
        for row, credit in judged.credits.items():
            part = credit / FULL_CREDIT
            if part > 0:
                more = 0.0
                if not same:
                    lacking, beyond = apart.shares(key, row)
                    more = s.place * math.log(judged.places[row]) + s.lacking * lacking + s.beyond * beyond
                self._give(row, min(share + more, s.same) + math.log(part), ("question", key, near), same)
            elif lost > 0:
                self.loss[row] = max(self.loss.get(row, 0.0), -part * lost * s.loss)
                self.reasons.setdefault(row, ("question", key, near))

    def link(self, row: int, cover: float) -> None:
        s = self.settings
        self._give(row, s.link + s.link_slope * cover, ("term", 0, cover), False)

    def _give(self, row: int, share: float, reason: tuple[str, int, float], same: bool) -> None:
        if not same:
            share -= float(np.log(max(self.learned.useful.get(row, 1) / self.settings.breadth, 1.0)))
        if share > self.share.get(row, -np.inf):
            self.share[row] = share
            self.reasons[row] = reason
        if same:
            self.certain.add(row)

    def boost(self, index: Index, allowed: NDArray[np.bool_] | None) -> VoteBoost:
        rows = sorted(row for row in self.share.keys() | self.loss.keys() if 0 <= row < index.size)
        if allowed is not None:
            rows = [row for row in rows if allowed[row]]
        found = np.array(rows, np.int32)
        share = np.array([self.share.get(row, -np.inf) for row in rows], np.float32)
        return VoteBoost(
            found,
            share,
            # Useful for the same question outweighs what a like one said.
            np.array([0.0 if row in self.certain else self.loss.get(row, 0.0) for row in rows], np.float32),
            [self.reasons[row] for row in rows],
            np.array([row in self.certain for row in rows], np.bool_),
            found[share >= self.settings.least],
            self.learned,
        )
