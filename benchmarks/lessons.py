"""The protocol of learning: half of the questions are judged, by an oracle or by an enemy, and the rest held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from benchmarks import measure, paraphrases, spaces

SHOWN = 10
HOSTILE_VOTES = 1_000

Scores = dict[str, list[float]]


class Memory(Protocol):
    """Something that answers and learns: the engine here; the service, by its verbs, has the same four."""

    def ask(self, text: str) -> list[str]:
        """Items, best first."""

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> int:
        """Vote on what a question brought, or should have; how many votes that were."""

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
        votes += memory.judge(text, useful, evidence, caller=666)
        if votes >= HOSTILE_VOTES:
            break
    memory.settle()
