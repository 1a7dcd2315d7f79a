"""Columns of the candidates of a question: plain fusion, the priors, and neighbours in the session.

Plain fusion is the weighted sum of the scores by words and by meaning. A prior is a bonus or penalty that does not
depend on either: for the speaker, the role of the speaker, and the date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import SECOND, Index
from memory.engine.ranking.candidates import REACH, Candidates, Floats, Places, neighbours
from memory.engine.ranking.collection_shape import SpaceFacts
from memory.engine.text import words
from memory.engine.text.question import Query

ROLES = words.keys(["@user", "@human", "@assistant", "@ai", "@bot", "@system", "@model"])
_OF_PEOPLE, _OF_MACHINES = ROLES[:2], ROLES[2:]


@dataclass
class FusionParts:
    """Plain fusion (words and meaning) and the priors speaker, role and date, as parts that add up."""

    words: Floats
    meaning: Floats
    speaker: Floats
    role: Floats
    date: Floats

    @property
    def fused(self) -> Floats:
        return self.words + self.meaning

    def whole(self, fused: Floats) -> Floats:
        return fused + self.speaker + self.role + self.date


@dataclass
class CandidateColumns:
    """Values by candidate, in the order of `Candidates.rows`."""

    candidates: Candidates
    base: FusionParts
    fused: Floats
    whole: Floats  # with the priors
    words: Floats  # BM25, scaled to 0..1
    meaning: Floats
    named: NDArray[np.uint64]  # speakers the question names
    said_by: NDArray[np.uint64] | None  # keys of speakers; None in a space without speakers
    by_named: Floats
    role: Floats
    dated: Floats
    session_best: Floats
    session_words: Floats
    beside: Places | None  # indices of [1 before, 1 after, 2 before, 2 after], -1 for none; None without sessions


def named_speakers(index: Index, query: Query) -> NDArray[np.uint64]:
    """Keys of the speakers whose names are in the question; roles such as "user" are not names."""
    if not index.speakers:
        return _NOBODY
    asked = set(query.keys.tolist())
    return np.array(
        [key for key, named in index.speakers.items() if not asked.isdisjoint(named) and key not in _ROLE_SET],
        np.uint64,
    )


_NOBODY = np.empty(0, np.uint64)
_ROLE_SET = frozenset(ROLES.tolist())


def compute_columns(
    index: Index,
    space: SpaceFacts,
    query: Query,
    candidates: Candidates,
    named: NDArray[np.uint64],
    *,
    balance: float,
    speaker: float,
    role: float,
    date: float,
) -> CandidateColumns:
    """Columns of all candidates.

    S = F + speaker [by the only one the question names] + role (person +1, machine -1) + date match
    """
    nothing = np.zeros(len(candidates.rows), np.float32)
    said_by, by_named, role_of = None, nothing, nothing
    if index.speakers:
        said_by = index.columns["speaker"][candidates.rows]
        by_named = match_few(said_by, named) if len(named) else nothing
        role_of = role_signs(said_by) if space.roles else nothing
    words_share, meaning_share = candidates.words_share(), candidates.meaning_share()
    # A row without a vector, perhaps because it is not encoded yet, is scored by its words alone, not as unlike.
    weight = np.where(candidates.has, np.float32(balance), np.float32(1))
    date_of = match_dates(index, query, candidates)
    base = FusionParts(
        words=weight * words_share,
        meaning=(1 - weight) * meaning_share,
        speaker=np.float32(speaker if len(named) == 1 else 0) * by_named,
        role=np.float32(role) * role_of,
        date=np.float32(date) * date_of,
    )
    fused = base.fused
    best, cover, beside = nothing, nothing, None
    if space.sessions:
        best, cover = session_mean(index, candidates, fused)
        beside = candidates.at(np.stack(neighbours(index, candidates.rows, REACH)))
    return CandidateColumns(
        candidates,
        base,
        fused,
        base.whole(fused),
        words_share,
        meaning_share,
        named,
        said_by,
        by_named,
        role_of,
        date_of,
        best,
        cover,
        beside,
    )


def values_at(values: Floats, places: Places) -> Floats:
    """Values at these indices, 0 at -1."""
    result: Floats = np.where(places >= 0, values[places], np.float32(0))
    return result


def match_few(keys: NDArray[np.uint64], few: NDArray[np.uint64]) -> Floats:
    """1 where a key is one of a few, else 0; comparing with each is cheaper than sorting."""
    matches: Floats = (keys[:, None] == few).any(axis=1).astype(np.float32)
    return matches


def role_signs(said_by: NDArray[np.uint64]) -> Floats:
    """1 for speakers that are people in a chat (user), -1 for machines, 0 for others."""
    return match_few(said_by, _OF_PEOPLE) - match_few(said_by, _OF_MACHINES)


def match_dates(index: Index, query: Query, candidates: Candidates) -> Floats:
    """1 for a grain said on the day the question names, or that mentions it; less for a week, month or year."""
    match = np.zeros(len(candidates.rows), np.float32)
    for mention in query.mentions:
        if mention.kind != "date":
            continue
        span = parse_period(mention.feature)
        if span is not None:
            begin, end, weight = span
            said = index.columns["said"][candidates.rows]
            within = (said >= begin * SECOND) & (said < end * SECOND)
            np.maximum(match, np.where(within, np.float32(weight), 0), out=match)
            node = index.graph.entry_node(words.keys([f"date:{mention.feature}"]))
            rows = index.graph.target[index.graph.out(node, 64).position]
            np.maximum(match, np.where(np.isin(candidates.rows, rows), np.float32(weight), 0), out=match)
    return match


_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_YEAR = re.compile(r"\d{4}")


def parse_period(feature: str) -> tuple[int, int, float] | None:
    """Begin and end of a date feature in seconds, and the value of a match; None for a weekday or a month alone."""
    try:
        if match := _DAY.fullmatch(feature):
            begin = datetime(*map(int, match.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
            end, weight = begin + timedelta(days=1), 1.0
        elif match := _WEEK.fullmatch(feature):
            begin = datetime.fromisocalendar(int(match[1]), int(match[2]), 1).replace(tzinfo=UTC)
            end, weight = begin + timedelta(days=7), 0.8
        elif match := _MONTH.fullmatch(feature):
            begin = datetime(int(match[1]), int(match[2]), 1, tzinfo=UTC)
            end, weight = (begin + timedelta(days=32)).replace(day=1), 0.5
        elif _YEAR.fullmatch(feature):
            begin = datetime(int(feature), 1, 1, tzinfo=UTC)
            end, weight = begin.replace(year=begin.year + 1), 0.2
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return int(begin.timestamp()), int(end.timestamp()), weight


def session_mean(index: Index, candidates: Candidates, fused: Floats, best: int = 3) -> tuple[Floats, Floats]:
    """For each row the mean of the best three of its session, and the share of the question's idf in the session."""
    session = index.columns["session"][candidates.rows]
    if not session.any():
        return np.zeros(len(session), np.float32), np.zeros(len(session), np.float32)
    order = np.lexsort((-fused, session))
    first = np.ones(len(order), np.bool_)
    first[1:] = session[order[1:]] != session[order[:-1]]
    begin = first.nonzero()[0]
    which = first.cumsum() - 1
    counted = np.arange(len(order)) - begin[which] < best
    total = np.add.reduceat(fused[order] * counted, begin) / np.float32(best)
    has_term = np.logical_or.reduceat(candidates.counts[:, order] > 0, begin, axis=1)
    idf = candidates.asked.idf
    cover = (has_term * idf[:, None]).sum(axis=0) / np.float32(max(float(idf.sum()), 1e-6))
    means, covers = np.empty(len(order), np.float32), np.empty(len(order), np.float32)
    means[order], covers[order] = total[which], cover[which]
    inside = session != 0
    return means * inside, covers * inside
