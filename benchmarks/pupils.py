"""What learns in the benchmark: the arrays alone, or the public service with its worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks import service, spaces
from benchmarks.lessons import SHOWN
from memory.engine.learning import vote_sums
from memory.engine.learning.learned import MISSED_PLACE
from memory.engine.ranking import recall
from memory.engine.ranking.scoring import score_candidates
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text import question


class Engine:
    """The arrays alone."""

    def __init__(self, space: spaces.Space, vectors: spaces.Vectors, settings: Settings = DEFAULT) -> None:
        self.space, self.vectors, self.settings = space, vectors, settings
        self.ids = space.ids
        self.row = {name: at for at, name in enumerate(self.ids)}
        self.lessons = vote_sums.VoteSums()
        self._read: dict[str, tuple[question.Query, NDArray[np.float32] | None]] = {}
        self._before: dict[str, list[str]] = {}  # answers while nothing was learned: every seed needs them
        self._weighed: dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}

    def encode(self, texts: Iterable[str]) -> None:
        wanted = list(dict.fromkeys(text for text in texts if text not in self._read))
        encoded = self.vectors.of(wanted) if wanted else None
        for at, text in enumerate(wanted):
            self._read[text] = question.read_question(text, self.space.now), None if encoded is None else encoded[at]

    def weighed(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Candidates and their scores while nothing was learned."""
        if text not in self._weighed:
            self.encode([text])
            asked, vector = self._read[text]
            found = score_candidates(
                self.space.index, asked, vector, allowed=None, now=self.space.now, settings=self.settings
            )
            none = np.empty(0, np.int32), np.empty(0, np.float32)
            self._weighed[text] = none if found is None else (found.candidates.rows[found.pool], found.scores)
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
        )
        return [self.ids[row] for own, same in zip(found.rows, found.folded, strict=True) for row in (own, *same)]

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> int:
        self.encode([text])
        asked, vector = self._read[text]
        places = {item: place for place, item in reversed(list(enumerate(self.ask(text)[:SHOWN], start=1)))}
        for items, strength in ((useful, 1.0), (useless, -1.0)):
            for item in items:
                place = places.get(item, MISSED_PLACE)
                self.lessons.add(vote_sums.VoteSample(asked.keys, vector, caller, self.row[item], strength, place))
        return len(useful) + len(useless)

    def settle(self) -> None:
        self.space.index.learned = self.lessons.learned

    def forget(self) -> None:
        self.lessons = vote_sums.VoteSums()
        self.space.index.learned = None


class Service:
    """The public service: stored and asked by verbs, votes applied by the worker's job."""

    def __init__(self, stored: service.Stored) -> None:
        self.stored = stored
        self._votes: list[tuple[str, str]] = []

    def ask(self, text: str) -> list[str]:
        return self.stored.items(self.stored.ask(text, SHOWN))

    def judge(self, text: str, useful: Sequence[str], useless: Sequence[str], caller: int) -> int:
        from memory.learning import feedback

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
            feedback.feedback_batch(self.stored.person, items=said)
        given = [(trace, grain) for grain in wanted]
        given += [(trace, str(one["grain_id"])) for one in said if "grain_id" in one]
        self._votes += given
        return len(given)

    def settle(self) -> None:
        from fluxcore.work import worker

        worker.drain(seconds=service.SECONDS)

    def forget(self) -> None:
        from memory.learning import feedback

        for trace, grain in self._votes:
            feedback.withdraw(self.stored.person, trace=trace, grain=grain)
        self._votes = []
        self.settle()
