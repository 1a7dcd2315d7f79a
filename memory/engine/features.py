"""What speaks for a candidate: some forty numbers that carry no scale of the collection.

Every number is standardised over the candidates of one question before it is weighed, so that a weight
learned among short turns means the same among long messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory.engine import marks, words
from memory.engine.candidates import REACH, Floats, Places, Rows, Scene, neighbours, weigh
from memory.engine.index import Index
from memory.engine.question import Query

# Feature -> the signal it belongs to: what an explanation calls it and what an ablation takes away.
FEATURES = {
    "words": "words", "words_short": "words", "words_long": "words", "coverage": "words", "rarest": "words",
    "share": "words", "pairs": "words", "words_rank": "words", "names": "words",
    "meaning": "meaning", "meaning_rank": "meaning",
    "named": "speaker", "only_named": "speaker", "other_named": "speaker", "named_before": "speaker", "role": "speaker",
    "role_first_person": "speaker",
    "before": "neighbours", "before_2": "neighbours", "after": "neighbours", "after_2": "neighbours",
    "before_asks": "neighbours", "answers": "neighbours", "asks": "neighbours", "after_asks": "neighbours",
    "context_words": "neighbours", "context_meaning": "neighbours",
    "length": "form", "length_off": "form", "time_when": "form", "capitals_who": "form", "number_how_many": "form",
    "preference": "standing", "rule": "standing",
    "session_best": "session", "session_words": "session",
    "date": "time", "recent": "time",
    "hop": "links", "links": "links", "doors": "links",
}  # fmt: skip
NAMES = tuple(FEATURES)
_AT = {name: at for at, name in enumerate(NAMES)}
CLIP = 4.0

ROLES = words.keys(["@user", "@human", "@assistant", "@ai", "@bot", "@system", "@model"])
_OF_PEOPLE, _OF_MACHINES = ROLES[:2], ROLES[2:]
_NOW = re.compile(
    r"\b(?:now|nowadays|currently?|at present|presently|latest|most recent|these days|at the moment|still|so far"
    r"|inzwischen|derzeit|aktuell|jetzt|maintenant|actuellement|ahora|actualmente)\b|现在|目前|今"
)


@dataclass
class Base:
    """Plain fusion and the three priors, as parts that add up."""

    words: Floats
    meaning: Floats
    speaker: Floats
    role: Floats
    date: Floats

    @property
    def fused(self) -> Floats:
        return self.words + self.meaning

    @property
    def whole(self) -> Floats:
        return self.words + self.meaning + self.speaker + self.role + self.date


def named_speakers(index: Index, query: Query) -> NDArray[np.uint64]:
    """Keys of the speakers whose name the question holds. Roles are not names."""
    asked = set(query.keys.tolist())
    roles = set(ROLES.tolist())
    return np.array(
        [key for key, named in index.speakers.items() if key not in roles and not asked.isdisjoint(named)], np.uint64
    )


def base(
    index: Index, query: Query, scene: Scene, named: NDArray[np.uint64], *, balance: float, speaker: float, role: float,
    date: float,
) -> Base:  # fmt: skip
    """S = F + speaker [by the only one the question names] + role (person +1, machine -1) + date match."""
    said_by = index.columns["speaker"][scene.rows]
    only = (said_by == named[0]) if len(named) == 1 else np.zeros(len(scene.rows), np.bool_)
    weight = balance if scene.has.any() else 1.0
    return Base(
        words=np.float32(weight) * scene.words_share(),
        meaning=np.float32(1 - weight) * scene.meaning_share(),
        speaker=np.float32(speaker) * only.astype(np.float32),
        role=np.float32(role) * roles(said_by),
        date=np.float32(date) * dated(index, query, scene),
    )


def roles(said_by: NDArray[np.uint64]) -> Floats:
    return np.isin(said_by, _OF_PEOPLE).astype(np.float32) - np.isin(said_by, _OF_MACHINES).astype(np.float32)


def dated(index: Index, query: Query, scene: Scene) -> Floats:
    """1 where a grain was said in the time the question names, or names that day itself; less for a month or year."""
    found = np.zeros(len(scene.rows), np.float32)
    said = index.columns["said"][scene.rows]
    for mention in query.mentions:
        if mention.kind != "date":
            continue
        span = period(mention.feature)
        if span is not None:
            begin, end, weight = span
            np.maximum(found, np.where((said >= begin) & (said < end), np.float32(weight), 0), out=found)
            node = index.graph.entry_node(words.keys([f"date:{mention.feature}"]))
            rows = index.graph.target[index.graph.out(node, 64).position]
            np.maximum(found, np.where(np.isin(scene.rows, rows), np.float32(weight), 0), out=found)
    return found


_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_WEEK = re.compile(r"(\d{4})-W(\d\d)")
_YEAR = re.compile(r"\d{4}")


def period(feature: str) -> tuple[int, int, float] | None:
    """The seconds a date feature speaks of, and how much a match is worth; a weekday or a month alone is nothing."""
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


class Around:
    """The neighbours of some rows of the scene, as places in it, and what they are worth."""

    def __init__(self, index: Index, scene: Scene, places: Places) -> None:
        rows = neighbours(index, scene.rows[places], REACH)
        self.before, self.after, self.before_2, self.after_2 = (scene.at(step) for step in rows)

    @staticmethod
    def take(values: Floats, places: Places) -> Floats:
        """Values at places, 0 where there is no neighbour."""
        return np.where(places >= 0, values[places], np.float32(0)).astype(np.float32)


def session_mean(index: Index, scene: Scene, fused: Floats, best: int = 3) -> tuple[Floats, Floats]:
    """For each row the mean of its session's best three, and how much of the question the session's finds hold."""
    session = index.columns["session"][scene.rows]
    found, inverse = np.unique(session, return_inverse=True)
    order = np.lexsort((-fused, inverse))
    rank = np.arange(len(order)) - np.searchsorted(inverse[order], inverse[order])
    top = order[rank < best]
    total = np.bincount(inverse[top], fused[top], minlength=len(found)) / best
    held = np.zeros((len(found), scene.counts.shape[1]), np.bool_)
    row, term = np.nonzero(scene.counts)
    held[inverse[row], term] = True
    cover = held @ scene.idf / max(float(scene.idf.sum()), 1e-6)
    inside = session != 0
    return (
        np.where(inside, total[inverse], 0).astype(np.float32),
        np.where(inside, cover[inverse], 0).astype(np.float32),
    )


def context(index: Index, vector: Floats | None, scene: Scene, places: Places, around: Around) -> tuple[Floats, Floats]:
    """Words and meaning of a row read together with the turns beside it: itself twice, each neighbour once."""
    counts, lengths = scene.counts, index.columns["length"][scene.rows].astype(np.float32)
    together, length = 2 * counts[places], 2 * lengths[places]
    for beside in (around.before, around.after):
        there = beside >= 0
        together[there] += counts[beside[there]]
        length[there] += lengths[beside[there]]
    near = weigh(index, scene.rows[places], together, scene.idf, 0.4, 0.9, length / 2)
    if vector is None or index.dense is None:
        return near, np.zeros(len(places), np.float32)
    meaning = scene.meaning[places] + 0.5 * (
        Around.take(scene.meaning, around.before) + Around.take(scene.meaning, around.after)
    )
    return near, meaning.astype(np.float32)


def measure(
    index: Index, query: Query, vector: Floats | None, scene: Scene, pool: Places, parts: Base, now: int
) -> Floats:
    """The features of the pool, raw: [features, pool]."""
    found = np.zeros((len(NAMES), len(pool)), np.float32)

    def put(name: str, values: NDArray[np.generic] | float) -> None:
        found[_AT[name]] = values

    rows = scene.rows[pool]
    around = Around(index, scene, pool)
    fused = parts.fused
    _words(index, query, scene, pool, rows, put)
    put("meaning", scene.meaning_share()[pool])
    put("meaning_rank", _ranks(scene.meaning[pool], rows) * scene.has[pool])
    _speaker(index, query, scene, pool, around, put)
    marked = index.columns["marks"][scene.rows]
    asks = (marked & marks.IS_QUESTION != 0).astype(np.float32)
    before = Around.take(fused, around.before)
    put("before", before)
    put("before_2", Around.take(fused, around.before_2))
    put("after", Around.take(fused, around.after))
    put("after_2", Around.take(fused, around.after_2))
    put("before_asks", Around.take(asks, around.before))
    put("answers", Around.take(asks, around.before) * before)
    put("asks", asks[pool])
    put("after_asks", Around.take(asks, around.after))
    near_words, near_meaning = context(index, vector, scene, pool, around)
    put("context_words", near_words)
    put("context_meaning", near_meaning)
    _form(index, query, rows, marked[pool], put)
    best, cover = session_mean(index, scene, fused)
    put("session_best", best[pool])
    put("session_words", cover[pool])
    put("date", dated(index, query, scene)[pool])
    if query.ordering or _NOW.search(query.text.casefold()):
        put("recent", _ranks(index.columns["said"][rows].astype(np.float64), rows))
    put("hop", scene.hop[pool])
    put("links", scene.links[pool])
    put("doors", scene.doors[pool])
    return found


def standardised(found: Floats) -> Floats:
    """Each feature with mean 0 and deviation 1 over the pool; one that is the same everywhere says nothing."""
    centred = found - found.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    usable = deviation > 1e-6
    scaled = np.divide(centred, deviation, out=np.zeros_like(centred), where=usable)
    return np.clip(scaled, -CLIP, CLIP)


def _ranks(values: NDArray[np.generic], rows: Rows) -> Floats:
    """1 / (1 + rank), the best first."""
    order = np.lexsort((rows, -values))
    rank = np.empty(len(order), np.float32)
    rank[order] = np.arange(len(order), dtype=np.float32)
    return np.float32(1) / (1 + rank)


def _words(index: Index, query: Query, scene: Scene, pool: Places, rows: Rows, put) -> None:  # type: ignore[no-untyped-def]
    counts, idf = scene.counts[pool], scene.idf
    held = counts > 0
    put("words", scene.words[pool])
    put("words_short", weigh(index, rows, counts, idf, 0.4, 0.9))
    put("words_long", weigh(index, rows, counts, idf, 0.95, 1.2))
    put("words_rank", _ranks(scene.words[pool], rows) * (scene.words[pool] > 0))
    if not len(idf):
        return
    put("coverage", held @ idf / max(float(idf.sum()), 1e-6))
    put("rarest", (held * idf).max(axis=1))
    put("share", held.mean(axis=1))
    if len(query.pairs):
        left, right = np.searchsorted(np.sort(scene.keys), query.pairs.T)
        order = np.argsort(scene.keys)
        put("pairs", (held[:, order[left]] & held[:, order[right]]).mean(axis=1))
    if query.capitals:
        named = np.isin(scene.keys, words.keys(query.capitals))
        put("names", held @ (idf * named))


def _speaker(index: Index, query: Query, scene: Scene, pool: Places, around: Around, put) -> None:  # type: ignore[no-untyped-def]
    named = named_speakers(index, query)
    said_by = index.columns["speaker"][scene.rows]
    by_named = np.isin(said_by, named).astype(np.float32)
    put("named", by_named[pool])
    if len(named) == 1:
        put("only_named", by_named[pool])
    if len(named):
        put("other_named", ((said_by != 0) & (by_named == 0)).astype(np.float32)[pool])
        put("named_before", Around.take(by_named, around.before))
    role = roles(said_by)[pool]
    put("role", role)
    put("role_first_person", role * query.first_person)


def _form(index: Index, query: Query, rows: Rows, marked: NDArray[np.uint16], put) -> None:  # type: ignore[no-untyped-def]
    length = np.log(np.maximum(index.columns["chars"][rows].astype(np.float32), 1))
    _, characters = index.totals()
    put("length", length)
    put("length_off", np.abs(length - np.log(max(characters / index.size, 1.0))))
    has = {mark: (marked & mark != 0).astype(np.float32) for mark in (
        marks.HAS_TIME_WORD, marks.CAPITALS, marks.HAS_NUMBER, marks.PREFERENCE, marks.STANDING
    )}  # fmt: skip
    put("time_when", has[marks.HAS_TIME_WORD] * query.wants_when)
    put("capitals_who", has[marks.CAPITALS] * (query.wants_who or query.wants_where or query.wants_which))
    put("number_how_many", has[marks.HAS_NUMBER] * query.wants_how_many)
    put("preference", has[marks.PREFERENCE] * query.wants_preference)
    put("rule", has[marks.STANDING])
