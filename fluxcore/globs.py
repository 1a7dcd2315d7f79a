"""The one glob dialect: `*` alone is everything; elsewhere `*` stops at `/` and `**` does not.

Anchored and case-sensitive. A backslash makes the next character literal. Patterns come from callers,
so a match must not cost more than the text it reads: no regular expression that could backtrack, but
a set of positions that moves through the pattern once per character of the name.
"""

from __future__ import annotations

from functools import lru_cache

from fluxcore.errors import Invalid

MAX_PATTERN = 512
STAR, STARS = object(), object()


class Glob:
    """A checked pattern, ready to match."""

    __slots__ = ("_first", "_last", "_literal", "_loop", "_loop_at_slash", "_step")

    def __init__(self, pattern: str) -> None:
        parts = [STARS] if pattern == "*" else parts_of(pattern)
        plain = all(isinstance(part, str) for part in parts)
        self._literal = "".join(map(str, parts)) if plain else None  # no wildcard: comparing is enough
        # Bit n stands for "the first n parts are matched". A wildcard may match nothing, so its bit
        # carries on to the next; it may match one more character, so it also stays.
        self._step: dict[str, int] = {}
        self._loop = self._loop_at_slash = 0
        for number, part in enumerate(parts):
            bit = 1 << number
            if isinstance(part, str):
                self._step[part] = self._step.get(part, 0) | bit
            else:
                self._loop |= bit
                if part is STARS:
                    self._loop_at_slash |= bit
        self._last = 1 << len(parts)
        self._first = self._entered(1)

    def matches(self, name: str) -> bool:
        if self._literal is not None:
            return name == self._literal
        here = self._first
        for character in name:
            loop = self._loop_at_slash if character == "/" else self._loop
            here = self._entered((here & self._step.get(character, 0)) << 1 | here & loop)
            if not here:
                return False
        return bool(here & self._last)

    def _entered(self, here: int) -> int:
        # One step is enough: two wildcards never stand side by side.
        return here | (here & self._loop) << 1


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Glob:
    if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
        raise Invalid(f"A pattern has 1 to {MAX_PATTERN} characters.", field="pattern")
    return Glob(pattern)


def parts_of(pattern: str) -> list[object]:
    """Characters and wildcards, in order."""
    parts: list[object] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            if position + 1 == len(pattern):
                raise Invalid("A pattern may not end in a lone backslash.", field="pattern")
            parts.append(pattern[position + 1])
            position += 2
        elif character == "*":
            run = len(pattern[position:]) - len(pattern[position:].lstrip("*"))
            if run > 2:
                raise Invalid("A pattern knows * and **, not more stars in a row.", field="pattern")
            parts.append(STARS if run == 2 else STAR)
            position += run
        else:
            parts.append(character)
            position += 1
    return parts


def matches(pattern: str, name: str) -> bool:
    return compile_glob(pattern).matches(name)
