"""Texts for those who decide: characters that nobody sees, or that reorder others, are shown as their code points."""

from __future__ import annotations

import unicodedata

# Controls, formats such as reordering and zero-width characters, separators of lines, unassigned and private ones.
_HIDDEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cn", "Co", "Cs"})


def visible(text: str, *, keep: str = "\t") -> str:
    """The text with what is hidden in it made visible, but for the characters to keep."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(char):04X}⟩" if char not in keep and unicodedata.category(char) in _HIDDEN else char for char in text
    )
