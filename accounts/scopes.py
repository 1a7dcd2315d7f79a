"""Scopes compared with each other: whether one glob lies within another, and the glob of a single name."""

from __future__ import annotations

from functools import lru_cache

from fluxcore.globs import STARS, compile_glob, parts_of


@lru_cache(maxsize=65_536)
def within(inner: str, outer: str) -> bool:
    """Whether every name that matches `inner` also matches `outer`; False also where that is merely unclear.

    `inner` is read part by part with the places in `outer` that are reached whatever its wildcards stand
    for, bit n for "the first n parts are matched": only a wildcard that takes at least as much can take a
    wildcard.
    """
    step, star, stars, last = _compiled(outer)
    here = _entered(1, star | stars)
    for part in _places(inner):
        stay = stars if part is STARS or part == "/" else star | stars
        taken = step.get(part, 0) if isinstance(part, str) else 0
        here = _entered((here & taken) << 1 | here & stay, star | stars)
        if not here:
            return False
    return bool(here & last)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[dict[str, int], int, int, int]:
    """Where each letter stands, where the wildcards stand, and the end."""
    parts = _places(pattern)
    step: dict[str, int] = {}
    star = stars = 0
    for number, part in enumerate(parts):
        if isinstance(part, str):
            step[part] = step.get(part, 0) | 1 << number
        elif part is STARS:
            stars |= 1 << number
        else:
            star |= 1 << number
    return step, star, stars, 1 << len(parts)


def _places(pattern: str) -> list[object]:
    compile_glob(pattern)  # refuses what is no pattern
    return [STARS] if pattern == "*" else parts_of(pattern)


def _entered(here: int, wildcards: int) -> int:
    """A wildcard may stand for nothing: whoever stands before it also stands behind it."""
    return here | (here & wildcards) << 1


def literal(name: str) -> str:
    """The glob that matches one name and no other."""
    return name.replace("\\", "\\\\").replace("*", "\\*")
