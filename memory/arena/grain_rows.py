"""A grain as SQL hands it out, and what the arrays keep of it: numbers and terms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import ACTIVE, BEGINNING_OF_TIME, COLUMNS, END_OF_TIME, NO_ROW, STATUSES
from memory.engine.text import marks, scripts, words

# Rises with anything below or in `words` and `marks` that makes another index of the same text.
ANALYSIS = 1

_STATUS = {name: number for number, name in enumerate(STATUSES)}
_UNKNOWN_STATUS = _STATUS["quarantined"]  # never shown unless asked for
# What may change after a grain was stored; everything else of a row is for ever.
MUTABLE = ("valid_from", "valid_to", "status", "authority", "decay", "pinned", "confidence", "cluster", "typical")


class GrainRecord(NamedTuple):
    """The columns of `tables.GRAIN_COLUMNS`, `MEMBER_COLUMNS` and `VECTOR_COLUMNS`; times: microseconds since 1970."""

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
        """Its numbers, or None if there are none, or not as many as those of the others."""
        if self.data is None or self.scale is None:
            return None
        found = np.frombuffer(bytes(self.data), np.int8)
        return found if len(found) and dimension in (None, len(found)) else None


class ArenaRow(NamedTuple):
    """One row: a value for each of COLUMNS, and its terms with their counts."""

    values: dict[str, int | float]
    terms: Counter[int]
    speaker: tuple[int, ...]


def key_of(prefix: str, text: str) -> int:
    return words.key(f"{prefix}{text}") if text else 0


def analyse_record(record: GrainRecord) -> ArenaRow:
    """Analyse a text for the arrays."""
    terms = Counter(map(words.key, words.terms(record.text)))
    named = tuple(map(words.key, words.terms(record.speaker))) if record.speaker else ()
    terms.update(named)
    length = terms.total()
    for tag in json.loads(record.tags) if isinstance(record.tags, str) else record.tags:
        terms[words.key(f"#{tag}")] = 1
    title = marks.find_title(record.text)
    values: dict[str, int | float] = {
        "id": record.id,
        "digest": int(record.digest[:16] or "0", 16),
        "session": key_of("session:", record.session),
        "ordinal": record.ordinal,
        "prev": NO_ROW,
        "next": NO_ROW,
        "speaker": key_of("@", record.speaker.casefold()),
        # As the entry of that name, so that a text that mentions it leads here.
        "title": key_of("name:", " ".join(scripts.folded(title).split()) if title else ""),
        "said": record.recorded_at if record.said_at is None else record.said_at,
        "recorded": record.recorded_at,
        "length": length,
        "chars": len(record.text),
        "marks": marks.mark_text(record.text),
        **mutable_values(record),
    }
    return ArenaRow(values, terms, named)


def mutable_values(record: GrainRecord) -> dict[str, int | float]:
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
    """Rows that arrays for `size` are made for, so that new ones find a place without copying."""
    return size + max(size // 20, 256)


def new_columns(capacity: int) -> dict[str, NDArray[Any]]:
    return {name: np.zeros(capacity, kind) for name, kind in COLUMNS.items()}


def fill_columns(columns: dict[str, NDArray[Any]], start: int, rows: Iterable[ArenaRow]) -> int:
    """Write rows from `start` on, column by column; where the next one goes."""
    values = [row.values for row in rows]
    for name, kind in COLUMNS.items():
        columns[name][start : start + len(values)] = np.array([one[name] for one in values], kind)
    return start + len(values)


def link_sessions(columns: dict[str, NDArray[Any]], size: int) -> None:
    """Each row's neighbours in its session, by place and then by number."""
    session, ordinal, number = (columns[name][:size] for name in ("session", "ordinal", "id"))
    order = np.lexsort((number, ordinal, session)).astype(np.int32)
    of = session[order]
    same = (of[1:] == of[:-1]) & (of[1:] != 0)
    before, after = order[:-1][same], order[1:][same]
    columns["next"][before] = after
    columns["prev"][after] = before
