"""Lookalikes: names that differ but look the same to people."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache


@lru_cache(maxsize=1)
def _twins() -> dict[str, str]:
    """Unicode's confusable characters, each with the plainest character that looks like it."""
    from confusable_homoglyphs.confusables import confusables_data  # a megabyte, loaded when first needed

    return {
        character: min((other["c"] for other in others), key=_plainness, default=character)
        for character, others in confusables_data.items()
        if not character.isascii()
    }


def _plainness(text: str) -> tuple[bool, int, bool, str]:
    return not text.isascii(), len(text), not text.isalpha(), text


# Letters by Unicode category that are invisible.
INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0")
# ASCII characters that look alike.
_EYES = str.maketrans({"1": "l", "i": "l", "|": "l", "0": "o"})


@lru_cache(maxsize=4096)
def skeleton(name: str) -> str:
    """Skeleton of a name; names with the same skeleton look alike."""
    folded = unicodedata.normalize("NFKC", name)
    if not folded.isascii():
        # Twice, because capital letters look like other letters than their lower-case forms.
        folded = _plain(_plain(folded).casefold())
    return folded.casefold().translate(_EYES).replace("rn", "m").replace("vv", "w")


def _plain(text: str) -> str:
    return "".join(_twins().get(character, character) for character in text if character not in INVISIBLE)


def find_lookalike(name: str, others: Iterable[str]) -> str | None:
    """The first of the other names that looks like this one."""
    wanted = skeleton(name)
    return next((other for other in others if skeleton(other) == wanted), None)


def find_lookalikes(names: Iterable[str]) -> dict[str, list[str]]:
    """For every name the others that look like it; names without any are left out."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(skeleton(name), []).append(name)
    return {
        name: [other for other in group if other != name]
        for group in groups.values()
        if len(group) > 1
        for name in group
    }


def spell_out(name: str) -> str:
    """The name with its foreign letters spelt out, such as (a is CYRILLIC SMALL LETTER A)."""
    foreign = [character for character in dict.fromkeys(name) if not character.isascii()]
    if not foreign:
        return repr(name)
    spelt = ", ".join(f"{character} is {unicodedata.name(character, 'unnamed')}" for character in foreign[:4])
    return f"{name!r} ({spelt})"
