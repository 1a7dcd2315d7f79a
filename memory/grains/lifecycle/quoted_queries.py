"""Queries that quote a purged grain, with a term that only it had: their words are withheld."""

from __future__ import annotations

from typing import Any

import orjson

from memory.engine.text import words
from memory.grains.models import JudgedQuestion, Trace
from memory.recall.results import UNNAMED

WITHHELD = "(withheld: it quoted a purged memory)"
_AT_ONCE = 1_000


def withhold_quotes(space: int, alone: frozenset[str], entries: frozenset[str]) -> list[int]:
    """Withhold words and names in traces and judged questions; returns the ids of those questions."""
    if not alone and not entries:
        return []
    _traces(space, alone, entries)
    return _questions(space, alone)


def _traces(space: int, alone: frozenset[str], entries: frozenset[str]) -> None:
    changed = []
    found = Trace.objects.filter(space=space).only("id", "query", "body").order_by("id")
    for row in found.iterator(_AT_ONCE):
        body: dict[str, Any] = orjson.loads(row.body)
        quoted = _quotes(row.query, alone)
        named = [f"{UNNAMED}:" if name in entries else name for name in body["named"]]
        if not quoted and named == body["named"]:
            continue
        body["named"] = named
        if quoted:
            row.query = WITHHELD
            body |= {"features": [], "terms": []}
            for grain in body["grains"]:
                grain["matched"] = []
        row.body = orjson.dumps(body).decode()
        changed.append(row)
    Trace.objects.bulk_update(changed, ["query", "body"], batch_size=200)


def _questions(space: int, alone: frozenset[str]) -> list[int]:
    """Withhold words and vectors of judged questions, which then affect no other question; links keep their weight."""
    found = [
        number
        for number, query in JudgedQuestion.objects.filter(space=space).values_list("id", "query").iterator(_AT_ONCE)
        if _quotes(query, alone)
    ]
    for at in range(0, len(found), _AT_ONCE):
        JudgedQuestion.objects.filter(id__in=found[at : at + _AT_ONCE]).update(
            query=WITHHELD, terms=b"", encoder="", scale=None, data=None
        )
    return found


def _quotes(text: str, alone: frozenset[str]) -> bool:
    return not alone.isdisjoint(words.terms(text))
