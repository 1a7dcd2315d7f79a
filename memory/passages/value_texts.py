"""Text of a value for recall: its key on a line of its own, then its words.

A text is taken as it is. Of an object or list each text in it is a line, with the names that lead to it. Numbers, true,
false and null are left out: a value of nothing else is not indexed, and vectors or counters never are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memory.keyvalue.validation import value_of

MAX_TEXTS = 5_000  # of one value; the rest is not indexed


def text_of_value(key: str, stored: str) -> str:
    """The text of a stored value, empty if there are no words in it."""
    lines = list[str]()
    for name, text in _texts(value_of(stored), ""):
        if len(lines) == MAX_TEXTS:
            break
        lines.append(f"{name}: {text}" if name else text)
    return "\n".join([key, *lines]) if lines else ""


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        if value.strip():
            yield name, value
    elif isinstance(value, dict):
        for member, inner in value.items():
            yield from _texts(inner, f"{name}.{member}" if name else member)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, name)
