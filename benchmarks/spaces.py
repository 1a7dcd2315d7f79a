"""Labelled sets as spaces of memory: files are read, free dates understood, an index built as the arena would.

This is the short way for fitting: no database, vectors cached in a folder. `quality.py` also takes the long
way, through the service.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.arena import grain_rows
from memory.arena.changes import CONDUIT
from memory.arena.grain_rows import GrainRecord
from memory.embedding import active_encoder, encoder_kinds
from memory.embedding.encoder import Encoder
from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import NEXT, RELATED
from memory.engine.index.dense import Dense, quantise
from memory.engine.index.postings import Postings
from memory.engine.index.space_index import SECOND, Index
from memory.engine.text import mentions, words

NEIGHBOURS, LEAST_COSINE = 5, 0.3
ENTRY_WEIGHT = LINK_WEIGHT = 0.5
_FORMATS = ("%I:%M %p on %d %B, %Y", "%B-%d-%Y", "%Y/%m/%d (%a) %H:%M", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y")


def moment(written: str) -> datetime | None:
    """A time as sets write it; None for none, or one nobody can read."""
    text = re.sub(r"\s+", " ", str(written or "")).strip()
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        for pattern in _FORMATS:
            try:
                found = datetime.strptime(text, pattern)
                break
            except ValueError:
                continue
        else:
            return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass
class Space:
    """One collection of a set with its index, and the vectors of its questions."""

    set: str
    collection: dict[str, Any]
    index: Index
    vectors: NDArray[np.float32] | None  # one per query
    now: int

    @property
    def ids(self) -> list[str]:
        return [item["id"] for item in self.collection["items"]]


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for collection in found["collections"]:
        for item in collection["items"]:
            for name in ("time", "speaker", "session"):
                item[name] = "" if item.get(name) is None else str(item[name])
    return found


def encoder(name: str, models: Path) -> Encoder | None:
    """The encoder a person would have chosen in config.yaml; None for none."""
    kind = {"minilm": encoder_kinds.MINILM, "wordllama": encoder_kinds.WORDLLAMA, "hashed": encoder_kinds.HASHED}.get(
        name
    )
    return active_encoder.make_encoder(kind, models) if kind else None


class Vectors:
    """Vectors of texts, kept in a folder by what was encoded together, and by text as long as the process lives."""

    def __init__(self, encoder: Encoder | None, folder: Path | None) -> None:
        self.encoder, self.folder = encoder, folder
        self._known: dict[str, NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.float32] | None:
        if self.encoder is None or not texts:
            return None
        if any(text not in self._known for text in texts):
            self._known.update(zip(texts, self._made(self.encoder, texts), strict=True))
        return np.stack([self._known[text] for text in texts])

    def _made(self, encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.folder is None:
            return encoder.encode(texts)
        digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:20]
        path = self.folder / encoder.name / f"{digest}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, encoder.encode(texts))
        found: NDArray[np.float32] = np.load(path)
        return found


def space(name: str, collection: dict[str, Any], vectors: Vectors) -> Space:
    items, queries = collection["items"], collection["queries"]
    encoded = vectors.of([item["text"] for item in items] + [query["query"] for query in queries])
    times = [moment(item["time"]) for item in items]
    seconds = [int(time.timestamp()) if time else None for time in times]
    told = [second for second in seconds if second is not None]
    now = max(told, default=1_700_000_000) + 86_400
    records = list(_records(items, seconds, now, encoded))
    index = _index(records, _conduits(records, seconds, encoded, now))
    return Space(name, collection, index, None if encoded is None else encoded[len(items) :], now)


def _index(records: list[GrainRecord], conduits: NDArray[np.void]) -> Index:
    """What the arena makes of the same rows, without a database."""
    read = [grain_rows.analyse_record(record) for record in records]
    columns = grain_rows.new_columns(grain_rows.capacity_for(len(read)))
    grain_rows.fill_columns(columns, 0, read)
    grain_rows.link_sessions(columns, len(read))
    dense = None
    if records and records[0].data is not None:
        data = np.stack([record.vector() for record in records])
        dense = Dense.build(
            data, np.array([record.scale for record in records], np.float32), np.ones(len(data), np.bool_)
        )
    graph = ConduitGraph.build(conduits, conduits["from_grain"] - 1, conduits["to_grain"] - 1, rows=len(read))
    speakers = {int(row.values["speaker"]): row.speaker for row in read if row.speaker}
    return Index(columns, Postings.build(row.terms for row in read), dense, graph, len(read), speakers)


def _records(
    items: list[dict[str, Any]], seconds: list[int | None], now: int, encoded: NDArray[np.float32] | None
) -> Iterator[GrainRecord]:
    data, scale = quantise(encoded) if encoded is not None else (None, None)
    places: dict[str, int] = {}
    for at, item in enumerate(items):
        session = item["session"]
        places[session] = places.get(session, -1) + 1
        digest = hashlib.sha256(" ".join(item["text"].split()).casefold().encode("utf-8", "replace")).hexdigest()
        yield GrainRecord(
            id=at + 1,
            text=item["text"],
            digest=digest,
            session=session,
            ordinal=places[session] if session else 0,
            speaker=item["speaker"],
            said_at=None if (said := seconds[at]) is None else said * SECOND,
            recorded_at=now * SECOND,
            scale=None if scale is None else float(scale[at]),
            data=None if data is None else data[at].tobytes(),
        )


def _conduits(
    records: list[GrainRecord], seconds: list[int | None], encoded: NDArray[np.float32] | None, now: int
) -> NDArray[np.void]:
    """The links a store makes: names, numbers and dates; the turn before; the nearest neighbours."""
    made: list[tuple[object, ...]] = []
    entries: dict[str, int] = {}

    def link(entry: str, source: int, target: int, weight: float, relation: int) -> None:
        number = entries.setdefault(entry, len(entries) + 1) if entry else 0
        key = words.key(entry) if entry else 0
        made.append((len(made) + 1, number, key, source, target, weight, 1.0, now, now, relation, 0))

    last: dict[str, int] = {}
    for record, said in zip(records, seconds, strict=True):
        for mention in mentions.find_mentions(record.text, said):
            link(f"{mention.kind}:{mention.feature}", 0, record.id, ENTRY_WEIGHT, RELATED)
        if record.session:
            if record.session in last:
                link("", last[record.session], record.id, LINK_WEIGHT, NEXT)
            last[record.session] = record.id
    if encoded is not None:
        for source, target, cosine in _nearest(encoded[: len(records)]):
            link("", source + 1, target + 1, LINK_WEIGHT * cosine, RELATED)
    return np.array(made, CONDUIT)


def _nearest(vectors: NDArray[np.float32]) -> Iterable[tuple[int, int, float]]:
    """Each with the nearest that came before it, as grains are enriched one after the other."""
    for begin in range(0, len(vectors), 512):
        block = vectors[begin : begin + 512] @ vectors[: begin + 512].T
        for at in range(len(block)):
            row = block[at, : begin + at]
            for other in np.argsort(-row, kind="stable")[:NEIGHBOURS].tolist():
                if row[other] >= LEAST_COSINE:
                    yield begin + at, other, float(row[other])
