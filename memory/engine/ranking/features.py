"""What speaks for a candidate: some forty numbers that carry no scale of the collection.

Every number is standardised over the candidates of one question before it is weighed, so that a weight
learned among short turns means the same among long messages.
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

# Feature -> the signal it belongs to: what an explanation calls it and what an ablation takes away.
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
CLIP = 4.0
SHORT, LONG = bm25.Bm25Parameters(0.4, 0.9), bm25.Bm25Parameters(0.95, 1.2)


class FeatureTable:
    """The features of the pool, raw: [features, pool]. What nothing is put into is 0 everywhere."""

    def __init__(self, counts: Floats) -> None:
        self.values: Floats = np.zeros((len(NAMES), counts.shape[1]), np.float32)
        self.counts, self.held = counts, counts > 0  # of the question's terms: [terms, pool]

    def put(self, name: str, values: NDArray[np.generic]) -> None:
        self.values[_AT[name]] = values


def measure_features(index: Index, query: Query, seen: CandidateColumns, pool: Places) -> Floats:
    """Everything that can speak for a candidate."""
    table, coverage = _signs(index, seen, pool)
    put, scene, rows = table.put, seen.scene, seen.scene.rows[pool]
    _words(index, query, seen, pool, table)
    meaning = seen.meaning[pool]
    if scene.seen:
        put("meaning_alone", meaning * np.float32(1 - coverage))
        put("both", meaning * seen.words[pool])
    marked = index.columns["marks"][scene.rows]
    # Between people a question announces its answer; what is put to a machine is mostly a question, and tells nothing.
    asks = ((marked & marks.IS_QUESTION != 0) & (seen.role == 0)).astype(np.float32)
    put("asks", asks[pool])
    _speaker(query, seen, pool, table)
    if seen.beside is not None:
        _beside(index, seen, seen.beside[:, pool], pool, asks, table)
        put("session_best", seen.session_best[pool])
        put("session_words", seen.session_words[pool])
    _form(index, query, rows, marked[pool], table)
    put("date", seen.dated[pool])
    if query.ordering or query.present:
        put("recent", _ranks(index.columns["said"][rows]))
    hop = scene.hop[pool]
    put("hop", hop)
    put("hop_meaning", hop * meaning)
    put("cites", scene.cites[pool])
    put("links", scene.links[pool])
    put("doors", scene.doors[pool])
    return table.values


def confidence_features(index: Index, seen: CandidateColumns, pool: Places) -> Floats:
    """Only what the confidence looks at: enough where no weight counts."""
    return _signs(index, seen, pool)[0].values


def _signs(index: Index, seen: CandidateColumns, pool: Places) -> tuple[FeatureTable, float]:
    """Also returns how much of the question the best candidate covers."""
    scene = seen.scene
    table = FeatureTable(scene.counts[:, pool])
    own, meaning, coverage = seen.words[pool], seen.meaning[pool], 0.0
    if np.logical_or.reduce(own):
        rest = _unnamed(index, seen)
        covered = np.add.reduce(table.held * rest[:, None], axis=0)
        covered /= np.float32(max(float(np.add.reduce(rest)), 1e-6))
        coverage = float(np.maximum.reduce(covered))
        table.put("coverage", covered)
        table.put("words", own)
        table.put("words_rank", _ranks(own) * (own > 0))
    if scene.seen:
        table.put("meaning", meaning)
        table.put("meaning_rank", _ranks(meaning) * scene.has[pool])
    return table, coverage


def _unnamed(index: Index, seen: CandidateColumns) -> Floats:
    """What the question's terms say, without the names of speakers."""
    asked = seen.scene.asked
    if not len(seen.named):
        return asked.idf
    called = np.array([term for key in seen.named.tolist() for term in index.speakers[key]], np.uint64)
    return asked.idf * (1 - match_few(asked.keys, called))


def standardise(found: Floats) -> tuple[Floats, Floats]:
    """Each feature with mean 0 and deviation 1 over the pool, and where a candidate with none of it would stand.

    One that is the same everywhere says nothing.
    """
    count = np.float32(found.shape[1])
    mean = np.add.reduce(found, axis=1, keepdims=True)
    mean /= count
    centred = found - mean
    deviation = np.sqrt(np.add.reduce(np.square(centred), axis=1, keepdims=True) / count)
    scale = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 1e-6)
    centred *= scale
    absent = -mean * scale
    return _clipped(centred), _clipped(absent)[:, 0]


def _clipped(values: Floats) -> Floats:
    np.maximum(values, -CLIP, out=values)
    return np.minimum(values, CLIP, out=values)


def _ranks(values: NDArray[np.generic]) -> Floats:
    """1 / (1 + how many are better); equal ones share a rank."""
    ordered = values.copy()
    ordered.sort()
    better = len(values) - ordered.searchsorted(values, side="right")
    return np.float32(1) / (1 + better.astype(np.float32))


def _words(index: Index, query: Query, seen: CandidateColumns, pool: Places, table: FeatureTable) -> None:
    scene, rows = seen.scene, seen.scene.rows[pool]
    counts, held, idf, put = table.counts, table.held, scene.asked.idf, table.put
    if not np.logical_or.reduce(table.values[_AT["words"]]):
        return
    lengths = index.columns["length"][rows].astype(np.float32)
    short, long = bm25.score_counts_each(index, counts, idf, (SHORT, LONG), lengths)
    put("words_short", short)
    put("words_long", long)
    rest = scene.words[pool]
    if len(seen.named):
        rest = bm25.score_counts(index, rows, counts, _unnamed(index, seen), bm25.bm25_parameters(index), lengths)
    put("words_rest", rest)
    put("rarest", np.maximum.reduce(held * idf[:, None], axis=0))
    put("share", np.add.reduce(held, axis=0, dtype=np.float32) / np.float32(len(idf)))
    if len(query.terms) > 1:
        said = held
        if len(query.keys) > len(scene.asked.keys):
            places = {key: place for place, key in enumerate(scene.asked.keys.tolist())}
            said = held[[places[key] for key in query.keys.tolist()]]
        both = said[:-1] & said[1:]
        put("pairs", np.add.reduce(both, axis=0, dtype=np.float32) / np.float32(len(both)))
    if query.capitals:
        named = idf * match_few(scene.asked.keys, words.keys(query.capitals))
        put("names", (held * named[:, None]).sum(axis=0))


def _speaker(query: Query, seen: CandidateColumns, pool: Places, table: FeatureTable) -> None:
    if seen.said_by is None:
        return
    if len(seen.named):
        by_named = seen.by_named[pool]
        table.put("named", by_named)
        table.put("other_named", (seen.said_by[pool] != 0) * (1 - by_named))
        table.put("named_words", by_named * seen.fused[pool])
        if len(seen.named) == 1:
            table.put("only_named", by_named)
    role = seen.role[pool]
    table.put("role", role)
    table.put("role_first_person", role * np.float32(query.first_person))


def _beside(
    index: Index, seen: CandidateColumns, beside: Places, pool: Places, asks: Floats, table: FeatureTable
) -> None:
    """What the turns before and after are worth. A place of -1 is the last of each array, which holds nothing."""
    scene, count, put = seen.scene, len(seen.scene.rows), table.put
    every = np.zeros((5, count + 1), np.float32)
    every[:, :count] = seen.fused, asks, seen.by_named, scene.meaning, index.columns["length"][scene.rows]
    one_before, one_after, two_before, two_after = beside
    before, after = every[:, one_before], every[:, one_after]
    answers = before[0] * before[1]
    put("before", before[0])
    put("before_2", every[0, two_before])
    put("after", after[0])
    put("after_2", every[0, two_after])
    put("before_asks", before[1])
    put("answers", answers)
    put("answers_named", answers * every[2, pool])
    put("after_asks", after[1])
    if len(seen.named):
        put("named_before", before[2])
    # What a row's words and meaning gain by being read with the turns beside it.
    counts = np.zeros((scene.counts.shape[0], count + 1), np.float32)
    counts[:, :count] = scene.counts
    rows, idf, own = scene.rows[pool], scene.asked.idf, 2 * counts[:, pool]
    whole = own + counts[:, one_before] + counts[:, one_after]
    lengths = every[4, pool] + np.float32(0.5) * (before[4] + after[4])
    gained = bm25.score_counts(index, rows, whole, idf, SHORT, lengths) - bm25.score_counts(
        index, rows, own, idf, SHORT
    )
    put("context_words", gained)
    put("context_meaning", np.float32(0.5) * (before[3] + after[3]))


def _form(
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
