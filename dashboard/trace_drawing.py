"""A trace as steps with a diagram: query, keyword and meaning matches, links followed, scores and final order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from accounts.adminsite.formatting import shorten
from memory.grains.graph_picture import GrainLabel
from memory.grains.models import Relation
from memory.recall.results import UNNAMED

MAX_GRAINS = 12  # grains of an answer that are drawn; the text of the steps names all of them
MAX_WORDS = 14  # words of the question that are drawn
_WIDE, _HIGH = 196, 40  # size of a node
_GAP, _ROW = 84, 62  # space between columns, and from row to row
_LETTERS = 24  # characters that fit into a node
_LISTED = 30  # links listed in the text of one step


@dataclass(frozen=True)
class DrawnNode:
    """A node of the diagram: the query, one of its words or entities, or a memory."""

    kind: str
    says: str
    whole: str
    scene: int  # step from which on it is visible
    x: int = 0
    y: int = 0
    place: int = 0  # place in the final order
    score: str = ""
    bar: int = 0  # its score as a width
    wide: int = _WIDE
    high: int = _HIGH


@dataclass(frozen=True)
class DrawnSignal:
    """A line of the diagram: a match or a link that was followed."""

    kind: str
    scene: int
    way: str  # SVG path data
    thickness: str
    says: str


@dataclass
class ReplayScene:
    number: int
    title: str
    says: str
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TraceReplay:
    scenes: list[ReplayScene]
    spots: list[DrawnNode]
    rays: list[DrawnSignal]
    wide: int
    high: int
    left_out: int  # grains that are not drawn


def draw_replay(kept: dict[str, Any], names: dict[str, GrainLabel]) -> TraceReplay:
    """Steps and diagram, from the trace alone; only texts the person may read now."""
    return _Drawing(kept, names).finished()


class _Link(NamedTuple):
    """A line before the positions of its ends are known."""

    start: str
    to: str
    kind: str
    scene: int
    strength: float
    says: str


class _Drawing:
    def __init__(self, kept: dict[str, Any], names: dict[str, GrainLabel]) -> None:
        self.kept, self.names = kept, names
        self.grains: list[dict[str, Any]] = kept["grains"]
        self.shown = self.grains[:MAX_GRAINS]
        self.scenes: list[ReplayScene] = []
        self.spots: dict[str, tuple[int, DrawnNode]] = {}  # by name, with their column
        self.links: list[_Link] = []

    def finished(self) -> TraceReplay:
        self._question()
        self._words()
        self._meaning()
        self._hops()
        self._worth()
        placed = self._placed()
        columns = max((column for column, _ in self.spots.values()), default=0) + 1
        return TraceReplay(
            scenes=self.scenes,
            spots=list(placed.values()),
            rays=[_ray(placed[link.start], placed[link.to], link) for link in self.links],
            wide=columns * (_WIDE + _GAP) - _GAP + 60,
            high=max((spot.y for spot in placed.values()), default=0) + _HIGH + 24,
            left_out=len(self.grains) - len(self.shown),
        )

    def _scene(self, title: str, says: str, lines: list[str] | None = None) -> int:
        self.scenes.append(ReplayScene(len(self.scenes) + 1, title, says, lines or []))
        return len(self.scenes)

    def _spot(self, name: str, column: int, kind: str, says: str, scene: int) -> None:
        if name not in self.spots:
            self.spots[name] = (column, DrawnNode(kind, shorten(says, _LETTERS), says, scene))

    def _named(self, grain: str) -> str:
        known = self.names.get(grain)
        return known.snippet if known else "a removed memory"

    def _question(self) -> None:
        features = self.kept["features"]
        listed = ", ".join(f"“{one}”" for one in features)
        says = f"Search terms: {listed}." if features else "The query contains no search terms."
        scene = self._scene("Query analysed", says)
        self._spot("?", 0, "question", self.kept["query"], scene)
        for one in features[:MAX_WORDS]:
            self._spot(f"word {one}", 1, "word", one, scene)
            self.links.append(_Link("?", f"word {one}", "asks", scene, 0.2, one))

    def _words(self) -> None:
        found = [one for one in self.grains if one["words"]]
        lines = [
            f"{self._named(one['grain_id'])}: {', '.join(word['word'] for word in one['words'][:6])}" for one in found
        ]
        scene = self._scene(
            "Matched by keywords",
            _many(len(found), "shares words with the query", "share words with the query"),
            lines,
        )
        for one in self.shown:
            for word in one["words"]:
                if f"word {word['term']}" in self.spots:
                    self._spot(one["grain_id"], 2, "grain", self._named(one["grain_id"]), scene)
                    share = float(word["part"]) / (sum(float(w["part"]) for w in one["words"]) or 1.0)
                    says = f"shared word {word['word']}"
                    self.links.append(_Link(f"word {word['term']}", one["grain_id"], "words", scene, share, says))

    def _meaning(self) -> None:
        parts = {one["grain_id"]: _part(one, "meaning") for one in self.grains}
        found = [grain for grain, part in parts.items() if part > 0]
        lines = [f"{self._named(grain)}: {parts[grain]:+.2f}" for grain in found]
        says = _many(len(found), "has a similar meaning", "have a similar meaning")
        if self.kept["rung"] in ("no encoder", "cold"):
            says = "Meaning was not used: no index or no encoder was ready."
        scene = self._scene("Matched by meaning", says, lines)
        best = max(parts.values(), default=1.0) or 1.0
        for one in self.shown:
            grain = one["grain_id"]
            if parts[grain] > 0:
                self._spot(grain, 2, "grain", self._named(grain), scene)
                self.links.append(
                    _Link("?", grain, "meaning", scene, parts[grain] / best, f"meaning {parts[grain]:+.2f}")
                )

    def _hops(self) -> None:
        steps: dict[tuple[Any, ...], tuple[str, str, dict[str, Any]]] = {}
        for one in self.shown:
            for start, to, step in _walked(one["path"]):
                steps.setdefault((start, to, step["relation"], step["hop"]), (start, to, step))
        for hop in sorted({step["hop"] for *_, step in steps.values()}):
            now = [(start, to, step) for start, to, step in steps.values() if step["hop"] == hop]
            lines = [
                f"{self._end(start)} → {self._end(to)}: {_relation(step)}, weight {step['weight']:.2f}, "
                f"signal {step['signal']:.2f}"
                for start, to, step in now[:_LISTED]
            ]
            says = "1 link was followed." if len(now) == 1 else f"{len(now)} links were followed."
            scene = self._scene(f"Hop {hop}: links followed", says, lines)
            for start, to, step in now:
                self._step(start, to, step, scene)

    def _step(self, start: str, to: str, step: dict[str, Any], scene: int) -> None:
        for name, column in ((start, 1 if start.startswith("entry ") else 2), (to, 2 + int(step["hop"]))):
            if name.startswith("entry ") and f"word {name.split(':', 1)[-1]}" in self.spots:
                continue
            kind = "entry" if name.startswith("entry ") else "grain"
            self._spot(name, min(column, 5), kind, self._end(name), scene)
        one, two = self._known(start), self._known(to)
        says = f"{_relation(step)}, weight {step['weight']:.2f}, signal {step['signal']:.2f}"
        self.links.append(_Link(one, two, "hop", scene, min(max(float(step["signal"]), 0.05), 1.0), says))

    def _known(self, name: str) -> str:
        """Name of the node to draw: an entity that is also a word of the query is drawn once."""
        word = f"word {name.split(':', 1)[-1]}"
        return word if name.startswith("entry ") and word in self.spots else name

    def _end(self, name: str) -> str:
        if not name.startswith("entry "):
            return self._named(name)
        kind, _, feature = name[6:].partition(":")
        return f"{kind} “{feature}”" if feature else "a shared entity"

    def _worth(self) -> None:
        lines = [f"{self._named(one['grain_id'])}: {_bars(one)}" for one in self.grains]
        scene = self._scene("Scores added up", self.kept["says"], lines)
        for one in self.shown:  # matched by a rule, a conversation or a speaker: without a line
            self._spot(one["grain_id"], 2, "grain", self._named(one["grain_id"]), scene)
        lines = [f"{one['place']}. {self._named(one['grain_id'])} ({one['score']:.2f})" for one in self.grains]
        says = (
            "Memories with the same text are merged. These were returned, with their scores."
            if self.grains
            else "No results."
        )
        self._scene("Final order", says, lines)

    def _placed(self) -> dict[str, DrawnNode]:
        """Columns from left to right, grains of the answer in its order."""
        places = {one["grain_id"]: one for one in self.shown}
        columns: dict[int, list[str]] = {}
        for name, (column, _) in self.spots.items():
            columns.setdefault(column, []).append(name)
        found: dict[str, DrawnNode] = {}
        tallest = max((len(names) for names in columns.values()), default=1)
        for at, column in enumerate(sorted(columns)):
            names = sorted(columns[column], key=lambda name: places[name]["place"] if name in places else 0)
            top = (tallest - len(names)) * _ROW // 2
            for row, name in enumerate(names):
                spot, one = self.spots[name][1], places.get(name)
                found[name] = DrawnNode(
                    spot.kind,
                    spot.says,
                    spot.whole,
                    spot.scene,
                    12 + at * (_WIDE + _GAP),
                    12 + top + row * _ROW,
                    one["place"] if one else 0,
                    f"{one['score']:.2f}" if one else "",
                    round(_WIDE * min(max(float(one["score"]), 0.0), 1.0)) if one else 0,
                )
        return found


def _walked(path: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Steps of a path with the names of their ends; a step to an entry is named by the next one."""
    for place, step in enumerate(path, start=1):
        after = path[place] if place < len(path) else {}
        start = step.get("from_grain") or f"entry {step.get('from_entry') or UNNAMED}"
        to = step.get("to_grain") or f"entry {after.get('from_entry') or UNNAMED}"
        yield start, to, step


def _ray(one: DrawnNode, two: DrawnNode, link: _Link) -> DrawnSignal:
    start, end = one.x + _WIDE, two.x
    high, low = one.y + _HIGH // 2, two.y + _HIGH // 2
    if end > start:
        bend = (end - start) // 2
        way = f"M{start} {high}C{start + bend} {high} {end - bend} {low} {end} {low}"
    else:  # to one in the same column, or back: around the right side
        end, side = two.x + _WIDE, max(start, two.x + _WIDE) + 44
        way = f"M{start} {high}C{side} {high} {side} {low} {end} {low}"
    return DrawnSignal(link.kind, link.scene, way, f"{1 + 4 * link.strength:.1f}", link.says)


def _part(grain: dict[str, Any], name: str) -> float:
    return next((float(part["part"]) for part in grain["parts"] if part["name"] == name), 0.0)


def _bars(grain: dict[str, Any]) -> str:
    return ", ".join(f"{part['called']} {part['part']:+.2f}" for part in grain["parts"][:5]) or "no single part counts"


def _relation(step: dict[str, Any]) -> str:
    return str(Relation(step["relation"]).label).lower()


def _many(count: int, one: str, several: str) -> str:
    if not count:
        return f"No result {one}."
    return f"1 result {one}." if count == 1 else f"{count} results {several}."
