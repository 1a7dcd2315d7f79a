"""Glob patterns, as lists and capabilities use them."""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxcore import globs
from fluxcore.errors import Invalid


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*", ["", "a", "a/b", "a\nb", "ü/ä"], []),
        ("config", ["config"], ["Config", "config/x", "aconfig", "config\n", ""]),
        ("cache.*", ["cache.", "cache.a", "cache.a.b"], ["cache", "cache.a/b", "xcache.a"]),
        ("progress/*", ["progress/", "progress/a"], ["progress", "progress/a/b"]),
        ("config/**", ["config/", "config/a", "config/a/b"], ["config", "configs/a"]),
        ("**", ["", "a/b/c"], []),
        ("a/**/c", ["a/b/c", "a/b/b/c", "a//c"], ["a/c", "ab/c"]),
        ("*/x", ["a/x", "/x"], ["a/b/x", "x"]),
        ("a*b*c", ["abc", "aXbYc", "abbc"], ["ab", "aXbY", "a/bc"]),
        ("a*/b**c", ["a/bc", "ax/b/y/c"], ["a/x/bc/d"]),
        (r"\*", ["*"], ["a", ""]),
        (r"a\\b", ["a\\b"], ["ab"]),
        ("a.c", ["a.c"], ["abc"]),
        ("[ab]?", ["[ab]?"], ["a", "ax"]),
    ],
)
def test_a_pattern_matches_these_names_and_not_those(pattern, matching, others):
    assert [name for name in matching if not globs.matches(pattern, name)] == []
    assert [name for name in others if globs.matches(pattern, name)] == []
    beginning = globs.literal_beginning(pattern)
    assert [name for name in matching if not name.startswith(beginning)] == []


def test_what_every_matching_name_begins_with():
    found = [globs.literal_beginning(one) for one in ("*", "a/b", "a/**", "a*b*c", r"\*a/*", "**")]
    assert found == ["", "a/b", "a/", "a", "*a/", ""]


@pytest.mark.parametrize("pattern", ["", "x" * 513, "a\0b", "a***b", "***", "a\\"])
def test_an_invalid_pattern_is_refused(pattern):
    with pytest.raises(Invalid):
        globs.compile_glob(pattern)


def slowly(parts: list[str], name: str) -> bool:
    """The definition, word for word: try every length a wildcard could have."""
    if not parts:
        return name == ""
    first, rest = parts[0], parts[1:]
    if first in ("*", "**"):
        for end in range(len(name) + 1):
            if first == "*" and "/" in name[:end]:
                return False
            if slowly(rest, name[end:]):
                return True
        return False
    return name[:1] == first[-1] and slowly(rest, name[1:])


PARTS = st.lists(st.sampled_from(["a", "b", "/", ".", "\\*", "\\\\", "*", "**"]), min_size=1, max_size=7).filter(
    lambda parts: all(not (one[0] == two[0] == "*") for one, two in pairwise(parts))
)


@given(PARTS, st.text("ab/.*\\", max_size=9))
@settings(max_examples=600, deadline=None)
def test_matching_agrees_with_the_definition(parts, name):
    wanted = True if parts == ["*"] else slowly(parts, name)
    assert globs.matches("".join(parts), name) is wanted


@given(st.text(max_size=40).filter(lambda text: "\0" not in text and text))
@settings(deadline=None)
def test_an_escaped_name_matches_only_itself(name):
    pattern = "".join(f"\\{character}" for character in name)
    assert globs.matches(pattern, name)
    assert not globs.matches(pattern, name + "x")
    assert not globs.matches(pattern, name[1:])


def lines_run(pattern: str, name: str) -> int:
    """Lines of globs.py executed for one match: a count of work that no slow machine changes."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        if frame.f_code.co_filename != globs.__file__:
            return None
        count += event == "line"
        return trace

    globs.compile_glob(pattern)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        globs.matches(pattern, name)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("pattern", ["*a" * 100, "**a" * 100, "*a**a" * 60 + "b", "*" + "a*" * 200])
def test_hostile_patterns_cost_no_more_than_the_name_is_long(pattern):
    short, long = lines_run(pattern, "a" * 200 + "c"), lines_run(pattern, "a" * 2000 + "c")
    assert long <= 5 * 2001 + 20
    assert short <= 5 * 201 + 20
