"""The index of one space in this process, and how it is kept current row by row."""

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

# Share of rows that came since the base was made, and conduits, above which a new base is worth its making.
LATE_SHARE, LATE_ROWS, LATE_CONDUITS = 0.05, 512, 50_000


class Arena:
    """One space's arrays, where in the log they stand, and the gate between those who read and who change them."""

    def __init__(self, space: int, index: Index, position: Position, encoder: str, *, generation: int = 0) -> None:
        self.space, self.index, self.position, self.encoder, self.generation = (
            space,
            index,
            position,
            encoder,
            generation,
        )
        self.gate = ReadWriteLock()
        self.ahead: set[Position] = set()  # events after the position that are in already (`ahead.py`)
        self.following = threading.Lock()  # one catch-up at a time
        self.followed_at = time.monotonic()
        self.sound = True  # False: something did not fit, whoever holds it builds anew
        self.behind = False  # True: a thread is catching up
        self.exploring = False  # recall looks wider for a while
        self.asked_at = -math.inf  # when files of it were asked for, in monotonic seconds
        self._book = VoteIndex()
        self._settle()

    def _settle(self) -> None:
        """Take everything that is here now as the base."""
        ids = self.index.column("id")
        ascending = bool(np.all(ids[1:] > ids[:-1]))
        self._order = None if ascending else np.argsort(ids, kind="stable").astype(np.int32)
        self._ids = ids if self._order is None else ids[self._order]
        self.base = self.index.size
        self._late: dict[int, int] = {}
        self._sessions: dict[int, list[tuple[int, int, int]]] = {}

    def row_of(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int32]:
        """The rows of grains by their numbers; NO_ROW for those that are not here."""
        wanted = np.asarray(numbers, np.int64)
        found = np.full(len(wanted), NO_ROW, np.int32)
        if len(self._ids):
            at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
            here = self._ids[at] == wanted
            found[here] = at[here] if self._order is None else self._order[at[here]]
        if self._late:
            for position in np.flatnonzero(found == NO_ROW).tolist():
                found[position] = self._late.get(int(wanted[position]), NO_ROW)
        return found

    def unknown(self, changes: Changes) -> list[int]:
        """Grains that conduits of these changes touch, and that neither the arena nor the changes name."""
        ends = np.concatenate((changes.conduits["from_grain"], changes.conduits["to_grain"]))
        ends = np.unique(ends[ends != 0])
        missing = ends[self.row_of(ends) == NO_ROW]
        return sorted(set(missing.tolist()) - set(changes.grains))

    def teach(self, lessons: Sequence[VoteRow], questions: Iterable[int] | None = None) -> None:
        """What votes say of these questions now; of all that are named in them, if none are given."""
        if questions is None:
            questions = dict.fromkeys(one.question for one in lessons)
        self._book.teach(questions, lessons, self.encoder, self.row_of)
        self.index.learned = self._book.learned

    def attune(self, own: tuple[Any, ...] | None) -> None:
        """The space's own weights, as `tables.attunement` has them; None for the shipped ones."""
        self.index.own = None if own is None else SpaceWeights(own[0], rank.weights_array(own[1]), own[2])

    def apply(
        self,
        records: Iterable[GrainRecord],
        changes: Changes,
        lessons: Sequence[VoteRow] = (),
        own: tuple[Any, ...] | None = None,
    ) -> None:
        """Bring grains to what SQL says of them now, conduits to what the log says. Doing it again changes nothing.

        A grain that changed and is not among the records is no more.
        """
        found = {record.id: record for record in records}
        with self.gate.changing():
            self.index.version += 1
            for record in found.values():
                self._put(record)
            for row in self.row_of([number for number in changes.grains if number not in found]).tolist():
                if row != NO_ROW:
                    self._lose(row)
            if changes.cut:
                self.index.graph.cut(np.array(changes.cut, np.int64))
            if len(changes.conduits):
                self._conduct(changes.conduits)
            if changes.judged:
                self.teach(lessons, changes.judged)
            if changes.attuned:
                self.attune(own)
            if len(changes.members):
                self._gather(changes.members)
            if changes.exploring is not None:
                self.exploring = changes.exploring

    @property
    def late(self) -> int:
        """Rows that came since the base was made."""
        return self.index.size - self.base

    @property
    def overgrown(self) -> bool:
        """Whether so much came since that a new base pays."""
        return self.late > max(LATE_SHARE * self.base, LATE_ROWS) or self.index.graph.since > LATE_CONDUITS

    @property
    def nbytes(self) -> int:
        return self.index.nbytes + 100 * len(self._late)

    def fold(self) -> None:
        """Make a base of base and delta in place: for arenas so small that it takes milliseconds."""
        index = self.index
        with self.gate.changing():
            index.postings = index.postings.merged()
            index.graph = index.graph.merged(rows=index.size)
            if index.dense is not None:  # its bits are cut at the mean of what was there when it was made
                size, dense = index.dense.size, index.dense
                index.dense = Dense.build(dense.data[:size], dense.scale[:size], dense.has[:size], dense.capacity)
            self._settle()

    def _put(self, record: GrainRecord) -> None:
        index = self.index
        row = int(self.row_of([record.id])[0])
        if row == NO_ROW:
            row = self._append(record)
        else:
            was = int(index.columns["status"][row])
            for name, value in grain_rows.mutable_values(record).items():
                index.columns[name][row] = value
            if was == GONE:
                self._link(row)
        vector = record.vector(index.dense.dimension if index.dense is not None else None)
        if vector is not None and record.scale is not None:
            if index.dense is None:
                index.dense = Dense.empty(len(vector), len(index.columns["id"]))
            index.dense.put(row, vector, record.scale)

    def _append(self, record: GrainRecord) -> int:
        index = self.index
        row, read = index.size, grain_rows.analyse_record(record)
        if row == len(index.columns["id"]):
            self._grow(grain_rows.capacity_for(row + row // 4))
        grain_rows.fill_columns(index.columns, row, [read])
        index.postings.add(row, read.terms)
        if read.speaker:
            index.speakers.setdefault(int(read.values["speaker"]), read.speaker)
        index.size = row + 1
        self._late[record.id] = row
        self._link(row)
        return row

    def _grow(self, capacity: int) -> None:
        for name, column in self.index.columns.items():
            wider = np.zeros(capacity, column.dtype)
            wider[: len(column)] = column
            self.index.columns[name] = wider
        if self.index.dense is not None:
            self.index.dense.grow(capacity)

    def _lose(self, row: int) -> None:
        columns = self.index.columns
        if columns["status"][row] != GONE:
            columns["status"][row] = GONE
            self._unlink(row)

    def _conduct(self, conduits: NDArray[np.void]) -> None:
        to = self.row_of(conduits["to_grain"])
        start = self.row_of(conduits["from_grain"])
        known = (to != NO_ROW) & ((start != NO_ROW) | (conduits["from_grain"] == 0))
        self.index.graph.put(conduits[known], start[known], to[known])

    def _gather(self, members: NDArray[np.void]) -> None:
        rows_of = self.row_of(members["grain"])
        here = rows_of != NO_ROW
        for name in ("cluster", "typical"):
            self.index.columns[name][rows_of[here]] = members[name][here]

    # Neighbours in a session, kept in the order of place and number whatever order the rows come in.

    def _members(self, session: int) -> list[tuple[int, int, int]]:
        found = self._sessions.get(session)
        if found is None:
            columns, size = self.index.columns, self.index.size
            here = np.flatnonzero(
                (columns["session"][:size] == np.uint64(session)) & (columns["status"][:size] != GONE)
            )
            places, numbers = columns["ordinal"][here].tolist(), columns["id"][here].tolist()
            found = self._sessions[session] = sorted(zip(places, numbers, here.tolist(), strict=True))
        return found

    def _place(self, row: int) -> tuple[list[tuple[int, int, int]], tuple[int, int, int]] | None:
        columns = self.index.columns
        session = int(columns["session"][row])
        if session == 0:
            return None
        return self._members(session), (int(columns["ordinal"][row]), int(columns["id"][row]), row)

    def _link(self, row: int) -> None:
        found = self._place(row)
        if found is None:
            return
        members, place = found
        at = bisect_left(members, place)
        if at == len(members) or members[at] != place:
            insort(members, place)
        self._join(members[at - 1][2] if at else NO_ROW, row)
        self._join(row, members[at + 1][2] if at + 1 < len(members) else NO_ROW)

    def _unlink(self, row: int) -> None:
        found = self._place(row)
        if found is None:
            return
        members, place = found
        if place in members:
            members.remove(place)
        columns = self.index.columns
        self._join(int(columns["prev"][row]), int(columns["next"][row]))
        columns["prev"][row] = columns["next"][row] = NO_ROW

    def _join(self, before: int, after: int) -> None:
        if before != NO_ROW:
            self.index.columns["next"][before] = after
        if after != NO_ROW:
            self.index.columns["prev"][after] = before
