"""Effect of earlier votes on the ranking of a question.

The question is compared with the few judged questions nearest to it. Similarity is measured above what questions of
this space have in common anyway (names, ways of asking):

    z = n (cosine - m) / (1 - m),   m = mean cosine to every judged question, drawn to .4 while there are few,
                                    n = share of the question's names and numbers that the judged one has too
    log share = -7.55 + 1.15 z + 5.5 max(z - .6, 0) + 2.35 shared idf / joint idf
                + 1.5 (share of the question's idf that the judged one has and the grain does not)
                + 2 (share that the grain has and the judged one does not)
                + .39 ln(place the grain had in the judged answer);   same terms: 4 - 6 (1 - z)

A share is a share of the answer's probability. Scores order candidates like logarithms of probability, so the share of
a useful grain is added there (`VoteBoost.gains`), not to its score: a low ranked grain may rise to where such a
question usually has its answer, but passes the first only if the questions are nearly the same.

A vote counts more the less matching finds without it: for terms the grain does not have, and for a low place in the
judged answer; also for terms the grain has beyond the judged question. A grain's record over all questions counts a
little for any question (`_record_gains`). Grains nobody judged gain or lose a little by their position along the vote
direction (`vote_direction.py`). How the numbers were fitted is described in docs/algorithms.md.
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
    """All numbers of the effect of votes on an answer."""

    # 1..64. Nearest judged questions that are used, by meaning; without vectors by words.
    nearest: int = 8
    # -12..0. Logarithm of the share of a useful grain from a question of similarity 0.
    alike: float = -7.55
    # 0..20. Increase of the logarithm from similarity 0 to similarity 1.
    slope: float = 1.15
    # 0..40. Additional increase above the similarity `near`.
    steep: float = 5.5
    # 0..1. Similarity above which two questions are nearly the same.
    near: float = 0.6
    # 0..5. Increase of the logarithm if all rare words are the same.
    words: float = 2.35
    # 0..10. Increase if all words of the question are in the judged one and none in the grain.
    lacking: float = 1.5
    # 0..10. Increase if all words of the question are in the grain and none in the judged one.
    beyond: float = 2.0
    # 0..10. Logarithm of the share if the same question is asked again.
    same: float = 4.0
    # 0..20. Decrease of `same` if only the terms are the same and the similarity of the vectors is 0.
    grammar: float = 6.0
    # 0..1. Weight of a grain's own score in its share.
    own: float = 0.49
    # 0..20. Deviations that a grain loses if it was not useful for the same question.
    loss: float = 5.0
    # 0..1. Similarity above which a grain that was not useful begins to lose.
    loss_near: float = 0.85
    # -12..0. Logarithm of the share from links of the question's terms if they cover none of its weight.
    link: float = -8.0
    # 0..20. Increase of this logarithm if they cover all of its weight.
    link_slope: float = 5.5
    # 0..1. Share of the question's weight below which links are ignored.
    link_least: float = 0.5
    # -12..0. Logarithm of the share from which on a grain becomes a candidate even if no search matched it.
    least: float = -4.5
    # 1..1,000. Number of questions above which usefulness for many questions reduces the share for each.
    breadth: int = 8
    # 0..2. Deviations that a grain gains for any question, for each e-fold of the lowest place at which it was useful.
    missed: float = 0.1
    # 0..2. Deviations that a grain loses for any question, for each e-fold of the questions it was not useful for.
    vain: float = 0.55
    # 1..100. Number of such questions plus one at which this loss begins.
    vain_free: float = 2.0
    # 0..5. Highest number of e-folds of this loss.
    vain_most: float = 1.5
    # 0..1. Part of this loss that is waived if the grain has all words of the question.
    vain_words: float = 1.0
    # 0..2. Increase of the logarithm of the share for each e-fold of the grain's place in the judged answer.
    place: float = 0.39
    # 0..1. Prior of the mean cosine of two questions.
    common: float = 0.4
    # 0..100. Weight of this prior, in judged questions.
    common_weight: int = 8
    # 0..5. Deviations that a grain gains per unit along the vote direction of similar questions.
    lean: float = 0.35
    # 0..5. Highest gain or loss along the vote direction, in deviations.
    lean_most: float = 0.25


DEFAULT = VoteSettings()
_FURTHEST = -9.0  # lower logarithms of a candidate's own share count as this
_MIDDLE = 5.0  # minus the logarithm of an average share
_MOST_LINKED = 256  # a term linked to more grains is ignored
_ROOT = 1 / 3  # without vectors, shared weight is raised to this power: questions share fewer words than meaning


@dataclass
class VoteBoost:
    """Effect of votes on one question: rows in ascending order, each with its share and its loss."""

    rows: Rows
    share: Floats  # logarithm; -inf for none
    loss: Floats  # deviations
    reasons: list[tuple[str, int, float]]  # "question" or "term", its key, and the similarity or the covered share
    certain: NDArray[np.bool_]  # the same question was asked before
    candidates: Rows  # rows that become candidates even if no search matched them
    learned: Learned | None = None
    dense: Dense | None = None
    direction: Floats | None = None  # vote direction of similar questions
    terms: term_overlap.QuestionTerms | None = None

    def gains(self, rows: Rows, scores: Floats, settings: VoteSettings = DEFAULT) -> Floats:
        """Gain or loss of each of these candidates, given the scores of all."""
        if self.learned is None:
            return np.zeros(len(rows), np.float32)
        gains = self._share_gains(rows, scores, settings.own) + _record_gains(self.learned, self.terms, rows, settings)
        if self.direction is not None and self.dense is not None and len(rows):
            along = np.float32(settings.lean) * vote_direction.distance_along(self.direction, self.dense, rows)
            gains += np.clip(along, -settings.lean_most, settings.lean_most)
        return gains

    def _share_gains(self, rows: Rows, scores: Floats, own: float) -> Floats:
        if not len(self.rows):
            return np.zeros(len(rows), np.float32)
        place = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
        present = rows[place] == self.rows
        place, share, loss, certain = place[present], self.share[present], self.loss[present], self.certain[present]
        gains = np.zeros(len(rows), np.float32)
        if not len(place):
            return gains
        peak = float(scores.max())
        log_total = peak + np.log(np.exp(scores.astype(np.float64) - peak).sum())
        own_share = scores[place] - log_total
        share = np.where(certain, share, share + own * (np.maximum(own_share, _FURTHEST) + _MIDDLE))
        gains[place] = np.logaddexp(own_share, share) - own_share - loss
        return gains

    def confidence(self, rows: Rows) -> float:
        """Probability that one of these rows answers, by votes alone."""
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
    """Effect of votes on this question; the cost does not grow with the number of votes."""
    if not learned or not len(query.keys):
        return NO_BOOST
    keys = frozenset(query.keys.tolist())
    shares = _VoteShares(settings, learned)
    same: set[int] = learned.by_terms.get(keys, set())
    near = question_similarity.nearest_by_meaning(
        learned, vector, settings.nearest, settings.common, settings.common_weight
    )
    by_words = [] if near else question_similarity.sharing_words(learned, keys)
    questions = [(key, learned.questions[key]) for key in sorted(same | near.keys() | set(by_words))]
    direction = vote_direction.direction(((judged, near.get(key, 0.0)) for key, judged in questions), index, allowed)
    weights = question_similarity.term_weights(index, keys.union(*(judged.terms for _, judged in questions)))
    word_similarity = {key: question_similarity.shared_weight(weights, keys, judged.terms) for key, judged in questions}
    if not near:
        best = sorted(word_similarity, key=lambda key: (-word_similarity[key], key))[: settings.nearest]
        near = {key: word_similarity[key] ** _ROOT for key in best}
    names = question_similarity.naming_terms(query)
    used = [(key, judged) for key, judged in questions if key in same or key in near]
    terms = term_overlap.QuestionTerms(index, query, weights)
    difference = term_overlap.TermDifference(terms, used, index.size)
    for key, judged in used:
        # Two questions of one form are similar in everything but their names and numbers.
        shared = len(names & judged.terms) / len(names) if names else 1.0
        shares.add_question(key, judged, near.get(key, 1.0) * shared, word_similarity[key], key in same, difference)
    _add_links(learned, keys, names, weights, shares, settings)
    boost = shares.to_boost(index, allowed)
    boost.dense, boost.direction, boost.terms = index.dense, direction, terms
    return boost


def _record_gains(
    learned: Learned, terms: term_overlap.QuestionTerms | None, rows: Rows, settings: VoteSettings
) -> Floats:
    """Small, bounded gains and losses of grains for any question, from their record.

    A grain that was useful at a low place deserves more than matching gives it. One that was repeatedly not useful
    deserves less: it matches every question and answers none. The loss is reduced if the grain has the words of the
    present question, because then it was not matched for being similar to everything.
    """
    gains = np.zeros(len(rows), np.float32)
    behind, useless = learned.behind, learned.useless
    indices: list[int] = []
    for at, row in enumerate(rows.tolist()):
        if row in behind:
            gains[at] = settings.missed * math.log(max(behind[row]))
        if row in useless:
            indices.append(at)
    if indices:
        counts = np.array([useless[row] for row in rows[indices].tolist()], np.float32)
        folds = np.clip(np.log((1 + counts) / np.float32(settings.vain_free)), 0, settings.vain_most)
        cover = terms.cover(rows[indices]) if terms is not None else 0.0
        gains[indices] -= settings.vain * folds * (1 - settings.vain_words * cover)
    return gains


def _add_links(
    learned: Learned,
    keys: frozenset[int],
    names: set[int],
    weights: dict[int, float],
    shares: _VoteShares,
    settings: VoteSettings,
) -> None:
    """Add grains linked to terms of the question, by the share of its weight that the terms cover.

    A term of many judged questions is part of how people ask, so its links count less. Names and numbers of the
    question must be among the linked terms.
    """
    total = sum(weights[term] for term in keys)
    if total <= 0:
        return
    named = {term for term in names if weights[term] > 0}
    covered: dict[int, float] = {}
    named_count: dict[int, int] = {}
    for term in sorted(keys):  # in a fixed order: sums of floats depend on it
        rows = learned.links.get(term)
        if rows and weights[term] > 0 and len(rows) <= _MOST_LINKED:
            weight = weights[term] / math.log2(1 + len(learned.by_term[term]))
            for row, credit in rows.items():
                covered[row] = covered.get(row, 0.0) + weight * min(credit / FULL_CREDIT, 1.0)
                named_count[row] = named_count.get(row, 0) + (term in named)
    for row, cover in covered.items():
        share = cover / total * (named_count[row] / len(named) if named else 1.0)
        if share >= settings.link_least:
            shares.add_link(row, share)


class _VoteShares:
    """Collects shares and losses by row; of several questions the strongest counts."""

    def __init__(self, settings: VoteSettings, learned: Learned) -> None:
        self.settings, self.learned = settings, learned
        self.share: dict[int, float] = {}
        self.loss: dict[int, float] = {}
        self.certain: set[int] = set()
        self.reasons: dict[int, tuple[str, int, float]] = {}

    def add_question(
        self,
        key: int,
        judged: QuestionCredits,
        similarity: float,
        words: float,
        same: bool,
        difference: term_overlap.TermDifference,
    ) -> None:
        """Add the grains judged for one question; `same`: the question has the same terms."""
        s = self.settings
        share = s.alike + s.slope * similarity + s.steep * max(similarity - s.near, 0.0) + s.words * words
        loss_factor = max((similarity - s.loss_near) / (1 - s.loss_near), 0.0) ** 2
        if same:  # stop words may differ: "before" and "now" leave the same terms, but the vectors differ
            share, loss_factor = s.same - s.grammar * (1 - similarity), max(similarity, 0.0)
        for row, credit in judged.credits.items():
            part = credit / FULL_CREDIT
            if part > 0:
                increase = 0.0
                if not same:
                    lacking, beyond = difference.shares(key, row)
                    increase = s.place * math.log(judged.places[row]) + s.lacking * lacking + s.beyond * beyond
                self._raise_share(
                    row, min(share + increase, s.same) + math.log(part), ("question", key, similarity), same
                )
            elif loss_factor > 0:
                self.loss[row] = max(self.loss.get(row, 0.0), -part * loss_factor * s.loss)
                self.reasons.setdefault(row, ("question", key, similarity))

    def add_link(self, row: int, cover: float) -> None:
        """Add a grain linked to terms that cover this share of the question's weight."""
        s = self.settings
        self._raise_share(row, s.link + s.link_slope * cover, ("term", 0, cover), False)

    def _raise_share(self, row: int, share: float, reason: tuple[str, int, float], same: bool) -> None:
        if not same:
            share -= float(np.log(max(self.learned.useful.get(row, 1) / self.settings.breadth, 1.0)))
        if share > self.share.get(row, -np.inf):
            self.share[row] = share
            self.reasons[row] = reason
        if same:
            self.certain.add(row)

    def to_boost(self, index: Index, allowed: NDArray[np.bool_] | None) -> VoteBoost:
        rows = sorted(row for row in self.share.keys() | self.loss.keys() if 0 <= row < index.size)
        if allowed is not None:
            rows = [row for row in rows if allowed[row]]
        kept = np.array(rows, np.int32)
        share = np.array([self.share.get(row, -np.inf) for row in rows], np.float32)
        return VoteBoost(
            kept,
            share,
            # Useful for the same question outweighs a loss from a similar one.
            np.array([0.0 if row in self.certain else self.loss.get(row, 0.0) for row in rows], np.float32),
            [self.reasons[row] for row in rows],
            np.array([row in self.certain for row in rows], np.bool_),
            kept[share >= self.settings.least],
            self.learned,
        )
