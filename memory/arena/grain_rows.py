"""Grain records from SQL, and their conversion into rows of the index: column values and terms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import ACTIVE, BEGINNING_OF_TIME, COLUMNS, END_OF_TIME, NO_ROW, STATUSES
from memory.engine.text import marks, scripts, words

# Version of the analysis; raise it with any change here, in `words` or in `marks` that gives another index of a text.
ANALYSIS = 1

_STATUS = {name: number for number, name in enumerate(STATUSES)}
_UNKNOWN_STATUS = _STATUS["quarantined"]  # shown only if quarantined grains are requested
# Columns that may change after a grain was stored; all others are constant, but for the session of passages, which
# changes when their file is renamed.
MUTABLE = ("valid_from", "valid_to", "status", "authority", "decay", "pinned", "confidence", "cluster", "typical")


class GrainRecord(NamedTuple):
    """The columns of `queries.GRAIN_COLUMNS`, `MEMBER_COLUMNS` and `VECTOR_COLUMNS`; times: microseconds since 1970."""

    id: int
    text: str
    digest: str = ""
    session: str = ""
    ordinal: int = 0
    speaker: str = ""
    tags: list[str] | str = ()  # type: ignore[assignment]  # SQLite hands JSON out as a text
    said_at: int | None = None
    recorded_at: int = 0
    valid_from: int | None = None
    valid_to: int | None = None
    authority: int = 2
    decay_class: int = 0
    status: str = STATUSES[ACTIVE]
    pinned: bool | int = False
    confidence: float = 1.0
    cluster: int | None = None
    typical: float | None = None
    scale: float | None = None
    data: bytes | memoryview | None = None

    def vector(self, dimension: int | None = None) -> NDArray[np.int8] | None:
        """The int8 vector; None without one, or if its dimension is not `dimension`."""
        if self.data is None or self.scale is None:
            return None
        numbers = np.frombuffer(bytes(self.data), np.int8)
        return numbers if len(numbers) and dimension in (None, len(numbers)) else None


class ArenaRow(NamedTuple):
    """One row: a value for each of COLUMNS, and its terms with their counts."""

    values: dict[str, int | float]
    terms: Counter[int]
    speaker: tuple[int, ...]


def key_of(prefix: str, text: str) -> int:
    """Key of a text with a prefix; 0 for an empty text."""
    return words.key(f"{prefix}{text}") if text else 0


def session_key(record: GrainRecord) -> int:
    return key_of("session:", record.session)


def analyse_record(record: GrainRecord) -> ArenaRow:
    """Column values and terms of a grain."""
    terms = Counter(map(words.key, words.terms(record.text)))
    speaker_terms = tuple(map(words.key, words.terms(record.speaker))) if record.speaker else ()
    terms.update(speaker_terms)
    length = terms.total()
    for tag in json.loads(record.tags) if isinstance(record.tags, str) else record.tags:
        terms[words.key(f"#{tag}")] = 1
    title = marks.find_title(record.text)
    values: dict[str, int | float] = {
        "id": record.id,
        "digest": int(record.digest[:16] or "0", 16),
        "session": session_key(record),
        "ordinal": record.ordinal,
        "prev": NO_ROW,
        "next": NO_ROW,
        "speaker": key_of("@", record.speaker.casefold()),
        # The key of the entry of that name, so that texts that mention the title are linked to it.
        "title": key_of("name:", " ".join(scripts.folded(title).split()) if title else ""),
        "said": record.recorded_at if record.said_at is None else record.said_at,
        "recorded": record.recorded_at,
        "length": length,
        "chars": len(record.text),
        "marks": marks.mark_text(record.text),
        **mutable_values(record),
    }
    return ArenaRow(values, terms, speaker_terms)


def mutable_values(record: GrainRecord) -> dict[str, int | float]:
    """Values of the MUTABLE columns."""
    return {
        "valid_from": BEGINNING_OF_TIME if record.valid_from is None else record.valid_from,
        "valid_to": END_OF_TIME if record.valid_to is None else record.valid_to,
        "status": _STATUS.get(record.status, _UNKNOWN_STATUS),
        "authority": record.authority,
        "decay": record.decay_class,
        "pinned": int(record.pinned),
        "confidence": record.confidence,
        "cluster": record.cluster or 0,
        "typical": record.typical or 0.0,
    }


def capacity_for(size: int) -> int:
    """Capacity of arrays for `size` rows, so that new rows fit without copying."""
    return size + max(size // 20, 256)


def new_columns(capacity: int) -> dict[str, NDArray[Any]]:
    return {name: np.zeros(capacity, kind) for name, kind in COLUMNS.items()}


def fill_columns(columns: dict[str, NDArray[Any]], start: int, rows: Iterable[ArenaRow]) -> int:
    """Write rows from `start` on, column by column; returns the index after the last one."""
    values = [row.values for row in rows]
    for name, kind in COLUMNS.items():
        columns[name][start : start + len(values)] = np.array([row_values[name] for row_values in values], kind)
    return start + len(values)


def link_sessions(columns: dict[str, NDArray[Any]], size: int) -> None:
    """Set the previous and next row in the session of each row, by ordinal and then by id."""
    session, ordinal, number = (columns[name][:size] for name in ("session", "ordinal", "id"))
    order = np.lexsort((number, ordinal, session)).astype(np.int32)
    sorted_session = session[order]
    same = (sorted_session[1:] == sorted_session[:-1]) & (sorted_session[1:] != 0)
    earlier, later = order[:-1][same], order[1:][same]
    columns["next"][earlier] = later
    columns["prev"][later] = earlier
