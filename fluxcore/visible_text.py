"""Texts of agents for people: characters that nobody sees, or that reorder others, are shown as their code points."""

from __future__ import annotations

import unicodedata
from functools import cache

# Controls, formats such as reordering and zero-width characters, separators of lines, unassigned and private ones.
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cn", "Co", "Cs"})
_MOST = 10_000  # characters that are remembered; a text may have a million different ones


class _Shown(dict[int, str]):
    """What is shown for each character, found when a text first has it."""

    def __init__(self, keep: str) -> None:
        super().__init__((ord(char), char) for char in keep)

    def __missing__(self, number: int) -> str:
        char = chr(number)
        found = f"⟨U+{number:04X}⟩" if unicodedata.category(char) in _HIDDEN else char
        if len(self) < _MOST:
            self[number] = found
        return found


_shown = cache(_Shown)


def visible(text: str, *, keep: str = "\t") -> str:
    """The text with what is hidden in it made visible, but for the characters to keep."""
    return text if text.isascii() and text.isprintable() else text.translate(_shown(keep))


def visible_lines(text: str) -> str:
    """A text of several lines, with line ends of one kind. What joins letters and emoji is part of them, and stays."""
    return visible(text.replace("\r\n", "\n"), keep="\t\n\u200c\u200d")
