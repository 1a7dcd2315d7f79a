"""Validation of the model's answer: exact JSON shape, and each statement supported by words of the source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fluxcore.canonical_json import loads
from fluxcore.errors import FluxError
from memory.engine.text import words
from memory.extraction.ollama_client import BadModelAnswer
from memory.extraction.prompt import MAX_GRAINS, MAX_QUOTE, MAX_TEXT
from memory.grains import texts

# Least share of a statement's terms that occur in the source or in its speaker's name; the rest may be grammar.
GROUNDED = 0.5


@dataclass(frozen=True)
class Statement:
    """One statement and the characters of the source that support it."""

    text: str
    begins: int
    ends: int


def parse_answer(content: str, *, source: str, speaker: str) -> list[Statement]:
    """Parse the statements, without unsupported ones; raises BadModelAnswer."""
    try:
        found = loads(content.encode("utf-8", "surrogatepass"))
    except FluxError:
        raise BadModelAnswer("the model did not answer in JSON") from None
    grains = found.get("grains") if isinstance(found, dict) and set(found) == {"grains"} else None
    if not isinstance(grains, list) or len(grains) > MAX_GRAINS:
        raise BadModelAnswer("the model's answer does not have the requested format")
    checked = [_checked(one) for one in grains]
    known = {*words.terms(source), *words.terms(speaker)}
    kept: dict[str, Statement] = {}
    for text, quote in checked:
        span = _span(source, quote)
        if span is not None and _borne_out(text, known) and texts.digest(text) != texts.digest(source):
            kept.setdefault(texts.digest(text), Statement(text, *span))
    if checked and not kept and not all(texts.digest(text) == texts.digest(source) for text, _ in checked):
        raise BadModelAnswer("nothing the model found occurs in the text")
    return list(kept.values())


def _checked(one: Any) -> tuple[str, str]:
    if not isinstance(one, dict) or set(one) != {"text", "quote"} or not all(isinstance(v, str) for v in one.values()):
        raise BadModelAnswer("a fact from the model does not have the requested format")
    text, quote = one["text"].strip(), one["quote"].strip()
    if not 1 <= len(text) <= MAX_TEXT or not 1 <= len(quote) <= MAX_QUOTE:
        raise BadModelAnswer("a fact from the model is empty or too long")
    if not texts.is_visible(text):
        raise BadModelAnswer("a fact from the model contains hidden characters")
    return text, quote


def _span(source: str, quote: str) -> tuple[int, int] | None:
    """Span of the quoted words in the source, ignoring white space and case."""
    found = re.search(r"\s+".join(map(re.escape, quote.split())), source, re.IGNORECASE)
    return found.span() if found else None


def _borne_out(text: str, known: set[str]) -> bool:
    terms = set(words.terms(text))
    return len(terms & known) >= GROUNDED * len(terms)
