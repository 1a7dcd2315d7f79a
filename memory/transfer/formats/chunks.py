"""Splitting of long texts into pieces: whole paragraphs if they fit, then sentences, then words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+")  # Chinese and Japanese ends of sentences too
_SPACE = re.compile(r"\s+")


def split_text(text: str, size: int) -> Iterator[str]:
    """Pieces of at most `size` characters, in order and complete."""
    yield from _joined([part.strip() for part in _PARAGRAPH.split(text)], size, "\n\n")


def _joined(parts: list[str], size: int, between: str) -> Iterator[str]:
    held = ""
    for part in parts:
        if not part:
            continue
        if held and len(held) + len(between) + len(part) <= size:
            held = f"{held}{between}{part}"
            continue
        if held:
            yield held
            held = ""
        if len(part) <= size:
            held = part
        elif between == "\n\n":
            yield from _joined(_SENTENCE.split(part), size, " ")
        else:
            yield from _cut(part, size)
    if held:
        yield held


def _cut(sentence: str, size: int) -> Iterator[str]:
    """Cut a sentence that is too long at white space, and a word that is too long anywhere."""
    held = ""
    for word in _SPACE.split(sentence):
        if held and len(held) + 1 + len(word) > size:
            yield held
            held = ""
        held = f"{held} {word}" if held else word
        while len(held) > size:
            yield held[:size]
            held = held[size:]
    if held:
        yield held
