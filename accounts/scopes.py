"""Scopes compared with each other: whether one glob lies within another, and the glob of a single name."""

from __future__ import annotations

from fluxcore.globs import STAR, STARS, compile_glob, parts_of


def within(inner: str, outer: str) -> bool:
    """Whether every name that matches `inner` also matches `outer`; False also where that is merely unclear.

    `inner` is read part by part with the set of places in `outer` that are reached whatever its wildcards
    stand for: only a wildcard that takes at least as much can take a wildcard.
    """
    wanted = _places(outer)
    here = _entered({0}, wanted)
    for part in _places(inner):
        reached = set()
        for place in here:
            expected = wanted[place] if place < len(wanted) else None
            if expected is STARS or (expected is STAR and part is not STARS and part != "/"):
                reached.add(place)
            elif expected == part:
                reached.add(place + 1)
        here = _entered(reached, wanted)
    return len(wanted) in here


def _places(pattern: str) -> list[object]:
    compile_glob(pattern)  # refuses what is no pattern
    return [STARS] if pattern == "*" else parts_of(pattern)


def _entered(places: set[int], parts: list[object]) -> set[int]:
    """A wildcard may stand for nothing: whoever stands before it also stands behind it."""
    return places | {place + 1 for place in places if place < len(parts) and not isinstance(parts[place], str)}


def literal(name: str) -> str:
    """The glob that matches one name and no other."""
    return name.replace("\\", "\\\\").replace("*", "\\*")
