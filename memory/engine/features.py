"""What speaks for a candidate: some forty numbers that carry no scale of the collection.

Every number is standardised over the candidates of one question before it is weighed, so that a weight
learned among short turns means the same among long messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memory.engine import bm25, marks, words
from memory.engine.candidates import REACH, Floats, Places, Rows, Scene, neighbours, weigh
from memory.engine.index import Index
from memory.engine.question import Query

# Feature -> the signal it belongs to: what an explanation calls it and what an ablation takes away.
FEATURES = {
    "words": "words", "words_short": "words", "words_long": "words", "words_rest": "words", "coverage": "words",
    "rarest": "words", "share": "words", "pairs": "words", "words_rank": "words", "names": "words",
    "meaning": "meaning", "meaning_rank": "meaning", "meaning_alone": "meaning", "both": "meaning",
    "named": "speaker", "only_named": "speaker", "other_named": "speaker", "named_words": "speaker",
    "named_before": "speaker", "role": "speaker", "role_first_person": "speaker",
    "before": "neighbours", "before_2": "neighbours", "after": "neighbours", "after_2": "neighbours",
    "before_asks": "neighbours", "answers": "neighbours", "answers_named": "neighbours", "asks": "neighbours",
    "after_asks": "neighbours", "context_words": "neighbours", "context_meaning": "neighbours",
    "length": "form", "length_off": "form", "time_when": "form", "capitals_who": "form", "number_how_many": "form",
    "preference": "standing", "rule": "standing",
    "session_best": "session", "session_words": "session",
    "date": "time", "recent": "time",
    "hop": "links", "hop_meaning": "links", "cites": "links", "links": "links", "doors": "links",
}  # fmt: skip
NAMES = tuple(FEATURES)
_AT = {name: at for at, name in enumerate(NAMES)}
CLIP = 4.0
Put = Callable[[str, NDArray[np.generic]], None]

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


@dataclass
class View:
    """What is known of every row of the scene, worked out once."""

    scene: Scene
    base: Base
    fused: Floats
    words: Floats  # between 0 and 1
    meaning: Floats
    named: NDArray[np.uint64]  # speakers the question names
    said_by: NDArray[np.uint64]
    by_named: Floats
    role: Floats
    dated: Floats
    session_best: Floats
    session_words: Floats
    before: Places  # neighbours as places in the scene, -1 where there is none
    after: Places
    before_2: Places
    after_2: Places


def named_speakers(index: Index, query: Query) -> NDArray[np.uint64]:
    """Keys of the speakers whose name the question holds. Roles are not names."""
    asked = set(query.keys.tolist())
    return np.array(
        [key for key, named in index.speakers.items() if not asked.isdisjoint(named) and key not in _ROLE_SET],
        np.uint64,
    )


_ROLE_SET = frozenset(ROLES.tolist())


def view(
    index: Index, query: Query, scene: Scene, named: NDArray[np.uint64], *, balance: float, speaker: float, role: float,
    date: float,
) -> View:  # fmt: skip
    """S = F + speaker [by the only one the question names] + role (person +1, machine -1) + date match."""
    said_by = index.columns["speaker"][scene.rows]
    by_named = _among(said_by, named)
    words_share, meaning_share = scene.words_share(), scene.meaning_share()
    weight = balance if scene.has.any() else 1.0
    role_of, date_of = roles(said_by), dated(index, query, scene)
    base = Base(
        words=np.float32(weight) * words_share,
        meaning=np.float32(1 - weight) * meaning_share,
        speaker=np.float32(speaker if len(named) == 1 else 0) * by_named,
        role=np.float32(role) * role_of,
        date=np.float32(date) * date_of,
    )
    fused = base.fused
    best, cover = session_mean(index, scene, fused)
    before, after, before_2, after_2 = scene.at(np.stack(neighbours(index, scene.rows, REACH)))
    return View(
        scene, base, fused, words_share, meaning_share, named, said_by, by_named, role_of, date_of, best, cover, before,
        after, before_2, after_2,
    )  # fmt: skip


def take(values: Floats, places: Places) -> Floats:
    """Values at places, 0 where there is no neighbour."""
    taken: Floats = np.where(places >= 0, values[places], np.float32(0))
    return taken


def _among(keys: NDArray[np.uint64], few: NDArray[np.uint64]) -> Floats:
    """1 where a key is one of a few: comparing with each is cheaper than sorting."""
    found: Floats = (keys[:, None] == few).any(axis=1).astype(np.float32)
    return found


def roles(said_by: NDArray[np.uint64]) -> Floats:
    return _among(said_by, _OF_PEOPLE) - _among(said_by, _OF_MACHINES)


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


def session_mean(index: Index, scene: Scene, fused: Floats, best: int = 3) -> tuple[Floats, Floats]:
    """For each row the mean of its session's best three, and how much of the question the session's finds hold."""
    session = index.columns["session"][scene.rows]
    if not session.any():
        return np.zeros(len(session), np.float32), np.zeros(len(session), np.float32)
    order = np.lexsort((-fused, session))
    first = np.ones(len(order), np.bool_)
    first[1:] = session[order[1:]] != session[order[:-1]]
    begin = np.flatnonzero(first)
    which = np.cumsum(first) - 1
    counted = np.arange(len(order)) - begin[which] < best
    total = np.add.reduceat(fused[order] * counted, begin) / np.float32(best)
    held = np.logical_or.reduceat(scene.counts[order] > 0, begin, axis=0)
    cover = held @ scene.idf / max(float(scene.idf.sum()), 1e-6)
    means, covers = np.empty(len(order), np.float32), np.empty(len(order), np.float32)
    means[order], covers[order] = total[which], cover[which]
    inside = session != 0
    return means * inside, covers * inside


class _Beside:
    """What neighbours of the pool are worth. A place of -1 is the last row of each array, which holds nothing."""

    def __init__(self, index: Index, seen: View, pool: Places, asks: Floats) -> None:
        scene, count = seen.scene, len(seen.scene.rows)
        table = np.zeros((5, count + 1), np.float32)
        table[:, :count] = seen.fused, asks, seen.by_named, scene.meaning, index.columns["length"][scene.rows]
        self.counts = np.zeros((count + 1, scene.counts.shape[1]), np.float32)
        self.counts[:count] = scene.counts
        self.places = seen.before[pool], seen.after[pool]
        self.own = table[:, pool]
        self.before, self.after = table[:, self.places[0]], table[:, self.places[1]]
        self.before_2, self.after_2 = table[0, seen.before_2[pool]], table[0, seen.after_2[pool]]

    def gained(self, index: Index, seen: View, pool: Places) -> tuple[Floats, Floats]:
        """What a row's words and meaning gain by being read with the turns beside it, 0 where there are none."""
        rows, idf, own = seen.scene.rows[pool], seen.scene.idf, 2 * self.counts[pool]
        beside: Floats = np.float32(0.5) * (self.before + self.after)
        counts = own + self.counts[self.places[0]] + self.counts[self.places[1]]
        words = weigh(index, rows, counts, idf, 0.4, 0.9, self.own[4] + beside[4])
        return words - weigh(index, rows, own, idf, 0.4, 0.9), beside[3]


def measure(index: Index, query: Query, seen: View, pool: Places) -> Floats:
    """The features of the pool, raw: [features, pool]."""
    found = np.zeros((len(NAMES), len(pool)), np.float32)

    def put(name: str, values: NDArray[np.generic]) -> None:
        found[_AT[name]] = values

    scene = seen.scene
    rows = scene.rows[pool]
    coverage = _words(index, query, seen, pool, put)
    meaning = seen.meaning[pool]
    put("meaning", meaning)
    put("meaning_rank", _ranks(meaning) * scene.has[pool])
    put("meaning_alone", meaning * np.float32(1 - coverage))
    put("both", meaning * seen.words[pool])
    marked = index.columns["marks"][scene.rows]
    asks = (marked & marks.IS_QUESTION).astype(np.float32)
    beside = _Beside(index, seen, pool, asks)
    _speaker(query, seen, pool, beside, put)
    answers = beside.before[0] * beside.before[1]
    put("before", beside.before[0])
    put("before_2", beside.before_2)
    put("after", beside.after[0])
    put("after_2", beside.after_2)
    put("before_asks", beside.before[1])
    put("answers", answers)
    put("answers_named", answers * beside.own[2])
    put("asks", beside.own[1])
    put("after_asks", beside.after[1])
    gained_words, gained_meaning = beside.gained(index, seen, pool)
    put("context_words", gained_words)
    put("context_meaning", gained_meaning)
    _form(index, query, rows, marked[pool], put)
    put("session_best", seen.session_best[pool])
    put("session_words", seen.session_words[pool])
    put("date", seen.dated[pool])
    if query.ordering or _NOW.search(query.text.casefold()):
        put("recent", _ranks(index.columns["said"][rows]))
    put("hop", scene.hop[pool])
    put("hop_meaning", scene.hop[pool] * meaning)
    put("cites", scene.cites[pool])
    put("links", scene.links[pool])
    put("doors", scene.doors[pool])
    return found


def standardised(found: Floats) -> Floats:
    """Each feature with mean 0 and deviation 1 over the pool; one that is the same everywhere says nothing."""
    centred = found - found.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    usable = deviation > 1e-6
    scaled = np.divide(centred, deviation, out=np.zeros_like(centred), where=usable)
    clipped: Floats = np.clip(scaled, -CLIP, CLIP)
    return clipped


def absent(found: Floats) -> Floats:
    """Where a candidate without any of the features would stand: [features], in the same unit."""
    deviation = found.std(axis=1)
    scaled = np.divide(-found.mean(axis=1), deviation, out=np.zeros_like(deviation), where=deviation > 1e-6)
    clipped: Floats = np.clip(scaled, -CLIP, CLIP)
    return clipped


def _ranks(values: NDArray[np.generic]) -> Floats:
    """1 / (1 + how many are better); equal ones share a rank."""
    better = len(values) - np.searchsorted(np.sort(values), values, side="right")
    return np.float32(1) / (1 + better.astype(np.float32))


def _words(index: Index, query: Query, seen: View, pool: Places, put: Put) -> float:
    """Returns how much of the question the best candidate covers."""
    scene, rows = seen.scene, seen.scene.rows[pool]
    counts, idf = scene.counts[pool], scene.idf
    held = counts > 0
    put("words", seen.words[pool])
    put("words_short", weigh(index, rows, counts, idf, 0.4, 0.9))
    put("words_long", weigh(index, rows, counts, idf, 0.95, 1.2))
    put("words_rank", _ranks(seen.words[pool]) * (seen.words[pool] > 0))
    if not len(idf):
        return 0.0
    called = np.array([term for key in seen.named.tolist() for term in index.speakers[key]], np.uint64)
    rest = idf * (1 - _among(scene.keys, called))
    put("words_rest", weigh(index, rows, counts, rest, *bm25.shape(index)))
    coverage = held @ rest / max(float(rest.sum()), 1e-6)
    put("coverage", coverage)
    put("rarest", (held * idf).max(axis=1))
    put("share", held.mean(axis=1))
    if len(query.pairs):
        order = np.argsort(scene.keys)
        left, right = order[np.searchsorted(scene.keys[order], query.pairs.T)]
        put("pairs", (held[:, left] & held[:, right]).mean(axis=1))
    if query.capitals:
        put("names", held @ (idf * _among(scene.keys, words.keys(query.capitals))))
    return float(coverage.max(initial=0))


def _speaker(query: Query, seen: View, pool: Places, beside: _Beside, put: Put) -> None:
    by_named, role = seen.by_named[pool], seen.role[pool]
    if len(seen.named):
        put("named", by_named)
        put("other_named", (seen.said_by[pool] != 0) * (1 - by_named))
        put("named_words", by_named * seen.fused[pool])
        put("named_before", beside.before[2])
    if len(seen.named) == 1:
        put("only_named", by_named)
    put("role", role)
    put("role_first_person", role * np.float32(query.first_person))


def _form(index: Index, query: Query, rows: Rows, marked: NDArray[np.uint16], put: Put) -> None:
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
