"""Whether a statement puts an earlier one right: about the same, with another number, or the opposite."""

from __future__ import annotations

import re

from memory.engine.text import scripts, words
from memory.engine.text.mentions import find_mentions
from memory.engine.text.stopwords import STOP

# Share of the terms beside names, numbers and dates that both hold, from which on they are about the same.
ABOUT = 0.5
_CALLED = re.compile(r"(?<!\w)([^\W\d_]{2,}) (?:number |no\.? |nr\.? )?#?(\d+)(?!\w|[.,:]\d)")
_OPENS = re.compile(r"\s*(?:no|not|actually|correction|sorry|wrong|instead|nein|doch|eigentlich|korrektur|non|нет)\b")
_DENIES = re.compile(
    r"(?<!\w)(?:not|no|never|none|no longer|\w{2,8}n't|cannot|nicht|kein\w*|nie|jamais|ne|pas|nunca|ya no|niet|geen|не)"
    r"(?!\w)|不|没|沒|ない|안|않"
)


def corrects(later: str, earlier: str, said_at: int | None = None) -> bool:
    """Both are about the same, and what they say of it cannot both be meant.

    That two differ is not enough: "likes tea" and "likes coffee" may both be so, "order 123" and "order 124" are two
    things, and what happened on two days happened twice, unless the later one begins like a correction does.
    """
    ours, theirs = _Statement(later, said_at), _Statement(earlier, said_at)
    if not ours.about or not theirs.about:
        return False
    if len(ours.about & theirs.about) / min(len(ours.about), len(theirs.about)) < ABOUT:
        return False
    if _nested(ours.about, theirs.about) and not _two_things(ours, theirs):
        if ours.denies != theirs.denies:
            return _nested(ours.names, theirs.names)
        if ours.names == theirs.names and ours.dates == theirs.dates and ours.numbers and theirs.numbers:
            return ours.numbers != theirs.numbers
    return bool(_OPENS.match(ours.low)) and ours.all != theirs.all


def _nested(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether one only says more than the other: a word that only one has on either side speaks of another thing."""
    return ours >= theirs or theirs >= ours


def _two_things(ours: _Statement, theirs: _Statement) -> bool:
    """Whether a number that is part of a name tells them apart: "order 123", "ticket #7", "room 12"."""
    return any(ours.called[word].isdisjoint(theirs.called[word]) for word in ours.called.keys() & theirs.called.keys())


class _Statement:
    """A statement in its parts."""

    def __init__(self, text: str, said_at: int | None) -> None:
        self.low = scripts.folded(scripts.normalised(text))
        self.denies = bool(_DENIES.search(self.low))
        named = find_mentions(text, said_at)
        terms = words.terms(text)
        self.all = frozenset(terms)
        self.names = frozenset(mention.feature for mention in named if mention.kind == "name")
        self.dates = frozenset(mention.feature for mention in named if mention.kind == "date")
        self.numbers = frozenset(mention.feature for mention in named if mention.kind == "number") | {
            term for term in terms if term.isdigit() and not any(term in date for date in self.dates)
        }
        # By word: the numbers that follow it at once and count nothing.
        self.called: dict[str, set[str]] = {}
        counted = {number.partition(" ")[0] for number in self.numbers if " " in number}
        for word, number in _CALLED.findall(self.low):
            if word not in STOP and number not in counted:
                self.called.setdefault(word, set()).add(number)
        values = {term for mention in named for term in words.terms(mention.feature)}
        self.about = frozenset(term for term in terms if term not in values and not term.isdigit())
