"""Glob patterns: `*` alone matches everything; elsewhere `*` does not match `/` and `**` does.

Anchored and case-sensitive. A backslash makes the next character literal. Patterns come from callers, so matching takes
linear time: instead of a regular expression, which could backtrack, a set of positions in the pattern is updated once
per character of the name.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import takewhile

from fluxcore.errors import Invalid

MAX_PATTERN = 512
STAR, STARS = object(), object()


class Glob:
    """A compiled pattern."""

    __slots__ = ("_first", "_last", "_literal", "_loop", "_loop_at_slash", "_step")

    def __init__(self, pattern: str) -> None:
        parts = [STARS] if pattern == "*" else parts_of(pattern)
        plain = all(isinstance(part, str) for part in parts)
        self._literal = "".join(map(str, parts)) if plain else None  # no wildcard: comparing is enough
        # Bit n means "the first n parts are matched". A wildcard may match nothing, so its bit also sets the next one;
        # it may match one more character, so its bit stays set.
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
        return bool(self._after(name) & self._last)

    def matches_below(self, prefix: str) -> bool:
        """Whether some name that begins with the prefix matches."""
        if self._literal is not None:
            return self._literal.startswith(prefix)
        return bool(self._after(prefix))

    def _after(self, name: str) -> int:
        """The positions after a name or its beginning; none if the pattern does not match so far."""
        positions = self._first
        for character in name:
            loop = self._loop_at_slash if character == "/" else self._loop
            positions = self._entered((positions & self._step.get(character, 0)) << 1 | positions & loop)
            if not positions:
                break
        return positions

    def _entered(self, positions: int) -> int:
        # One step is enough, because two wildcards are never adjacent.
        return positions | (positions & self._loop) << 1


@lru_cache(maxsize=4096)
def compile_glob(pattern: str) -> Glob:
    if not pattern or len(pattern) > MAX_PATTERN or "\0" in pattern:
        raise Invalid(f"A pattern must have 1 to {MAX_PATTERN} characters, none of them NUL.", field="pattern")
    return Glob(pattern)


def literal_beginning(pattern: str) -> str:
    """The characters of a pattern before its first wildcard: every name that matches begins with them."""
    return "".join(str(part) for part in takewhile(lambda part: isinstance(part, str), parts_of(pattern)))


def parts_of(pattern: str) -> list[object]:
    """Split a pattern into characters and wildcards."""
    parts: list[object] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            if position + 1 == len(pattern):
                raise Invalid("A pattern must not end with a single backslash. Write two of them.", field="pattern")
            parts.append(pattern[position + 1])
            position += 2
        elif character == "*":
            run = len(pattern[position:]) - len(pattern[position:].lstrip("*"))
            if run > 2:
                raise Invalid("A pattern can contain * and **, but not three or more stars in a row.", field="pattern")
            parts.append(STARS if run == 2 else STAR)
            position += run
        else:
            parts.append(character)
            position += 1
    return parts


def matches(pattern: str, name: str) -> bool:
    return compile_glob(pattern).matches(name)
