"""What votes are worth: half of a collection's questions are asked once and judged, then everything is asked again.

    python -m benchmarks.learning FOLDER                  LoCoMo and whatever else FOLDER holds
    python -m benchmarks.learning FOLDER --service        the same through the public service
    python -m benchmarks.learning --small                 generated collections: a smoke run

nDCG@10 before and after of: the *same* questions; the same in other words (*keywords*, *synonyms*, *without the rarest*
word); questions that were not judged and share evidence with one that was (*related*); the others (*unrelated*: harm).
Two ways to judge: *told*, where what was missed is named too, and *shown*, where only what came back is judged. The
control is *popularity*: everything that was ever useful gains the same, whatever is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import measure, paraphrases, service, spaces
from benchmarks.made.__main__ import sets as made_sets
from memory.engine import boost, learn, question, recall
from memory.engine.settings import DEFAULT, Settings
from memory.engine.weigh import weigh

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 10
SEEDS = (1, 2, 3)
GROUPS = ("same", *paraphrases.KINDS, "related", "unrelated")
MODES = ("told", "shown")
POPULAR = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)  # gains the control may choose from, in deviations
HOSTILE_VOTES = 1_000

Scores = dict[str, list[float]]


class Memory(Protocol):
    """Something that answers and learns: the engine here; the service, by its verbs, has the same four."""

    def ask(self, text: str) -> list[str]:
        """Items, best first."""

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> None:
        """Vote on what a question brought, or should have."""

    def settle(self) -> None:
        """Wait until every vote is applied."""

    def forget(self) -> None:
        """Take every vote back."""


@dataclass
class Asked:
    """A question with what answers it."""

    text: str
    evidence: list[str]
    others: dict[str, str]  # the same in other words, by kind


class Engine:
    """The arrays alone."""

    def __init__(self, space: spaces.Space, vectors: spaces.Vectors, settings: Settings = DEFAULT) -> None:
        self.space, self.vectors, self.settings = space, vectors, settings
        self.ids = space.ids
        self.row = {name: at for at, name in enumerate(self.ids)}
        self.lessons = learn.Lessons()
        self._read: dict[str, tuple[question.Query, NDArray[np.float32] | None]] = {}
        self._before: dict[str, list[str]] = {}  # answers while nothing was learned: every seed needs them
        self._weighed: dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}

    def encode(self, texts: Iterable[str]) -> None:
        wanted = list(dict.fromkeys(text for text in texts if text not in self._read))
        encoded = self.vectors.of(wanted) if wanted else None
        for at, text in enumerate(wanted):
            self._read[text] = question.read(text, self.space.now), None if encoded is None else encoded[at]

    def weighed(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Candidates and their scores while nothing was learned."""
        if text not in self._weighed:
            self.encode([text])
            asked, vector = self._read[text]
            found = weigh(
                self.space.index, asked, vector, allowed=None, now=self.space.now, settings=self.settings
            )  # fmt: skip
            none = np.empty(0, np.int32), np.empty(0, np.float32)
            self._weighed[text] = none if found is None else (found.scene.rows[found.pool], found.scores)
        return self._weighed[text]

    def ask(self, text: str) -> list[str]:
        if not self.space.index.learned:
            if text not in self._before:
                self._before[text] = self._ask(text)
            return self._before[text]
        return self._ask(text)

    def _ask(self, text: str) -> list[str]:
        self.encode([text])
        asked, vector = self._read[text]
        found = recall.recall(
            self.space.index, asked, vector, allowed=None, k=SHOWN, now=self.space.now, settings=self.settings
        )  # fmt: skip
        return [self.ids[row] for own, same in zip(found.rows, found.folded, strict=True) for row in (own, *same)]

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> None:
        self.encode([text])
        asked, vector = self._read[text]
        for items, strength in ((useful, 1.0), (useless, -1.0)):
            for item in items:
                self.lessons.add(learn.Vote(asked.keys, vector, caller, self.row[item], strength))

    def settle(self) -> None:
        self.space.index.learned = self.lessons.learned

    def forget(self) -> None:
        self.lessons = learn.Lessons()
        self.space.index.learned = None


class Service:
    """The public service: stored and asked by verbs, votes applied by the worker's job."""

    def __init__(self, stored: service.Stored) -> None:
        self.stored = stored
        self._votes: list[tuple[str, str]] = []

    def ask(self, text: str) -> list[str]:
        return self.stored.items(self.stored.ask(text, SHOWN))

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> None:
        from memory.grains.learning import votes

        answer, grain_of = self.stored.ask(text, SHOWN), self.stored.grain_of
        trace, back = answer["trace_id"], {hit["id"] for hit in answer["grains"]}
        wanted = {grain_of[item] for item in useful}
        said = [{"trace_id": trace, "missed": sorted(wanted)}] if wanted else []
        said += [
            {"trace_id": trace, "grain_id": grain, "useful": False}
            for grain in dict.fromkeys(grain_of[item] for item in useless)
            if grain in back and grain not in wanted
        ]
        if said:
            votes.feedback_batch(self.stored.person, items=said)
            self._votes += [(trace, grain) for grain in wanted]
            self._votes += [(trace, one["grain_id"]) for one in said if "grain_id" in one]

    def settle(self) -> None:
        from fluxcore import jobs

        jobs.drain(seconds=service.SECONDS)

    def forget(self) -> None:
        from memory.grains.learning import votes

        for trace, grain in self._votes:
            votes.withdraw(self.stored.person, trace=trace, grain=grain)
        self._votes = []
        self.settle()


def asked_of(space: spaces.Space) -> list[Asked]:
    """Questions that count: answered by items of the space, and not meant to mislead."""
    known = set(space.ids)
    return [
        Asked(query["query"], evidence, paraphrases.of(query["query"], space.index))
        for query in space.collection["queries"]
        if (evidence := sorted(known.intersection(query["evidence"]))) and not measure.apart(query["category"])
    ]


@dataclass
class Split:
    """Which half is judged, and what the other half has to do with it."""

    judged: list[Asked]
    groups: list[tuple[str, str, list[str]]]  # group, text, evidence

    @classmethod
    def of(cls, asked: list[Asked], seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(asked))
        judged = [asked[at] for at in sorted(order[: len(asked) // 2])]
        held = [asked[at] for at in sorted(order[len(asked) // 2 :])]
        touched = {item for one in judged for item in one.evidence}
        groups = [("same", one.text, one.evidence) for one in judged]
        groups += [(kind, one.others[kind], one.evidence) for one in judged for kind in paraphrases.KINDS]
        groups += [
            ("unrelated" if touched.isdisjoint(one.evidence) else "related", one.text, one.evidence) for one in held
        ]
        return cls(judged, groups)


def measured(memory: Memory, groups: Iterable[tuple[str, str, list[str]]]) -> Scores:
    found: Scores = defaultdict(list)
    for group, text, evidence in groups:
        found[group].append(100 * measure.scored(memory.ask(text), evidence)["ndcg@10"])
    return found


def teach(memory: Memory, judged: Iterable[Asked], *, told: bool, caller: int = 1) -> None:
    """Every question once: what came back is judged by an oracle that, if `told`, also names what was missed."""
    answers = [(one, memory.ask(one.text)[:SHOWN]) for one in judged]
    for one, shown in answers:
        useful = one.evidence if told else [item for item in shown if item in one.evidence]
        memory.judge(one.text, useful, [item for item in shown if item not in one.evidence], caller)
    memory.settle()


def attack(memory: Memory, asked: list[Asked], items: list[str], seed: int) -> None:
    """One caller, 1,000 votes: what answers is called useless, what has nothing to do with it useful."""
    random = np.random.default_rng(seed)
    texts = [(text, one.evidence) for one in asked for text in (one.text, *one.others.values())]
    favourites = [items[at] for at in random.permutation(len(items))[:3]]
    votes = 0
    for at in random.permutation(len(texts)):
        text, evidence = texts[at]
        junk = [items[other] for other in random.permutation(len(items))[:2]]
        useful = [item for item in dict.fromkeys((*favourites[at % 3 : at % 3 + 1], *junk)) if item not in evidence]
        memory.judge(text, useful, evidence, caller=666)
        votes += len(useful) + len(evidence)
        if votes >= HOSTILE_VOTES:
            break
    memory.settle()


class Popularity:
    """The control: the scores of the engine, with the same gain for everything that was ever useful."""

    def __init__(self, engine: Engine, split: Split) -> None:
        self.engine = engine
        useful = {engine.row[item] for one in split.judged for item in one.evidence}
        self.held: dict[str, list[tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.bool_], list[str]]]]
        self.held = defaultdict(list)
        for group, text, evidence in split.groups:
            if group in ("related", "unrelated"):
                rows, scores = engine.weighed(text)
                self.held[group].append((rows, scores, np.isin(rows, list(useful)), evidence))

    def measured(self, gain: float) -> Scores:
        ids = self.engine.ids
        found: Scores = defaultdict(list)
        for group, questions in self.held.items():
            for rows, scores, useful, evidence in questions:
                best = np.argsort(-(scores + np.float32(gain) * useful), kind="stable")[:SHOWN]
                found[group].append(100 * measure.scored([ids[row] for row in rows[best]], evidence)["ndcg@10"])
        return found


def collection(
    space: spaces.Space, vectors: spaces.Vectors, seeds: Sequence[int], what: Sequence[str],
    memory: Memory | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Scores by seed and way, lists of one number per question; "before" among the ways."""
    engine = Engine(space, vectors)
    asked = asked_of(space)
    if memory is None:
        engine.encode([text for one in asked for text in (one.text, *one.others.values())])
        memory = engine
    found: dict[str, Any] = {}
    for seed in seeds:
        split = Split.of(asked, seed)
        ways: dict[str, Scores] = {"before": measured(memory, split.groups)}
        if "popularity" in what:
            control = Popularity(engine, split)
            ways |= {f"popularity {gain}": control.measured(gain) for gain in POPULAR}
        for mode in MODES:
            if mode in what:
                teach(memory, split.judged, told=mode == "told")
                ways[mode] = measured(memory, split.groups)
                memory.forget()
        if "hostile" in what:
            attack(memory, split.judged, space.ids, seed)
            ways["hostile"] = measured(memory, [one for one in split.groups if one[0] in ("related", "unrelated")])
            memory.forget()
        found[str(seed)] = ways
    return found


def table(found: Iterable[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Way -> group -> before, after, gain, least and most gain over seeds, questions. Of the control the best gain."""
    whole: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for one in found:
        for seed, ways in one.items():
            for way, groups in ways.items():
                for group, scores in groups.items():
                    whole[way][seed][group] += scores
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for way, seeds in whole.items():
        if way != "before":
            rows[way] = {
                group: row for group in GROUPS if (row := _row(whole["before"], seeds, group)) is not None
            }  # fmt: skip
    controls = [way for way in rows if way.startswith("popularity")]
    if controls:
        best = max(controls, key=lambda way: rows[way].get("related", {}).get("gain", 0.0))
        equal = min(controls, key=lambda way: abs(_harm(rows[way]) - _harm(rows.get("told", {}))))
        kept = {f"{best} (best related)": rows[best], f"{equal} (nearest harm)": rows[equal]}
        rows = {way: row for way, row in rows.items() if way not in controls} | kept
    return rows


def _harm(row: dict[str, dict[str, float]]) -> float:
    return row.get("unrelated", {}).get("gain", 0.0)


def _row(before: dict[str, Any], after: dict[str, Any], group: str) -> dict[str, float] | None:
    each = [
        (float(np.mean(before[seed][group])), float(np.mean(after[seed][group])), len(after[seed][group]))
        for seed in after
        if after[seed][group]
    ]
    if not each:
        return None
    gains = [late - early for early, late, _ in each]
    return {
        "before": float(np.mean([early for early, *_ in each])), "after": float(np.mean([late for _, late, _ in each])),
        "gain": float(np.mean(gains)), "least": min(gains), "most": max(gains), "questions": sum(n for *_, n in each),
    }  # fmt: skip


def show(console: Console, name: str, rows: dict[str, dict[str, dict[str, float]]]) -> None:
    drawn = Table(box=None, header_style="bold", pad_edge=False, title=name, title_justify="left")
    for column in ("votes", "group", "before", "after", "gain", "by seed", "questions"):
        drawn.add_column(column, justify="left" if column in ("votes", "group") else "right")
    for way, groups in rows.items():
        said = [row for kind in paraphrases.KINDS if (row := groups.get(kind))]
        for group, row in groups.items():
            drawn.add_row(way, group, *_cells(row), f"{row['questions']:.0f}")
        if said:
            drawn.add_row(way, "mean in other words", *_cells(_mean(said)), "")
    console.print(drawn)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def _cells(row: dict[str, float]) -> list[str]:
    return [
        f"{row['before']:.1f}",
        f"{row['after']:.1f}",
        f"{row['gain']:+.2f}",
        f"{row['least']:+.1f}…{row['most']:+.1f}",
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--small", action="store_true", help="a few generated collections")
    parser.add_argument("--encoder", default="wordllama", choices=("minilm", "wordllama", "hashed", "none"))
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--collections", type=int, help="so many of each set: all in FOLDER, two of generated ones")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--what", default="told,shown,popularity,hostile")
    parser.add_argument("--service", action="store_true", help="through the verbs and the worker's job, not the arrays")
    parser.add_argument("--report", type=Path, default=ROOT / "reports")
    given = parser.parse_args(arguments)
    console = Console(stderr=True, width=120)
    began, load = time.time(), os.getloadavg()
    found = (
        [spaces.read(path) for path in sorted(given.folder.glob("*.json"))]
        if given.folder
        else made_sets(SEEDS[0], small=given.small)
    )
    if given.service:
        service.prepare(given.encoder)
    most = given.collections or (1_000 if given.folder else 2)
    models = (given.cache or Path(tempfile.gettempdir()) / "flux-bench") / "models"
    vectors = spaces.Vectors(spaces.encoder(given.encoder, models), given.cache)
    report: dict[str, Any] = {
        "at": began, "seeds": SEEDS[: given.seeds], "encoder": given.encoder, "load": [load],
        "settings": vars(boost.DEFAULT), "sets": {},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }  # fmt: skip
    for one in found:
        ways = [
            collection(
                spaces.space(one["name"], part, vectors), vectors, SEEDS[: given.seeds], given.what.split(","),
                Service(service.stored(one["name"], number, part)) if given.service else None,
            )
            for number, part in enumerate(one["collections"][:most])
        ]  # fmt: skip
        report["sets"][one["name"]] = rows = table(ways)
        show(console, one["name"], rows)
    report["load"].append(os.getloadavg())
    given.report.mkdir(exist_ok=True)
    path = given.report / f"learning-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}.json"
    path.write_text(json.dumps(report, indent=1))
    console.print(f"[dim]load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after; {path.name}[/]")
    print(json.dumps(_goals(report["sets"], real=given.folder is not None)))
    return 0


# Way, group, what is looked at, and the floor on real conversations. Generated questions follow a few forms and are
# few: there only what must never fail is a goal.
FLOORS = (
    ("told", "same", "after", "≥ 92"), ("told", "other words", "after", "≥ 80"), ("told", "related", "gain", "≥ 4"),
    ("told", "unrelated", "gain", "≥ -1.0"), ("shown", "same", "gain", "≥ 14"),
    ("hostile", "unrelated", "gain", "≥ -1.0"),
)  # fmt: skip


def _goals(found: dict[str, Any], *, real: bool) -> list[dict[str, Any]]:
    """Rows for the common report of all benchmarks."""
    rows: list[dict[str, Any]] = []
    for name, ways in found.items():
        for way, group, column, goal in FLOORS:
            groups = ways.get(way, {})
            if said := [groups[kind] for kind in paraphrases.KINDS if kind in groups]:
                groups = groups | {"other words": _mean(said)}
            if row := groups.get(group):
                rows.append(
                    {"what": f"{name}, {way}: {group}, nDCG@10 {column}", "ratio": row[column],
                     "goal": goal if real or (way, group) == ("told", "same") else "",
                     "measured": f"{row['before']:.1f} → {row['after']:.1f}"}
                )  # fmt: skip
    return rows


if __name__ == "__main__":
    sys.exit(main())
