"""Mentions of a text: names, numbers and dates. Each becomes an entry through which a question enters the graph."""

from __future__ import annotations

from typing import Literal, NamedTuple

from memory.engine.text import scripts
from memory.engine.text.amounts import find_amounts
from memory.engine.text.dates import DIGIT, SPELLED, find_dates
from memory.engine.text.names import find_names, find_quoted

MOST = 12  # mentions of one text
LONGEST = 128  # characters of a feature
_READ = 16_384  # characters that are read: names on the tenth page of a text help no recall
# Rank of a mention by the rank of its `dates.DateFeature`, among those of names and numbers: a day precedes an amount.
_DATE_RANKS = (2, 3, 5, 6, 8, 9)

Kind = Literal["name", "number", "date"]


class Mention(NamedTuple):
    """One name, number or date in a text."""

    kind: Kind
    feature: str


def find_mentions(text: str, said_at: int | None) -> list[Mention]:
    """At most twelve names, numbers and dates of the text, the most specific first."""
    text = scripts.normalised(text[:_READ])
    names, shown = find_names(text)
    if '"' in text or not text.isascii():
        names += find_quoted(text)
    ranked: list[tuple[int, Kind, str]] = [(rank, "name", feature) for rank, feature in names]
    if shown:
        low = text.lower()
        if shown != SPELLED:
            dates, low = find_dates(low, said_at, shown)
            ranked += [(_DATE_RANKS[rank], "date", feature) for rank, feature in dates]
        if shown & (DIGIT | SPELLED):
            ranked += [(rank, "number", feature) for rank, feature in find_amounts(low, shown)]
    if not ranked:
        return []
    ranked.sort(key=lambda mention: mention[0])
    kept = dict.fromkeys(Mention(kind, feature[:LONGEST].strip()) for _, kind, feature in ranked)
    return [mention for mention in kept if mention.feature][:MOST]
