"""Comparison of scopes: checked against every short name, False where it is not proven."""

from __future__ import annotations

from itertools import product

import pytest

from accounts import scopes
from accounts.capabilities import Capabilities
from fluxcore import globs
from fluxcore.errors import Invalid

WITHIN = [
    ("a", "a"),
    ("a", "*"),
    ("a/b", "*"),
    ("**", "*"),
    ("*", "**"),
    ("a", "a*"),
    ("a", "**"),
    ("a/b", "a/*"),
    ("a/*", "a/*"),
    ("a/*", "a/**"),
    ("a/b/**", "a/**"),
    ("a/**", "**"),
    ("notes/2026-*", "notes/*"),
    ("a*b", "a*"),
    ("a*b*c", "a*c"),
    ("a/*/c", "a/**/c"),
    ("a/*/c", "*/*/*"),
    ("x\\*y", "x*y"),
    ("\\*", "*"),
    ("a**", "**"),
    ("*a", "**a"),
    ("a/*", "*/*"),
]
NOT_WITHIN = [
    ("a", "b"),
    ("*", "a"),
    ("*", "a*"),
    ("**", "a/**"),
    ("a*", "a"),
    ("a/**", "a/*"),
    ("a*", "a/*"),
    ("a/b", "a*"),
    ("a/*", "a*"),
    ("x*y", "x\\*y"),
    ("*", "\\*"),
    ("A", "a"),
    ("a/b", "b/*"),
    ("a**", "a*"),
    ("a*c", "a*b*c"),
    ("memory", "mem"),
    ("**/x", "*/x"),
]


@pytest.mark.parametrize(("inner", "outer"), WITHIN)
def test_it_lies_within(inner, outer):
    assert scopes.within(inner, outer)


@pytest.mark.parametrize(("inner", "outer"), NOT_WITHIN)
def test_it_reaches_outside(inner, outer):
    assert not scopes.within(inner, outer)


def test_it_is_never_claimed_where_some_name_is_left_out():
    names = ["".join(letters) for length in range(5) for letters in product("ab/", repeat=length)]
    patterns = set()
    for length in (1, 2, 3):
        for parts in product(("a", "b", "/", "*", "**", "\\*"), repeat=length):
            try:
                globs.compile_glob("".join(parts))
            except Invalid:
                continue  # three stars in a row
            patterns.add("".join(parts))
    matched = {pattern: {name for name in names if globs.matches(pattern, name)} for pattern in patterns}
    claimed = [(inner, outer) for inner, outer in product(patterns, repeat=2) if scopes.within(inner, outer)]
    assert len(claimed) > 1000
    assert [pair for pair in claimed if not matched[pair[0]] <= matched[pair[1]]] == []


@pytest.mark.parametrize("name", ["a", "a/b", "*", "**", "a*b", "\\", "a\\*b", "***", "é"])
def test_the_glob_of_a_name_matches_it_and_nothing_else(name):
    glob = scopes.literal(name)
    assert globs.matches(glob, name)
    assert not any(globs.matches(glob, other) for other in ("x", name + "x", "x" + name, name.replace("*", "y") + "z"))


@pytest.mark.parametrize(
    ("held", "capability", "covered"),
    [
        (("memory.read",), "memory.read", True),
        (("memory.read",), "memory.read:*", True),
        (("memory.read:*",), "memory.read", True),
        (("memory.read:*",), "memory.read:a/**", True),
        (("memory.read:a/*",), "memory.read:a/b", True),
        (("memory.read:a/*",), "memory.read", False),
        (("memory.read:a/*",), "memory.read:*", False),
        (("memory.read:a/*",), "memory.write:a/b", False),
        (("memory.read:a", "memory.read:b"), "memory.read:b", True),
        (("grains.read",), "grains.read:*", True),
        ((), "grains.read", False),
    ],
)
def test_a_set_covers_what_it_wholly_allows(held, capability, covered):
    assert Capabilities(held).covers(capability) is covered


def test_a_set_within_another_covers_only_what_both_cover():
    outer = Capabilities(["memory.read:notes/**", "grains.read"])
    inner = Capabilities(["memory.read", "grains.read", "grains.write"], within=outer)
    assert inner.covers("memory.read:notes/*")
    assert not inner.covers("memory.read")
    assert not inner.covers("grains.write")
    assert inner.texts == ("grains.read", "memory.read:notes/**")
    assert inner.leaves_room_for("memory.read:notes/a")
    assert not inner.leaves_room_for("memory.write:notes/a")
