"""Explanation of a recall in words and numbers, computed from its trace alone."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from memory.engine.text import words as analysis
from memory.grains import hydrate
from memory.grains.models import Grain, Relation
from memory.grains.sizes import QUERY_BYTES
from memory.recall import traces
from memory.recall.trace_record import TraceRecord

# Labels of the parts of a score. A part without a label is shown under its own name.
SIGNAL_NAMES = {
    "words": "shared words",
    "meaning": "similar meaning",
    "links": "links to other memories",
    "neighbours": "adjacent message",
    "session": "same conversation",
    "speaker": "speaker",
    "time": "time",
    "standing": "preference or rule",
    "learning": "feedback on similar queries",
    "correction": "learned adjustment",
}
RUNG_SENTENCES = {
    "warm": "All signals were used.",
    "behind": "The index was behind the newest writes; those may be missing here.",
    "encoding": "Vectors are still being made: memories without one were found by keywords and links only.",
    "cold": "There was no index in memory yet: only full text and a few links were searched.",
    "no encoder": "No encoder was ready, or no vectors exist yet: only keywords and links were searched.",
}
REDUCED = "Only ids and scores were kept: the traces of this agent exceeded MAX_TRACE_BYTES_PER_HOUR."
_MARKS = ".,;:!?\"'()[]{}«»“”‘’…"  # noqa: RUF001
_SHOWN = tuple(status for status in Grain.Status.values if status != Grain.Status.PENDING_DELETION)


@selector("grains.trace", needs="grains.read")
def explain_trace(principal: Principal, found: uuid.UUID) -> dict[str, Any]:
    """One trace, explained. Memories that were purged since have only their id."""
    receipt = traces.find_trace(principal, found)
    texts = hydrate.load_texts(receipt.space, _named(receipt), _SHOWN)
    return {
        "trace_id": str(receipt.id),
        "query": receipt.query,
        "asked_by": receipt.actor,
        "label": receipt.label or None,
        "at": clock.rfc3339(receipt.at),
        "k": receipt.body["k"],
        "bounds": receipt.body["bounds"],
        "features": receipt.body["features"],
        "confidence": round(receipt.confidence, 4),
        "hop_count": receipt.hop_count,
        "fallback_triggered": receipt.body["fallback"],
        "rung": receipt.rung,
        "vectors_missing": receipt.body.get("vectors_missing", 0),
        "query_truncated": receipt.body.get("query_truncated", False),
        "reduced": receipt.body.get("reduced", False),
        **explain_record(receipt),
        "texts": texts,
    }


def explain_record(receipt: TraceRecord) -> dict[str, Any]:
    body, said = receipt.body, _as_said(receipt.query)
    return {
        "says": _whole(receipt),
        "offered": [_offered(*one) for one in body.get("offered", ())],
        "weights": body["weights"],
        "caps": body["caps"],
        "grains": [_grain(place, grain, body, said) for place, grain in enumerate(body["grains"], start=1)],
    }


def _named(receipt: TraceRecord) -> list[str]:
    """Every grain the receipt speaks of: those returned and those on the way."""
    steps = (step for grain in receipt.body["grains"] for step in grain["path"])
    passed = [end for step in steps for end in (step.get("from_grain"), step.get("to_grain")) if end]
    offered = [grain for grain, _ in receipt.body.get("offered", ())]
    return list(dict.fromkeys([*(grain["id"] for grain in receipt.body["grains"]), *passed, *offered]))


def _whole(receipt: TraceRecord) -> str:
    if not receipt.body["grains"]:
        return f"{_cut(receipt.body)}No results. {search_mode(receipt.rung, receipt.body)}"
    chance = f"Confidence {receipt.confidence:.0%}: the chance that a correct memory is among the first five."
    questions = receipt.body["weights"].get("questions")
    own = f" Its weights are adjusted by feedback on {questions} queries of this space." if questions else ""
    wider = " The subject seems to have changed: more related memories are offered." * receipt.body.get("exploring", 0)
    return f"{_cut(receipt.body)}{chance} {search_mode(receipt.rung, receipt.body)}{own}{wider}"


def search_mode(rung: str, answer: Mapping[str, Any]) -> str:
    """What took part in an answer, with the number of vectors that are still to be made."""
    missing = answer.get("vectors_missing") or 0
    return RUNG_SENTENCES[rung] + (
        f" {missing} {'vectors are' if missing > 1 else 'vector is'} missing." if missing else ""
    )


def _cut(body: dict[str, Any]) -> str:
    """What is missing from the query or from the trace itself."""
    query = f"Only the first {QUERY_BYTES} bytes of the query were used. " if body.get("query_truncated") else ""
    return query + (f"{REDUCED} " if body.get("reduced") else "")


def _offered(grain: str, cluster: str | None) -> dict[str, Any]:
    """Why a memory is offered in addition to the answer."""
    says = f"Typical of the cluster “{cluster}”, to which the answer belongs." if cluster else "Adjacent to the answer."
    return {"grain_id": grain, "cluster": cluster, "says": says}


def _as_said(query: str) -> dict[str, str]:
    """Terms are stems; people know the words they wrote."""
    said: dict[str, str] = {}
    for written in query.split():
        for term in analysis.terms(written):
            said.setdefault(term, written.strip(_MARKS))
    return said


def _grain(place: int, grain: dict[str, Any], body: dict[str, Any], said: dict[str, str]) -> dict[str, Any]:
    terms = body["terms"]
    words = [{"term": terms[at], "word": said.get(terms[at], terms[at]), "part": part} for at, part in grain["matched"]]
    words.sort(key=lambda word: (-float(word["part"]), word["term"]))
    return {
        "place": place,
        "grain_id": grain["id"],
        "score": grain["score"],
        "source": grain["source"],
        "says": "Only its score was kept."
        if body.get("reduced")
        else _says(grain, [str(one["word"]) for one in words]),
        "parts": [
            {"name": name, "called": SIGNAL_NAMES.get(name, name), "part": part}
            for name, part in sorted(grain["parts"].items(), key=lambda item: (-abs(item[1]), item[0]))
        ],
        "words": words,
        "path": grain["path"],
        "same": grain["same"],
    }


def _says(grain: dict[str, Any], words: list[str]) -> str:
    """One sentence: the strongest parts of the score first, then those that lowered it."""
    parts = sorted(grain["parts"].items(), key=lambda item: -item[1])
    reasons = [_reason(name, words, grain["path"]) for name, part in parts[:3] if part > 0.01]
    against = [SIGNAL_NAMES.get(name, name) for name, part in parts if part < -0.05]
    sentence = f"Returned because of {_listed(reasons)}." if reasons else "No part of the score is large."
    if against:
        sentence += f" Lowered by {_listed(against)}."
    if grain["same"]:
        sentence += f" {grain['same']} more memor{'ies have' if grain['same'] > 1 else 'y has'} the same text."
    return sentence


def _reason(name: str, words: list[str], path: list[dict[str, Any]]) -> str:
    called = SIGNAL_NAMES.get(name, name)
    if name == "words" and words:
        return f"{called} ({', '.join(words[:4])})"
    if name == "links" and path:
        kinds = list(dict.fromkeys(Relation(step["relation"]).label.lower() for step in path))
        return f"{called} ({', '.join(kinds)}, {len(path)} hop{'s' if len(path) > 1 else ''})"
    return called


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
