"""Names of clusters: words that are frequent in their members and rare in others, as people wrote them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from memory.engine.text import words
from memory.engine.text.stopwords import COMMON, STOP

WORDS = 3
SAMPLE = 64  # most typical members whose texts are read
_MARKS = ".,;:!?\"'()[]{}<>«»“”‘’…*_`#"  # noqa: RUF001
_LONGEST = 40
_PLAIN = STOP | COMMON  # words that do not tell the topic of a text
_ENDINGS = ("'s", "\u2019s")


def name_clusters(members: dict[int, Sequence[str]]) -> dict[int, list[str]]:
    """Names by cluster, from the texts of its most typical members.

    A term counts by the share of them that hold it · ln(1 + texts / texts with it).
    """
    inside: dict[int, Counter[str]] = {}
    everywhere: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for cluster, texts in members.items():
        inside[cluster] = Counter()
        for text in texts:
            terms = _terms(text, written)
            inside[cluster].update(terms)
            everywhere.update(terms)
    every = sum(len(texts) for texts in members.values())
    return {
        cluster: _best(
            {
                term: count / len(members[cluster]) * math.log(1 + every / everywhere[term])
                for term, count in held.items()
            },
            {term for term, count in held.items() if count == 1},
            written,
        )
        for cluster, held in inside.items()
    }


def _terms(text: str, written: dict[str, Counter[str]]) -> set[str]:
    found: set[str] = set()
    for word in text.split():
        surface = word.strip(_MARKS)
        for ending in _ENDINGS:
            surface = surface.removesuffix(ending)
        if not 2 < len(surface) <= _LONGEST or not any(map(str.isalpha, surface)) or surface.lower() in _PLAIN:
            continue
        for term in words.terms(word):
            if len(term) > 2 or not term.isascii():
                found.add(term)
                written.setdefault(term, Counter())[surface] += 1
    return found


def _best(scores: dict[str, float], alone: set[str], written: dict[str, Counter[str]]) -> list[str]:
    """The first few terms in their most frequent spelling, one per word; terms of a single text come last."""
    found: dict[str, str] = {}
    for term in sorted(scores, key=lambda one: (one in alone, -round(scores[one], 9), one)):
        held = written[term]
        # Of two spellings the one in lower case: the other may only be at the beginning of a sentence.
        surface = min(held, key=lambda one: (-held[one], one != one.lower(), len(one), one))
        found.setdefault(surface.casefold(), surface)
        if len(found) == WORDS:
            break
    return list(found.values())
