"""Recall over the arrays of one space: candidates, signals, order, confidence. Pure: no clock, no database."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine import bm25, boost, candidates, confidence, features, rank
from memory.engine.candidates import BY_LEARNING, BY_LINK, SOURCES, Floats, Mask, Places, Rows, Scene
from memory.engine.conduits import CONTRADICTS, SUPERSEDES
from memory.engine.decay import Fading
from memory.engine.index import ACTIVE, Index
from memory.engine.propagate import Propagation, Signals, spread
from memory.engine.question import Query
from memory.engine.shape import Known, Shape, known
from memory.engine.spread import Spread, Step


@dataclass(frozen=True)
class Settings:
    """Every number that shapes an answer."""

    # 0..1. Share of words in plain fusion; meaning has the rest.
    balance: float = 0.5
    # 0..1. What it is worth, in units of plain fusion, to be said by the only speaker the question names.
    speaker: float = 0.3
    # 0..1. What a person's word is worth above, and a machine's below, one without a role.
    role: float = 0.2
    # 0..1. What it is worth to be of the time the question names.
    date: float = 0.3
    # 0..1. What a grain loses that an active one has superseded.
    superseded: float = 0.3
    # 0..1. What a grain loses that an active one of higher authority contradicts.
    contradicted: float = 0.15
    # 10..1,000. Finds by words, and as many by meaning.
    depth: int = 60
    # 10..300. Candidates that are weighed in full.
    pool: int = 120
    # 0..pool. Of these, the first by plain fusion: without a correction the answer's beginning is exactly that.
    plain: int = 20
    # 0..100. Standing rules and preferences that are always looked at.
    standing: int = 12
    # 0..20. Finds from which links and titles lead on.
    heads: int = 4
    # 0..1,000. Grains behind one name that are looked at.
    doors: int = 32
    # 0..300. Grains said in the time the question names that are looked at.
    then: int = 48
    # 0..300. Grains that spreading leads to, strongest first.
    reached: int = 32
    # 0..1. What neighbours, context, session, titles and links are worth each when the pool is chosen.
    beside: float = 0.3
    # 0..1. Share of k that one session may fill while others wait.
    one_session: float = 1.0
    # 0..20. Lateral candidates that are offered when confidence is low.
    expansion: int = 5
    # 0..1. Confidence below which they are.
    unsure: float = 0.4
    # 0..1. Cosine from which on a vector alone, without one known word, counts as an answer.
    noise: float = 0.38
    # How far and how wide the signal of the best finds spreads.
    propagation: Propagation = field(default_factory=lambda: Propagation(hops=1, frontier=8, edges=1_000))
    # How links fade with the time since they were used.
    fading: Fading = field(default_factory=Fading)
    # What votes do to an answer.
    learning: boost.Settings = field(default_factory=boost.Settings)
    # Signals that are left out, by name: for measuring what each is worth.
    without: frozenset[str] = frozenset()


DEFAULT = Settings()


@dataclass
class Ranking:
    """The answer in rows, with everything a receipt keeps."""

    rows: Rows = field(default_factory=lambda: np.empty(0, np.int32))
    scores: Floats = field(default_factory=lambda: np.empty(0, np.float32))
    confidence: float = 0.0
    sources: list[str] = field(default_factory=list)
    contributions: list[dict[str, float]] = field(default_factory=list)
    matched: list[list[tuple[int, float]]] = field(default_factory=list)
    paths: list[list[Step]] = field(default_factory=list)
    folded: list[list[int]] = field(default_factory=list)
    hops: int = 0
    fallback: bool = False
    expansion: Rows = field(default_factory=lambda: np.empty(0, np.int32))
    weights: dict[str, object] = field(default_factory=dict)
    caps: list[str] = field(default_factory=list)


@dataclass
class Weighed:
    """The pool with its score in parts: what fitting and measuring look at."""

    scene: Scene
    pool: Places
    base: features.Base
    loss: Floats  # what truth takes from S, by scene
    found: Floats  # raw features [features, pool]
    parts: Floats  # correction by group [groups, pool]
    level: Floats  # what of it comes from having nothing of a signal, by group
    truth: Floats  # what stands behind its successor, by pool
    gains: Floats  # what votes give and take, by pool
    scores: Floats  # before squashing
    deviation: float
    spread: Spread | None
    weights: dict[str, object]
    gate: float
    told: boost.Boost


def recall(
    index: Index, query: Query, vector: Floats | None, *, allowed: Mask | None, k: int, now: int,
    settings: Settings = DEFAULT, ranker: rank.Ranker = rank.FITTED,
) -> Ranking:  # fmt: skip
    """The best k rows for a question. Nothing at all for an empty question, an empty space, or nonsense."""
    caps: list[str] = []
    weighed = weigh(index, query, vector, allowed=allowed, now=now, settings=settings, ranker=ranker, caps=caps)
    if weighed is None or k < 1:
        return Ranking(caps=caps)
    return _answer(index, weighed, k, settings, caps)


def weigh(
    index: Index, query: Query, vector: Floats | None, *, allowed: Mask | None, now: int, settings: Settings = DEFAULT,
    ranker: rank.Ranker = rank.FITTED, caps: list[str] | None = None,
) -> Weighed | None:  # fmt: skip
    """Candidates and their scores, or None if nothing answers."""
    caps = [] if caps is None else caps
    vector = None if "meaning" in settings.without or index.dense is None else vector
    asked = query if "words" not in settings.without else None
    if not index.size or not query.terms:
        return None
    finds = candidates.search(
        index, query, vector, allowed, depth=settings.depth, standing=settings.standing, caps=caps
    )  # fmt: skip
    if asked is None:
        finds.words = (finds.words[0][:0], finds.words[1][:0])
    named = features.named_speakers(index, query)
    space = known(index, features.ROLES)
    linked = _Linked(index, space, query, vector, finds, named, allowed, now, settings, caps)
    told = _told(index, query, vector, allowed, settings)
    if not len(linked.doors[0]) and not len(linked.then) and not len(told.candidates) and _nonsense(finds, settings):
        return None
    scene = candidates.scene(
        index, query, vector, finds, allowed, [(linked.rows, BY_LINK), (told.candidates, BY_LEARNING)]
    )
    if asked is None:
        scene.counts[:] = 0
        scene.words[:] = 0
        scene.best_words = 0.0
    if not len(scene.rows):
        return None
    linked.tell(scene)
    without = settings.without
    seen = features.view(
        index, query, scene, named, balance=settings.balance,
        speaker=0.0 if "speaker" in without else settings.speaker,
        role=0.0 if "speaker" in without else settings.role,
        date=0.0 if "time" in without else settings.date,
    )  # fmt: skip
    loss = _loss(index, scene.rows, allowed, settings)
    pool = _pool(index, seen, loss, settings)
    whole, said = _weights(index, ranker, space.shape)
    found = features.measure(index, query, seen, pool)
    for at, group in enumerate(features.FEATURES.values()):
        if group in without:
            found[at] = 0
    base = (seen.base.whole - loss)[pool]
    deviation = max(float(base.std()), rank.LEAST_DEVIATION)
    corrected = rank.correction(found, whole)
    scores = (base / np.float32(deviation) + corrected.sum(axis=0)).astype(np.float32)
    gains = told.gains(scene.rows[pool], scores, settings.learning.own)
    truth = _overtaken(index, scene.rows[pool], scores + gains)
    return Weighed(
        scene, pool, seen.base, loss, found, corrected, rank.level(found, whole), truth, gains,
        scores + gains + truth, deviation, linked.spread, said,
        float(said["gate"]), told,  # type: ignore[arg-type]
    )  # fmt: skip


def _told(index: Index, query: Query, vector: Floats | None, allowed: Mask | None, settings: Settings) -> boost.Boost:
    if "learning" in settings.without:
        return boost.NOTHING
    return boost.boost(index.learned, query, vector, index, settings.learning, allowed)


def _weights(index: Index, ranker: rank.Ranker, shape: Shape) -> tuple[Floats, dict[str, object]]:
    """Kept beside the index until the space has another shape."""
    held = vars(index).get("_weights")
    if held is None or held[0] is not ranker or held[1] is not shape:
        held = ranker, shape, ranker.weights(shape)
        vars(index)["_weights"] = held
    found: tuple[Floats, dict[str, object]] = held[2]
    return found


def _nonsense(finds: candidates.Finds, settings: Settings) -> bool:
    """No word is known, and the nearest vector is no nearer than chance has it.

    Deviations from the mean of the space do not tell: letters typed at random stand out as far as questions do.
    """
    if len(finds.words[0]):
        return False
    return not len(finds.meaning[0]) or float(finds.meaning[1][0]) < settings.noise


class _Linked:
    """What names, titles and conduits lead to from the best finds."""

    def __init__(
        self, index: Index, space: Known, query: Query, vector: Floats | None, finds: candidates.Finds,
        named: NDArray[np.uint64], allowed: Mask | None, now: int, settings: Settings, caps: list[str],
    ) -> None:  # fmt: skip
        self.spread: Spread | None = None
        none = np.empty(0, np.int32), np.empty(0, np.float32)
        self.doors = self.hop = self.cites = self.reached = none
        self.rows = self.then = none[0]
        if "time" not in settings.without:
            spans = [features.period(mention.feature) for mention in query.mentions if mention.kind == "date"]
            told = [span for span in spans if span is not None]
            self.rows = self.then = candidates.said_then(index, told, vector, allowed, settings.then)
        if "links" in settings.without:
            return
        *self.doors, keys = candidates.doors(index, query, allowed, settings.doors)  # type: ignore[assignment]
        heads, strength = candidates.heads(index, finds, named, settings.balance, settings.speaker, settings.heads)
        if len(heads):
            if space.titled:
                self.hop = candidates.titled(index, heads, strength, keys, allowed, settings.doors)
                self.cites = candidates.citing(index, heads, strength, keys, allowed, settings.doors)
            self._reach(index, heads, strength, allowed, now, settings, caps)
        self.rows = np.concatenate((self.then, self.doors[0], self.hop[0], self.cites[0], self.reached[0]))

    def _reach(
        self, index: Index, heads: Rows, strength: Floats, allowed: Mask | None, now: int, settings: Settings,
        caps: list[str],
    ) -> None:  # fmt: skip
        active = index.column("status") == ACTIVE if allowed is None else allowed
        self.spread = spread(
            index.graph, seeds=Signals(heads.astype(np.int64), strength.astype(np.float64)), now=now,
            settings=settings.propagation, fading=settings.fading, active=active, authority=index.column("authority"),
        )  # fmt: skip
        caps += sorted(self.spread.caps)
        received = self.spread.received
        order = np.argsort(-received, kind="stable")[: settings.reached]
        order = order[received[order] > 0]
        if len(order):
            self.reached = self.spread.rows[order].astype(np.int32), received[order] / received[order[0]]

    def tell(self, scene: Scene) -> None:
        """Write it beside the rows of the scene."""
        for (rows, values), column in (
            (self.doors, scene.doors), (self.hop, scene.hop), (self.cites, scene.cites), (self.reached, scene.links)
        ):  # fmt: skip
            place = scene.at(rows) if len(rows) else np.empty(0, np.int64)
            column[place[place >= 0]] = values[place >= 0]


def _loss(index: Index, rows: Rows, allowed: Mask | None, settings: Settings) -> Floats:
    """What a newer or a more trusted grain takes from an older or less trusted one, if it may be shown itself."""
    loss = np.zeros(len(rows), np.float32)
    for relation, amount in ((SUPERSEDES, settings.superseded), (CONTRADICTS, settings.contradicted)):
        targets, sources, _ = index.graph.pairs(relation)
        if not len(targets):
            continue
        alive = index.columns["status"][sources] == ACTIVE if allowed is None else allowed[sources]
        if relation == CONTRADICTS:
            alive &= index.columns["authority"][sources] < index.columns["authority"][targets]
        loss[np.isin(rows, targets[alive])] += np.float32(amount)
    return loss


def _overtaken(index: Index, rows: Rows, scores: Floats) -> Floats:
    """What puts a superseded grain behind its successor, where both are candidates."""
    truth = np.zeros(len(rows), np.float32)
    old, new, _ = index.graph.pairs(SUPERSEDES)
    if not len(old):
        return truth
    at_old, at_new = (np.minimum(np.searchsorted(rows, some), len(rows) - 1) for some in (old, new))
    both = (rows[at_old] == old) & (rows[at_new] == new) & (old != new)
    for _ in range(_VERSIONS):  # a chain of versions settles link by link
        limit = np.full(len(rows), np.inf, np.float32)
        np.minimum.at(limit, at_old[both], (scores + truth)[at_new[both]] - np.float32(0.01))
        truth = np.minimum(truth, limit - scores)
    return truth


_VERSIONS = 4


def _pool(index: Index, seen: features.View, loss: Floats, settings: Settings) -> Places:
    """The rows that are weighed in full: the first by plain fusion, the rest by all that is cheap to know."""
    scene, fused = seen.scene, seen.fused
    if len(scene.rows) <= settings.pool:
        return np.arange(len(scene.rows))
    number = index.columns["id"][scene.rows]
    before, after = features.take(fused, seen.before), features.take(fused, seen.after)
    beside = before + (fused + 0.5 * before + 0.5 * after) / 2 + seen.session_best
    linked = scene.hop + scene.cites + scene.links + scene.doors
    wish = seen.base.whole - loss + np.float32(settings.beside) * (beside + linked)
    wish[np.lexsort((number, -fused))[: settings.plain]] = np.inf
    wish[scene.source & (candidates.BY_STANDING | BY_LEARNING) != 0] = np.inf
    return np.sort(np.lexsort((number, -wish))[: settings.pool])


def _answer(index: Index, weighed: Weighed, k: int, settings: Settings, caps: list[str]) -> Ranking:
    scene, pool = weighed.scene, weighed.pool
    rows = scene.rows[pool]
    order = np.lexsort((index.columns["id"][rows], -weighed.scores))
    kept, folded = _folded(index, rows[order])
    order = order[kept]
    order, folded = _spread_out(index, rows, order, folded, k, settings)
    facts = confidence.facts(scene, index.size)
    sure = confidence.confidence(weighed.scores[order], weighed.found[:, order], facts)
    sure = 1 - (1 - sure) * (1 - weighed.told.sure(rows[order[: confidence.FIRST]]))
    shown = order[:k]
    scores = _squashed(weighed.scores[order], sure)[:k]
    places = pool[shown]
    fallback = not (scene.words[places] > 0).any()
    expansion = _expansion(weighed, order, k, settings) if sure < settings.unsure else np.empty(0, np.int32)
    paths = [
        weighed.spread.path(row) if weighed.spread is not None and linked else []
        for row, linked in zip(rows[shown].tolist(), (scene.links[places] > 0).tolist(), strict=True)
    ]
    return Ranking(
        rows=rows[shown],
        scores=scores,
        confidence=sure,
        sources=[_source(int(bits)) for bits in scene.source[places]],
        contributions=_contributions(weighed, shown),
        matched=_matched(index, scene, places),
        paths=paths,
        folded=folded[:k],
        hops=max((len(path) for path in paths), default=0),
        fallback=bool(fallback),
        expansion=expansion,
        weights=weighed.weights,
        caps=list(dict.fromkeys(caps)),
    )


def _folded(index: Index, rows: Rows) -> tuple[Places, list[list[int]]]:
    """Places of the first row of each text, and the rows that say the same."""
    digest = index.columns["digest"][rows]
    alike = np.sort(digest)
    if not (alike[1:] == alike[:-1]).any():
        return np.arange(len(rows)), [[] for _ in range(len(rows))]
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
    return np.array(kept, np.int64), folded


def _spread_out(
    index: Index, rows: Rows, order: Places, folded: list[list[int]], k: int, settings: Settings
) -> tuple[Places, list[list[int]]]:
    """No session fills more than its share of the answer while others wait behind it."""
    most = max(int(np.ceil(settings.one_session * k)), 1)
    if most >= k or len(order) <= k:
        return order, folded
    session = index.columns["session"][rows[order]]
    _, inverse = np.unique(session, return_inverse=True)
    by = np.argsort(inverse, kind="stable")
    rank_in = np.empty(len(order), np.int64)
    rank_in[by] = np.arange(len(order)) - np.searchsorted(inverse[by], inverse[by])
    late = (rank_in >= most) & (session != 0)
    moved = np.argsort(late, kind="stable")
    return order[moved], [folded[place] for place in moved.tolist()]


def _squashed(scores: Floats, sure: float) -> Floats:
    """The first gets the confidence itself, the others less by how far they stand behind it."""
    behind = np.minimum(scores - scores[0], 0)
    squashed: Floats = np.minimum.accumulate(np.float32(sure) * 2 / (1 + np.exp(-behind / 2))).astype(np.float32)
    return squashed


def _source(bits: int) -> str:
    return next((name for at, name in enumerate(SOURCES) if bits >> at & 1), SOURCES[-1])


_CALLED = {"form": "correction"}
LEVEL = "level"  # of a contribution: what every candidate has


def _contributions(weighed: Weighed, shown: Places) -> list[dict[str, float]]:
    """The parts of each score by signal; they add up to the score before squashing.

    A signal that a candidate has nothing of must not look like a reason for it: what standardising gives for
    that is the same for all and stands apart, as the level.
    """
    place = weighed.pool[shown]
    scale = 1 / weighed.deviation
    base = weighed.base
    parts = {
        "words": base.words[place] * scale,
        "meaning": base.meaning[place] * scale,
        "speaker": (base.speaker[place] + base.role[place]) * scale,
        "time": base.date[place] * scale,
        "truth": -weighed.loss[place] * scale + weighed.truth[shown],
        "learning": weighed.gains[shown],
    }
    for group, values, level in zip(rank.GROUPS, weighed.parts[:, shown], weighed.level, strict=True):
        name = _CALLED.get(group, group)
        parts[name] = parts.get(name, np.float32(0)) + values - level
    parts[LEVEL] = np.full(len(shown), weighed.level.sum(), np.float32)
    return [{name: float(values[at]) for name, values in parts.items() if values[at]} for at in range(len(shown))]


def _matched(index: Index, scene: Scene, places: Places) -> list[list[tuple[int, float]]]:
    """Per row: which term of the question it holds and what that brought."""
    parts = candidates.by_term(index, scene.rows[places], scene.counts[places], scene.idf, *bm25.shape(index))
    found: list[list[tuple[int, float]]] = [[] for _ in places]
    for row, term in zip(*np.nonzero(parts), strict=True):
        found[row].append((int(scene.places[term]), float(parts[row, term])))
    return found


def _expansion(weighed: Weighed, order: Places, k: int, settings: Settings) -> Rows:
    """Grains beside the answer: first those that links lead to, then the next by score."""
    rest = order[k:]
    if not len(rest):
        return np.empty(0, np.int32)
    place = weighed.pool[rest]
    linked = weighed.scene.links[place] + weighed.scene.hop[place]
    best = np.lexsort((np.arange(len(rest)), -linked))[: settings.expansion]
    return weighed.scene.rows[place[best]]
