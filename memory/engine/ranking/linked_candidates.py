"""Candidates reached through dates, entries, titles and conduits, from a question and its best matches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.propagate import Signals, spread_signal
from memory.engine.graph.signal_spread import Spread
from memory.engine.index.space_index import ACTIVE, Index
from memory.engine.ranking import candidates, linked_rows
from memory.engine.ranking.candidate_columns import parse_period
from memory.engine.ranking.candidates import Candidates, Floats, Mask, Rows
from memory.engine.ranking.collection_shape import SpaceFacts
from memory.engine.ranking.settings import Settings
from memory.engine.text.question import Query


class LinkedCandidates:
    """Rows and strengths by entries (`entry_links`), titles (`hop`, `cites`), dates (`dated`), conduits (`reached`)."""

    def __init__(
        self,
        index: Index,
        space: SpaceFacts,
        query: Query,
        vector: Floats | None,
        matches: candidates.SearchMatches,
        named: NDArray[np.uint64],
        allowed: Mask | None,
        now: int,
        settings: Settings,
        caps: list[str],
    ) -> None:
        self.spread: Spread | None = None
        none = np.empty(0, np.int32), np.empty(0, np.float32)
        self.entry_links = self.hop = self.cites = self.reached = none
        self.rows = self.dated = none[0]
        if "time" not in settings.without:
            parsed = [parse_period(mention.feature) for mention in query.mentions if mention.kind == "date"]
            periods = [span for span in parsed if span is not None]
            if periods:
                self.rows = self.dated = linked_rows.rows_said_in(index, periods, vector, allowed, settings.dated)
        if "links" in settings.without:
            return
        *self.entry_links, keys = linked_rows.rows_by_entries(index, query, allowed, settings.entry_links)  # type: ignore[assignment]
        heads, strength = candidates.best_matches(
            index, matches, named, settings.balance, settings.speaker, settings.heads
        )
        if len(heads):
            if space.titled:
                self.hop = linked_rows.rows_titled(index, heads, strength, keys, allowed, settings.entry_links)
                self.cites = linked_rows.rows_citing(index, heads, strength, keys, allowed, settings.entry_links)
            self._follow_conduits(index, heads, strength, allowed, now, settings, caps)
        self.rows = np.concatenate((self.dated, self.entry_links[0], self.hop[0], self.cites[0], self.reached[0]))

    def _follow_conduits(
        self,
        index: Index,
        heads: Rows,
        strength: Floats,
        allowed: Mask | None,
        now: int,
        settings: Settings,
        caps: list[str],
    ) -> None:
        """Propagate signals from the best matches and keep the rows that received most."""
        active = index.column("status") == ACTIVE if allowed is None else allowed
        self.spread = spread_signal(
            index.graph,
            seeds=Signals(heads.astype(np.int64), strength.astype(np.float64)),
            now=now,
            settings=settings.propagation,
            fading=settings.fading,
            active=active,
            authority=index.column("authority"),
        )
        caps += sorted(self.spread.caps)
        received = self.spread.received
        order = (-received).argsort(kind="stable")[: settings.reached]
        order = order[: np.count_nonzero(received[order] > 0)]
        if len(order):
            self.reached = self.spread.rows[order].astype(np.int32), received[order] / received[order[0]]

    def fill_columns(self, gathered: Candidates) -> None:
        """Write the strengths into the columns of the gathered candidates."""
        for (rows, values), column in (
            (self.entry_links, gathered.entry_links),
            (self.hop, gathered.hop),
            (self.cites, gathered.cites),
            (self.reached, gathered.links),
        ):
            if len(rows):
                index = gathered.at(rows)
                present = index >= 0
                column[index[present]] = values[present]
