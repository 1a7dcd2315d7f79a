"""Comparison of scopes: whether one glob is within another, and the glob of a single name."""

from __future__ import annotations

from functools import lru_cache

from fluxcore.globs import STARS, compile_glob, parts_of


@lru_cache(maxsize=65_536)
def within(inner: str, outer: str) -> bool:
    """Whether every name that matches `inner` also matches `outer`; False also if that is unclear.

    `inner` is read part by part, with the set of positions in `outer` that are reached whatever its wildcards match
    (bit n means "the first n parts are matched"). A wildcard of `inner` is matched only by a wildcard of `outer` that
    matches at least as much.
    """
    step, star, stars, last = _compiled(outer)
    positions = _entered(1, star | stars)
    for part in _places(inner):
        stay = stars if part is STARS or part == "/" else star | stars
        matched = step.get(part, 0) if isinstance(part, str) else 0
        positions = _entered((positions & matched) << 1 | positions & stay, star | stars)
        if not positions:
            return False
    return bool(positions & last)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[dict[str, int], int, int, int]:
    """Bit sets of a pattern: positions of each character, of `*`, of `**`, and the end."""
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
    compile_glob(pattern)  # refuses invalid patterns
    return [STARS] if pattern == "*" else parts_of(pattern)


def _entered(positions: int, wildcards: int) -> int:
    """Positions with those after wildcards added, because a wildcard may match nothing."""
    return positions | (positions & wildcards) << 1


def literal(name: str) -> str:
    """The glob that matches one name and no other."""
    return name.replace("\\", "\\\\").replace("*", "\\*")
