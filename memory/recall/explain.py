"""Explanation of a recall in words and numbers, computed from its trace alone."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from memory.engine.kinds import MADE_KINDS
from memory.engine.text import words as analysis
from memory.grains import hydrate, sources
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
    """Explain one trace. Memories that were purged since have only their id."""
    trace = traces.find_trace(principal, found)
    named = _grain_ids(trace)
    made, hidden = _made_texts(principal, trace.space, named)
    trace, texts = _without(trace, hidden), hydrate.load_texts(trace.space, named, _SHOWN) | made
    return {
        "trace_id": str(trace.id),
        "query": trace.query,
        "asked_by": trace.actor,
        "label": trace.label or None,
        "at": clock.rfc3339(trace.at),
        "k": trace.body["k"],
        "bounds": trace.body["bounds"],
        "features": trace.body["features"],
        "confidence": round(trace.confidence, 4),
        "hop_count": trace.hop_count,
        "fallback_triggered": trace.body["fallback"],
        "rung": trace.rung,
        "vectors_missing": trace.body.get("vectors_missing", 0),
        "query_truncated": trace.body.get("query_truncated", False),
        "reduced": trace.body.get("reduced", False),
        **explain_record(trace),
        "texts": texts,
    }


def _made_texts(principal: Principal, space: int, named: list[str]) -> tuple[dict[str, str], set[str]]:
    """Texts of passages, messages and values, and the ids of those that the caller may not see."""
    made = Grain.objects.filter(space=space, uuid__in=named, status__in=MADE_KINDS)
    rows = list(made.values_list("pk", "uuid", "status", "text"))
    seen = sources.citations(principal, space, [(number, kind) for number, _, kind, _ in rows]) if rows else {}
    shown = {str(found): text for number, found, _, text in rows if number in seen}
    return shown, {str(found) for number, found, _, _ in rows if number not in seen}


def _without(trace: TraceRecord, hidden: Collection[str]) -> TraceRecord:
    """The trace without these grains: their words and links would tell what is in them."""
    if not hidden:
        return trace
    grains = [
        {
            **grain,
            "place": place,
            "path": [] if any(_passes(step, hidden) for step in grain["path"]) else grain["path"],
        }
        for place, grain in enumerate(trace.body["grains"], start=1)
        if grain["id"] not in hidden
    ]
    offered = [one for one in trace.body.get("offered", ()) if one[0] not in hidden]
    return replace(trace, body={**trace.body, "grains": grains, "offered": offered})


def _passes(step: dict[str, Any], hidden: Collection[str]) -> bool:
    return step.get("from_grain") in hidden or step.get("to_grain") in hidden


def explain_record(trace: TraceRecord) -> dict[str, Any]:
    """Sentences and numbers of a trace, without texts."""
    body, written = trace.body, _written_words(trace.query)
    return {
        "says": _summary_sentences(trace),
        "offered": [_explain_offered(*one) for one in body.get("offered", ())],
        "weights": body["weights"],
        "caps": body["caps"],
        "grains": [
            _explain_grain(grain.get("place", place), grain, body, written)
            for place, grain in enumerate(body["grains"], start=1)
        ],
    }


def _grain_ids(trace: TraceRecord) -> list[str]:
    """Ids of all grains of the trace: returned, offered, and on paths."""
    steps = (step for grain in trace.body["grains"] for step in grain["path"])
    passed = [end for step in steps for end in (step.get("from_grain"), step.get("to_grain")) if end]
    offered = [grain for grain, _ in trace.body.get("offered", ())]
    return list(dict.fromkeys([*(grain["id"] for grain in trace.body["grains"]), *passed, *offered]))


def _summary_sentences(trace: TraceRecord) -> str:
    if not trace.body["grains"]:
        return f"{_cut_sentences(trace.body)}No results. {search_mode(trace.rung, trace.body)}"
    chance = f"Confidence {trace.confidence:.0%}: the chance that a correct memory is among the first five."
    questions = trace.body["weights"].get("questions")
    own = f" Its weights are adjusted by feedback on {questions} queries of this space." if questions else ""
    wider = " The subject seems to have changed: more related memories are offered." * trace.body.get("exploring", 0)
    return f"{_cut_sentences(trace.body)}{chance} {search_mode(trace.rung, trace.body)}{own}{wider}"


def search_mode(rung: str, answer: Mapping[str, Any]) -> str:
    """Sentence about the search mode of an answer, with the number of missing vectors."""
    missing = answer.get("vectors_missing") or 0
    return RUNG_SENTENCES[rung] + (
        f" {missing} {'vectors are' if missing > 1 else 'vector is'} missing." if missing else ""
    )


def _cut_sentences(body: dict[str, Any]) -> str:
    """What is missing from the query or from the trace itself."""
    query = f"Only the first {QUERY_BYTES} bytes of the query were used. " if body.get("query_truncated") else ""
    return query + (f"{REDUCED} " if body.get("reduced") else "")


def _explain_offered(grain: str, cluster: str | None) -> dict[str, Any]:
    """Why a memory is offered in addition to the answer."""
    says = f"Typical of the cluster “{cluster}”, to which the answer belongs." if cluster else "Adjacent to the answer."
    return {"grain_id": grain, "cluster": cluster, "says": says}


def _written_words(query: str) -> dict[str, str]:
    """Word of the query by its term (a stem), because people know the words they wrote."""
    word_of: dict[str, str] = {}
    for written in query.split():
        for term in analysis.terms(written):
            word_of.setdefault(term, written.strip(_MARKS))
    return word_of


def _explain_grain(place: int, grain: dict[str, Any], body: dict[str, Any], written: dict[str, str]) -> dict[str, Any]:
    terms = body["terms"]
    words = [
        {"term": terms[at], "word": written.get(terms[at], terms[at]), "part": part} for at, part in grain["matched"]
    ]
    words.sort(key=lambda word: (-float(word["part"]), word["term"]))
    return {
        "place": place,
        "grain_id": grain["id"],
        "score": grain["score"],
        "source": grain["source"],
        "says": "Only its score was kept."
        if body.get("reduced")
        else _grain_sentence(grain, [str(one["word"]) for one in words]),
        "parts": [
            {"name": name, "called": SIGNAL_NAMES.get(name, name), "part": part}
            for name, part in sorted(grain["parts"].items(), key=lambda item: (-abs(item[1]), item[0]))
        ],
        "words": words,
        "path": grain["path"],
        "same": grain["same"],
    }


def _grain_sentence(grain: dict[str, Any], words: list[str]) -> str:
    """One sentence: the strongest parts of the score first, then those that lowered it."""
    parts = sorted(grain["parts"].items(), key=lambda item: -item[1])
    reasons = [_reason_words(name, words, grain["path"]) for name, part in parts[:3] if part > 0.01]
    against = [SIGNAL_NAMES.get(name, name) for name, part in parts if part < -0.05]
    sentence = f"Returned because of {_join_words(reasons)}." if reasons else "No part of the score is large."
    if against:
        sentence += f" Lowered by {_join_words(against)}."
    if grain["same"]:
        sentence += f" {grain['same']} more memor{'ies have' if grain['same'] > 1 else 'y has'} the same text."
    return sentence


def _reason_words(name: str, words: list[str], path: list[dict[str, Any]]) -> str:
    called = SIGNAL_NAMES.get(name, name)
    if name == "words" and words:
        return f"{called} ({', '.join(words[:4])})"
    if name == "links" and path:
        kinds = list(dict.fromkeys(Relation(step["relation"]).label.lower() for step in path))
        return f"{called} ({', '.join(kinds)}, {len(path)} hop{'s' if len(path) > 1 else ''})"
    return called


def _join_words(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
