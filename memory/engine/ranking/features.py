"""Features of candidates: some forty numbers that do not depend on the scale of the collection.

Every feature is standardised over the candidates of one question before it is weighted, so that a weight fitted on
short turns means the same for long messages.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import bm25
from memory.engine.index.space_index import Index
from memory.engine.ranking.candidate_columns import CandidateColumns, match_few
from memory.engine.ranking.candidates import Floats, Places
from memory.engine.text import marks, words
from memory.engine.text.question import Query

# Feature -> its signal: the name used in explanations and for ablations.
FEATURES = {
    "words": "words",
    "words_short": "words",
    "words_long": "words",
    "words_rest": "words",
    "coverage": "words",
    "rarest": "words",
    "share": "words",
    "pairs": "words",
    "words_rank": "words",
    "names": "words",
    "meaning": "meaning",
    "meaning_rank": "meaning",
    "meaning_alone": "meaning",
    "both": "meaning",
    "named": "speaker",
    "only_named": "speaker",
    "other_named": "speaker",
    "named_words": "speaker",
    "named_before": "speaker",
    "role": "speaker",
    "role_first_person": "speaker",
    "before": "neighbours",
    "before_2": "neighbours",
    "after": "neighbours",
    "after_2": "neighbours",
    "before_asks": "neighbours",
    "answers": "neighbours",
    "answers_named": "neighbours",
    "asks": "neighbours",
    "after_asks": "neighbours",
    "context_words": "neighbours",
    "context_meaning": "neighbours",
    "length": "form",
    "length_off": "form",
    "time_when": "form",
    "capitals_who": "form",
    "number_how_many": "form",
    "preference": "standing",
    "rule": "standing",
    "session_best": "session",
    "session_words": "session",
    "date": "time",
    "recent": "time",
    "hop": "links",
    "hop_meaning": "links",
    "cites": "links",
    "links": "links",
    "doors": "links",
}
NAMES = tuple(FEATURES)
_AT = {name: at for at, name in enumerate(NAMES)}
CLIP = 4.0  # deviations that a standardised feature is clipped to
# BM25 parameters for short turns and for long texts.
SHORT, LONG = bm25.Bm25Parameters(0.4, 0.9), bm25.Bm25Parameters(0.95, 1.2)


class FeatureTable:
    """Raw features of the pool: [features, pool]. A feature that is not set is 0 everywhere."""

    def __init__(self, counts: Floats) -> None:
        self.values: Floats = np.zeros((len(NAMES), counts.shape[1]), np.float32)
        self.counts, self.has_term = counts, counts > 0  # of the question's terms: [terms, pool]

    def put(self, name: str, values: NDArray[np.generic]) -> None:
        self.values[_AT[name]] = values


def measure_features(index: Index, query: Query, columns: CandidateColumns, pool: Places) -> Floats:
    """All raw features of the pool."""
    table, coverage = _confidence_table(index, columns, pool)
    put, candidates, rows = table.put, columns.candidates, columns.candidates.rows[pool]
    _put_words(index, query, columns, pool, table)
    meaning = columns.meaning[pool]
    if candidates.seen:
        put("meaning_alone", meaning * np.float32(1 - coverage))
        put("both", meaning * columns.words[pool])
    marked = index.columns["marks"][candidates.rows]
    # Between people a question announces its answer; messages to a machine are mostly questions, which says nothing.
    asks = ((marked & marks.IS_QUESTION != 0) & (columns.role == 0)).astype(np.float32)
    put("asks", asks[pool])
    _put_speaker(query, columns, pool, table)
    if columns.beside is not None:
        _put_neighbours(index, columns, columns.beside[:, pool], pool, asks, table)
        put("session_best", columns.session_best[pool])
        put("session_words", columns.session_words[pool])
    _put_form(index, query, rows, marked[pool], table)
    put("date", columns.dated[pool])
    if query.ordering or query.present:
        put("recent", _reciprocal_ranks(index.columns["said"][rows]))
    hop = candidates.hop[pool]
    put("hop", hop)
    put("hop_meaning", hop * meaning)
    put("cites", candidates.cites[pool])
    put("links", candidates.links[pool])
    put("doors", candidates.entry_links[pool])
    return table.values


def confidence_features(index: Index, columns: CandidateColumns, pool: Places) -> Floats:
    """Only the raw features that confidence uses: enough where all weights are 0."""
    return _confidence_table(index, columns, pool)[0].values


def _confidence_table(index: Index, columns: CandidateColumns, pool: Places) -> tuple[FeatureTable, float]:
    """Table with the features that confidence uses, and the share of the question the best candidate covers."""
    candidates = columns.candidates
    table = FeatureTable(candidates.counts[:, pool])
    own, meaning, coverage = columns.words[pool], columns.meaning[pool], 0.0
    if np.logical_or.reduce(own):
        rest = _idf_without_speakers(index, columns)
        covered = np.add.reduce(table.has_term * rest[:, None], axis=0)
        covered /= np.float32(max(float(np.add.reduce(rest)), 1e-6))
        coverage = float(np.maximum.reduce(covered))
        table.put("coverage", covered)
        table.put("words", own)
        table.put("words_rank", _reciprocal_ranks(own) * (own > 0))
    if candidates.seen:
        table.put("meaning", meaning)
        table.put("meaning_rank", _reciprocal_ranks(meaning) * candidates.has[pool])
    return table, coverage


def _idf_without_speakers(index: Index, columns: CandidateColumns) -> Floats:
    """idf of the question's terms, 0 for names of speakers."""
    asked = columns.candidates.asked
    if not len(columns.named):
        return asked.idf
    name_terms = np.array([term for key in columns.named.tolist() for term in index.speakers[key]], np.uint64)
    return asked.idf * (1 - match_few(asked.keys, name_terms))


def standardise(raw: Floats) -> tuple[Floats, Floats]:
    """Each feature with mean 0 and deviation 1 over the pool, and the standardised value of a raw 0.

    A feature that is the same everywhere becomes 0.
    """
    count = np.float32(raw.shape[1])
    mean = np.add.reduce(raw, axis=1, keepdims=True)
    mean /= count
    centred = raw - mean
    deviation = np.sqrt(np.add.reduce(np.square(centred), axis=1, keepdims=True) / count)
    scale = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 1e-6)
    centred *= scale
    absent = -mean * scale
    return _clip(centred), _clip(absent)[:, 0]


def _clip(values: Floats) -> Floats:
    np.maximum(values, -CLIP, out=values)
    return np.minimum(values, CLIP, out=values)


def _reciprocal_ranks(values: NDArray[np.generic]) -> Floats:
    """1 / (1 + number of better ones); equal values share a rank."""
    ordered = values.copy()
    ordered.sort()
    better = len(values) - ordered.searchsorted(values, side="right")
    return np.float32(1) / (1 + better.astype(np.float32))


def _put_words(index: Index, query: Query, columns: CandidateColumns, pool: Places, table: FeatureTable) -> None:
    candidates, rows = columns.candidates, columns.candidates.rows[pool]
    counts, held, idf, put = table.counts, table.has_term, candidates.asked.idf, table.put
    if not np.logical_or.reduce(table.values[_AT["words"]]):
        return
    lengths = index.columns["length"][rows].astype(np.float32)
    short, long = bm25.score_counts_each(index, counts, idf, (SHORT, LONG), lengths)
    put("words_short", short)
    put("words_long", long)
    rest = candidates.words[pool]
    if len(columns.named):
        rest = bm25.score_counts(
            index, rows, counts, _idf_without_speakers(index, columns), bm25.bm25_parameters(index), lengths
        )
    put("words_rest", rest)
    put("rarest", np.maximum.reduce(held * idf[:, None], axis=0))
    put("share", np.add.reduce(held, axis=0, dtype=np.float32) / np.float32(len(idf)))
    if len(query.terms) > 1:
        has_term = held
        if len(query.keys) > len(candidates.asked.keys):
            places = {key: place for place, key in enumerate(candidates.asked.keys.tolist())}
            has_term = held[[places[key] for key in query.keys.tolist()]]
        both = has_term[:-1] & has_term[1:]
        put("pairs", np.add.reduce(both, axis=0, dtype=np.float32) / np.float32(len(both)))
    if query.capitals:
        name_idf = idf * match_few(candidates.asked.keys, words.keys(query.capitals))
        put("names", (held * name_idf[:, None]).sum(axis=0))


def _put_speaker(query: Query, columns: CandidateColumns, pool: Places, table: FeatureTable) -> None:
    if columns.said_by is None:
        return
    if len(columns.named):
        by_named = columns.by_named[pool]
        table.put("named", by_named)
        table.put("other_named", (columns.said_by[pool] != 0) * (1 - by_named))
        table.put("named_words", by_named * columns.fused[pool])
        if len(columns.named) == 1:
            table.put("only_named", by_named)
    role = columns.role[pool]
    table.put("role", role)
    table.put("role_first_person", role * np.float32(query.first_person))


def _put_neighbours(
    index: Index, columns: CandidateColumns, beside: Places, pool: Places, asks: Floats, table: FeatureTable
) -> None:
    """Features of the turns before and after. Index -1 is the last column of each array, which is 0."""
    candidates, count, put = columns.candidates, len(columns.candidates.rows), table.put
    every = np.zeros((5, count + 1), np.float32)
    every[:, :count] = (
        columns.fused,
        asks,
        columns.by_named,
        candidates.meaning,
        index.columns["length"][candidates.rows],
    )
    one_before, one_after, two_before, two_after = beside
    previous, following = every[:, one_before], every[:, one_after]
    answers = previous[0] * previous[1]
    put("before", previous[0])
    put("before_2", every[0, two_before])
    put("after", following[0])
    put("after_2", every[0, two_after])
    put("before_asks", previous[1])
    put("answers", answers)
    put("answers_named", answers * every[2, pool])
    put("after_asks", following[1])
    if len(columns.named):
        put("named_before", previous[2])
    # Gain of words and meaning if a row is read together with the turns beside it.
    counts = np.zeros((candidates.counts.shape[0], count + 1), np.float32)
    counts[:, :count] = candidates.counts
    rows, idf, own = candidates.rows[pool], candidates.asked.idf, 2 * counts[:, pool]
    whole = own + counts[:, one_before] + counts[:, one_after]
    lengths = every[4, pool] + np.float32(0.5) * (previous[4] + following[4])
    gained = bm25.score_counts(index, rows, whole, idf, SHORT, lengths) - bm25.score_counts(
        index, rows, own, idf, SHORT
    )
    put("context_words", gained)
    put("context_meaning", np.float32(0.5) * (previous[3] + following[3]))


def _put_form(
    index: Index, query: Query, rows: NDArray[np.integer], marked: NDArray[np.uint16], table: FeatureTable
) -> None:
    length = np.log(np.maximum(index.columns["chars"][rows].astype(np.float32), 1))
    _, characters = index.totals()
    table.put("length", length)
    table.put("length_off", np.abs(length - np.float32(np.log(max(characters / index.size, 1.0)))))
    for name, mark, wanted in (
        ("time_when", marks.HAS_TIME_WORD, query.wants_when),
        ("capitals_who", marks.CAPITALS, query.wants_who or query.wants_where or query.wants_which),
        ("number_how_many", marks.HAS_NUMBER, query.wants_how_many),
        ("preference", marks.PREFERENCE, query.wants_preference),
        ("rule", marks.STANDING, True),
    ):
        if wanted:
            table.put(name, marked & mark != 0)
