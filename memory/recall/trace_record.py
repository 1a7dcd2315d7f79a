"""Trace records: content of the trace of a recall, and its compact JSON form."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory.engine.ranking.answer import LEVEL
from memory.engine.text import question
from memory.grains.hydrate import GrainRow, dashed_uuid
from memory.recall.recall_request import RecallRequest
from memory.recall.results import UNNAMED, ResultStep, SearchHit, SearchResult


@dataclass(frozen=True)
class TraceRecord:
    """A trace, independent of its database row."""

    id: uuid.UUID
    space: int
    actor: str
    label: str
    at: datetime
    query: str
    rung: str
    confidence: float
    hop_count: int
    body: dict[str, Any]
    exploring: bool = False  # the recall explored, after a context shift
    grains: tuple[int, ...] = ()  # ids, best first; only until the trace is written


def trace_body(
    ask: RecallRequest, asked: question.Query, found: SearchResult, kept: list[SearchHit], grains: dict[int, GrainRow]
) -> dict[str, Any]:
    """Body of a trace: enough to explain each grain and to draw its path, in about 2 kB."""
    terms = list(dict.fromkeys(asked.terms))
    offered = [
        [grains[number].uuid, grains[number].cluster if cluster else None]
        for number, cluster in found.lateral_candidates(grains, kept)
    ]
    more: dict[str, Any] = {"offered": offered} if offered else {}
    if found.exploring:
        more["exploring"] = True
    if ask.truncated:
        more["query_truncated"] = True
    if found.vectors_missing != 0:
        more["vectors_missing"] = found.vectors_missing
    return {
        **more,
        "features": [*terms, *(mention.feature for mention in asked.mentions if mention.feature not in terms)],
        "terms": asked.terms,
        "k": ask.k,
        "bounds": ask.bounds(),
        "weights": found.weights,
        "caps": list(found.caps),
        "fallback": found.fallback,
        "grains": [
            {
                "id": grains[hit.id].uuid,
                "score": round(hit.score, 4),
                "source": hit.source,
                "parts": {
                    name: round(part, 4) for name, part in hit.parts.items() if abs(part) >= 0.0005 and name != LEVEL
                },
                "matched": [[place, round(part, 4)] for place, part in hit.matched],
                "path": [_step_body(step, grains) for step in hit.path],
                "same": len(hit.folded),
            }
            for hit in kept
        ],
    }


def _step_body(step: ResultStep, grains: dict[int, GrainRow]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "conduit": step.conduit,
        "relation": step.relation,
        "signal": round(step.signal, 4),
        "weight": round(step.weight, 4),
        "hop": step.hop,
    }
    if step.entry:
        fields["from_entry"] = step.entry
    if step.start in grains:
        fields["from_grain"] = grains[step.start].uuid
    if step.to in grains:
        fields["to_grain"] = grains[step.to].uuid
    return fields


_REDUCED_QUERY = 200  # characters of the query that a reduced trace keeps
_CALLERS_TEXT = ("tags", "sessions")  # filters of any words, up to 38 kB of them: not in a reduced trace


def reduce_trace(query: str, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Query and body of a trace beyond the hourly limit of its agent: ids, scores, numbers and dates."""
    kept: dict[str, Any] = {
        name: body[name] for name in ("k", "fallback", "vectors_missing", "query_truncated") if name in body
    }
    kept["bounds"] = {name: value for name, value in body["bounds"].items() if name not in _CALLERS_TEXT}
    grains = [{**_EMPTY, **{name: grain[name] for name in _REDUCED_GRAIN}} for grain in body["grains"]]
    return query[:_REDUCED_QUERY], {
        **kept,
        "reduced": True,
        "features": [],
        "terms": [],
        "weights": {},
        "caps": [],
        "grains": grains,
    }


_REDUCED_GRAIN = ("id", "score", "source")
_EMPTY: dict[str, Any] = {"parts": {}, "matched": [], "path": [], "same": 0}

# Ids take most of the space and repeat: they are stored once in a list, and steps refer to their places.
_STEP = ("conduit", "relation", "signal", "weight", "hop")


def pack_trace(body: dict[str, Any]) -> str:
    """Body as JSON, with every grain and entry id written once."""
    named: dict[str, int] = {}

    def place(name: str | None) -> int:
        return -1 if name is None else named.setdefault(name, len(named))

    grains = [
        [place(_hex(grain["id"])), grain["score"], grain["source"]]
        if body.get("reduced")
        else {
            **grain,
            "id": place(_hex(grain["id"])),
            "path": [
                [*(step[name] for name in _STEP), place(_source_name(step)), place(_hex(step.get("to_grain")))]
                for step in grain["path"]
            ],
        }
        for grain in body["grains"]
    ]
    return orjson.dumps({**body, "grains": grains, "named": list(named)}).decode()


def unpack_trace(text: str) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(text)
    named: list[str] = body.pop("named")
    if body.get("reduced"):
        body["grains"] = [{**_EMPTY, **_reduced_grain(grain)} for grain in body["grains"]]
    for grain in body["grains"]:
        grain["id"] = dashed_uuid(named[grain["id"]])
        grain["path"] = [_unpack_step(step, named) for step in grain["path"]]
    return body


def _reduced_grain(grain: Any) -> dict[str, Any]:
    """A grain of a reduced trace: a list of its three values, in traces of earlier versions an object."""
    return dict(zip(_REDUCED_GRAIN, grain, strict=True)) if isinstance(grain, list) else dict(grain)


def _source_name(step: dict[str, Any]) -> str | None:
    """Name of the source of a step; an entry has a colon in its name, the id of a grain has none."""
    entry: str | None = step.get("from_entry")
    return f"{entry}:" if entry == UNNAMED else entry or _hex(step.get("from_grain"))


def _hex(grain: str | None) -> str | None:
    return None if grain is None else grain.replace("-", "")


def _unpack_step(step: list[Any], named: list[str]) -> dict[str, Any]:
    *numbers, start, to = step
    fields = dict(zip(_STEP, numbers, strict=True))
    if start >= 0 and ":" in named[start]:
        fields["from_entry"] = UNNAMED if named[start] == f"{UNNAMED}:" else named[start]
    elif start >= 0:
        fields["from_grain"] = dashed_uuid(named[start])
    if to >= 0:
        fields["to_grain"] = dashed_uuid(named[to])
    return fields
