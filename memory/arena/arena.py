"""Arena: the in-memory index of one space in this process, updated row by row."""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluxcore.events import Position
from memory.arena import grain_rows
from memory.arena.changes import Changes
from memory.arena.grain_rows import GrainRecord
from memory.arena.read_write_lock import ReadWriteLock
from memory.arena.votes import VoteIndex, VoteRow
from memory.engine.index.dense import Dense
from memory.engine.index.space_index import GONE, NO_ROW, Index, SpaceWeights
from memory.engine.ranking import rank

# Share of rows, number of rows and number of conduits added since the base, above which a new base is worth its cost.
LATE_SHARE, LATE_ROWS, LATE_CONDUITS = 0.05, 512, 50_000


class Arena:
    """Index of one space, its position in the event log, and the lock between readers and writers.

    The base is what was built or read from files; rows added later are the delta.
    """

    def __init__(self, space: int, index: Index, position: Position, encoder: str, *, generation: int = 0) -> None:
        self.space, self.index, self.position, self.encoder, self.generation = (
            space,
            index,
            position,
            encoder,
            generation,
        )
        self.lock = ReadWriteLock()
        self.ahead: set[Position] = set()  # events after the position that are applied already (`log_reader.py`)
        self.following = threading.Lock()  # one catch-up at a time
        self.followed_at = time.monotonic()
        self.sound = True  # False: a change did not fit, the arena must be built again
        self.behind = False  # True: a background thread is catching up
        self.exploring = False  # recall offers more candidates after a context shift
        self.asked_at = -math.inf  # when a merge into files was requested, in monotonic seconds
        self._votes = VoteIndex()
        self._reset_base()

    def _reset_base(self) -> None:
        """Make all present rows the base."""
        ids = self.index.column("id")
        ascending = bool(np.all(ids[1:] > ids[:-1]))
        self._order = None if ascending else np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids if self._order is None else ids[self._order]
        self.base = self.index.size
        self._late: dict[int, int] = {}
        self._sessions: dict[int, list[tuple[int, int, int]]] = {}

    def row_of(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """Rows of grains by id; NO_ROW for unknown grains."""
        wanted = np.asarray(numbers, np.int64)
        rows = np.full(len(wanted), NO_ROW, np.int32)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
            known = self._ids[at] == wanted
            rows[known] = at[known] if self._order is None else self._order[at[known]]
        if self._late:
            for position in np.flatnonzero(rows == NO_ROW).tolist():
                rows[position] = self._late.get(int(wanted[position]), NO_ROW)
        return rows

    def unknown(self, changes: Changes) -> list[int]:
        """Ids of grains at the ends of changed conduits that are neither in the arena nor in the changes."""
        ends = np.concatenate((changes.conduits["from_grain"], changes.conduits["to_grain"]))
        ends = np.unique(ends[ends != 0])
        missing = ends[self.row_of(ends) == NO_ROW]
        return sorted(set(missing.tolist()) - set(changes.grains))

    def teach(self, votes: Sequence[VoteRow], questions: Iterable[int] | None = None) -> None:
        """Replace the votes of these questions; without `questions`, of all questions that have a vote."""
        if questions is None:
            questions = dict.fromkeys(vote.question for vote in votes)
        self._votes.teach(questions, votes, self.encoder, self.row_of)
        self.index.learned = self._votes.learned

    def attune(self, own: tuple[Any, ...] | None) -> None:
        """Set the space's own ranker weights, from `queries.read_attunement`; None for the shipped ones."""
        self.index.own = None if own is None else SpaceWeights(own[0], rank.weights_array(own[1]), own[2])

    def apply(
        self,
        records: Iterable[GrainRecord],
        changes: Changes,
        votes: Sequence[VoteRow] = (),
        own: tuple[Any, ...] | None = None,
    ) -> None:
        """Apply changes: grains as read from SQL, conduits as in the log. Applying them again changes nothing.

        A changed grain without a record was deleted.
        """
        by_id = {record.id: record for record in records}
        with self.lock.changing():
            self.index.version += 1
            for record in by_id.values():
                self._put_grain(record)
            for row in self.row_of([number for number in changes.grains if number not in by_id]).tolist():
                if row != NO_ROW:
                    self._mark_gone(row)
            if changes.cut:
                self.index.graph.cut(np.array(changes.cut, np.int64))
            if len(changes.conduits):
                self._put_conduits(changes.conduits)
            if changes.judged:
                self.teach(votes, changes.judged)
            if changes.attuned:
                self.attune(own)
            if len(changes.members):
                self._set_clusters(changes.members)
            if changes.exploring is not None:
                self.exploring = changes.exploring

    @property
    def late(self) -> int:
        """Number of rows added since the base."""
        return self.index.size - self.base

    @property
    def overgrown(self) -> bool:
        """Whether so much was added since the base that a new one is worth its cost."""
        return self.late > max(LATE_SHARE * self.base, LATE_ROWS) or self.index.graph.since > LATE_CONDUITS

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + 100 * len(self._late)

    def fold(self) -> None:
        """Merge the delta into the base in place: for small arenas, where it takes milliseconds."""
        index = self.index
        with self.lock.changing():
            index.postings = index.postings.merged()
            index.graph = index.graph.merged(rows=index.size)
            if index.dense is not None:  # its bits depend on the mean of all vectors at build time
                size, dense = index.dense.size, index.dense
                index.dense = Dense.build(dense.data[:size], dense.scale[:size], dense.has[:size], dense.capacity)
            self._reset_base()

    def _put_grain(self, record: GrainRecord) -> None:
        index = self.index
        row = int(self.row_of([record.id])[0])
        if row == NO_ROW:
            row = self._append_row(record)
        else:
            self._update_row(row, record)
        vector = record.vector(index.dense.dimension if index.dense is not None else None)
        if vector is not None and record.scale is not None:
            if index.dense is None:
                index.dense = Dense.empty(len(vector), len(index.columns["id"]))
            index.dense.put(row, vector, record.scale)

    def _update_row(self, row: int, record: GrainRecord) -> None:
        columns, session = self.index.columns, grain_rows.session_key(record)
        moved, was_gone = int(columns["session"][row]) != session, int(columns["status"][row]) == GONE
        if moved and not was_gone:
            self._unlink_session(row)
        columns["session"][row] = session
        for name, value in grain_rows.mutable_values(record).items():
            columns[name][row] = value
        if moved or was_gone:
            self._link_session(row)

    def _append_row(self, record: GrainRecord) -> int:
        index = self.index
        row, analysed = index.size, grain_rows.analyse_record(record)
        if row == len(index.columns["id"]):
            self._grow(grain_rows.capacity_for(row + row // 4))
        grain_rows.fill_columns(index.columns, row, [analysed])
        index.postings.add(row, analysed.terms)
        if analysed.speaker:
            index.speakers.setdefault(int(analysed.values["speaker"]), analysed.speaker)
        index.size = row + 1
        self._late[record.id] = row
        self._link_session(row)
        return row

    def _grow(self, capacity: int) -> None:
        for name, column in self.index.columns.items():
            wider = np.zeros(capacity, column.dtype)
            wider[: len(column)] = column
            self.index.columns[name] = wider
        if self.index.dense is not None:
            self.index.dense.grow(capacity)

    def _mark_gone(self, row: int) -> None:
        columns = self.index.columns
        if columns["status"][row] != GONE:
            columns["status"][row] = GONE
            self._unlink_session(row)

    def _put_conduits(self, conduits: NDArray[np.void]) -> None:
        to = self.row_of(conduits["to_grain"])
        start = self.row_of(conduits["from_grain"])
        known = (to != NO_ROW) & ((start != NO_ROW) | (conduits["from_grain"] == 0))
        self.index.graph.put(conduits[known], start[known], to[known])

    def _set_clusters(self, members: NDArray[np.void]) -> None:
        rows = self.row_of(members["grain"])
        known = rows != NO_ROW
        for name in ("cluster", "typical"):
            self.index.columns[name][rows[known]] = members[name][known]

    # Neighbours in a session are kept in the order of ordinal and id, whatever the order of the rows.

    def _session_members(self, session: int) -> list[tuple[int, int, int]]:
        members = self._sessions.get(session)
        if members is None:
            columns, size = self.index.columns, self.index.size
            rows = np.flatnonzero(
                (columns["session"][:size] == np.uint64(session)) & (columns["status"][:size] != GONE)
            )
            ordinals, ids = columns["ordinal"][rows].tolist(), columns["id"][rows].tolist()
            members = self._sessions[session] = sorted(zip(ordinals, ids, rows.tolist(), strict=True))
        return members

    def _session_place(self, row: int) -> tuple[list[tuple[int, int, int]], tuple[int, int, int]] | None:
        columns = self.index.columns
        session = int(columns["session"][row])
        if session == 0:
            return None
        return self._session_members(session), (int(columns["ordinal"][row]), int(columns["id"][row]), row)

    def _link_session(self, row: int) -> None:
        found = self._session_place(row)
        if found is None:
            return
        members, place = found
        at = bisect_left(members, place)
        if at == len(members) or members[at] != place:
            insort(members, place)
        self._join_neighbours(members[at - 1][2] if at else NO_ROW, row)
        self._join_neighbours(row, members[at + 1][2] if at + 1 < len(members) else NO_ROW)

    def _unlink_session(self, row: int) -> None:
        found = self._session_place(row)
        if found is None:
            return
        members, place = found
        if place in members:
            members.remove(place)
        columns = self.index.columns
        self._join_neighbours(int(columns["prev"][row]), int(columns["next"][row]))
        columns["prev"][row] = columns["next"][row] = NO_ROW

    def _join_neighbours(self, previous: int, following: int) -> None:
        if previous != NO_ROW:
            self.index.columns["next"][previous] = following
        if following != NO_ROW:
            self.index.columns["prev"][following] = previous
