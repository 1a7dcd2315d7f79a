"""Detection of corrections: a statement about the same thing with another number, or with the opposite meaning."""

from __future__ import annotations

import re

from memory.engine.text import scripts, words
from memory.engine.text.mentions import find_mentions
from memory.engine.text.stopwords import STOP

# Share of common terms, without names, numbers and dates, from which on two statements are about the same thing.
ABOUT = 0.5
_NUMBERED_NAME = re.compile(r"(?<!\w)([^\W\d_]{2,}) (?:number |no\.? |nr\.? )?#?(\d+)(?!\w|[.,:]\d)")
_CORRECTION_OPENING = re.compile(
    r"\s*(?:no|not|actually|correction|sorry|wrong|instead|nein|doch|eigentlich|korrektur|non|нет)\b"
)
_NEGATION = re.compile(
    r"(?<!\w)(?:not|no|never|none|no longer|\w{2,8}n't|cannot|nicht|kein\w*|nie|jamais|ne|pas|nunca|ya no|niet|geen|не)"
    r"(?!\w)|不|没|沒|ない|안|않"
)


def corrects(later: str, earlier: str, said_at: int | None = None) -> bool:
    """Whether both statements are about the same thing and cannot both be true.

    A difference is not enough: "likes tea" and "likes coffee" may both be true, "order 123" and "order 124" are two
    things, and events on two days are two events, unless the later statement begins like a correction.
    """
    new, old = _Statement(later, said_at), _Statement(earlier, said_at)
    if not new.about or not old.about:
        return False
    if len(new.about & old.about) / min(len(new.about), len(old.about)) < ABOUT:
        return False
    if _nested(new.about, old.about) and not _two_things(new, old):
        if new.denies != old.denies:
            return _nested(new.names, old.names)
        if new.names == old.names and new.dates == old.dates and new.numbers and old.numbers:
            return new.numbers != old.numbers
    return bool(_CORRECTION_OPENING.match(new.low)) and new.all != old.all


def _nested(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether one set contains the other; if both have words of their own, they are about two things."""
    return first >= second or second >= first


def _two_things(new: _Statement, old: _Statement) -> bool:
    """Whether a number that is part of a name distinguishes them: "order 123", "ticket #7", "room 12"."""
    return any(
        new.numbered_names[word].isdisjoint(old.numbered_names[word])
        for word in new.numbered_names.keys() & old.numbered_names.keys()
    )


class _Statement:
    """Parts of a statement: names, numbers, dates, negation and the remaining terms."""

    def __init__(self, text: str, said_at: int | None) -> None:
        self.low = scripts.folded(scripts.normalised(text))
        self.denies = bool(_NEGATION.search(self.low))
        mentions = find_mentions(text, said_at)
        terms = words.terms(text)
        self.all = frozenset(terms)
        self.names = frozenset(mention.feature for mention in mentions if mention.kind == "name")
        self.dates = frozenset(mention.feature for mention in mentions if mention.kind == "date")
        self.numbers = frozenset(mention.feature for mention in mentions if mention.kind == "number") | {
            term for term in terms if term.isdigit() and not any(term in date for date in self.dates)
        }
        # By word: the numbers directly after it that are not amounts.
        self.numbered_names: dict[str, set[str]] = {}
        counted = {number.partition(" ")[0] for number in self.numbers if " " in number}
        for word, number in _NUMBERED_NAME.findall(self.low):
            if word not in STOP and number not in counted:
                self.numbered_names.setdefault(word, set()).add(number)
        values = {term for mention in mentions for term in words.terms(mention.feature)}
        self.about = frozenset(term for term in terms if term not in values and not term.isdigit())
