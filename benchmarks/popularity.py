"""The control: everything that was ever useful gains the same, whatever is asked."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from benchmarks import measure
from benchmarks.lessons import SHOWN, Scores, Split
from benchmarks.pupils import Engine

GAINS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)  # it may choose from, in deviations


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
