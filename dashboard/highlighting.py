"""Highlighting: which words of a text match the query, by the same analysis that the search uses."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import groupby

from memory.engine.text import scripts, words

HighlightedRun = tuple[str, bool]  # a run of the text, and whether it is to be marked

_CHUNKS = re.compile(r"\s+|\S+")
_CORE = re.compile(r"^(\W*)(.*?)(\W*)$", re.DOTALL)


def highlight_terms(text: str, terms: Collection[str]) -> list[HighlightedRun]:
    """The text in runs, in order and complete."""
    wanted = frozenset(terms)
    found: list[HighlightedRun] = []
    for match in _CHUNKS.finditer(text):
        chunk = match.group()
        if chunk.isspace() or wanted.isdisjoint(words.terms(chunk)):
            found.append((chunk, False))
        elif scripts.unspaced(chunk):
            found += _within(chunk, wanted)
        else:
            before, core, after = _CORE.match(chunk).groups()  # type: ignore[union-attr]  # it matches anything
            found += [(before, False), (core, True), (after, False)]
    return [("".join(part for part, _ in run), mark) for mark, run in groupby(found, key=lambda piece: piece[1])]


def excerpt(pieces: list[HighlightedRun], most: int) -> tuple[list[HighlightedRun], bool]:
    """The part of a long text that a card shows, from a little before its first mark; and whether it was cut."""
    if sum(len(part) for part, _ in pieces) <= most:
        return pieces, False
    first = 0
    for part, mark in pieces:
        if mark:
            break
        first += len(part)
    else:
        first = 0
    first = max(first - most // 4, 0)
    found: list[HighlightedRun] = [("… ", False)] if first else []
    at = 0
    for part, mark in pieces:
        shown = part[max(first - at, 0) : max(first + most - at, 0)]
        at += len(part)
        if shown:
            found.append((shown, mark))
    return [*found, (" …", False)], True


def _within(chunk: str, terms: frozenset[str]) -> list[HighlightedRun]:
    """For scripts without spaces: the characters that are part of a matching term."""
    folded = chunk.lower()
    if len(folded) != len(chunk):
        return [(chunk, True)]
    covered = [False] * len(chunk)
    for term in terms:
        at = folded.find(term)
        while term and at >= 0:
            covered[at : at + len(term)] = [True] * len(term)
            at = folded.find(term, at + 1)
    runs = groupby(zip(chunk, covered, strict=True), key=lambda one: one[1])
    return [("".join(letter for letter, _ in run), mark) for mark, run in runs]
