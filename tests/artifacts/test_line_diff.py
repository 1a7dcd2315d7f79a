"""Differences of texts: true ones, whatever the texts are, and with a bounded amount of work."""

from __future__ import annotations

import difflib
import random
from difflib import SequenceMatcher
from itertools import pairwise

from memory.artifacts import line_diff
from memory.artifacts.line_diff import matches, unified_lines


def applied(old, diff):
    """The text that a unified diff makes of another one."""
    made, at = [], 0
    for line in list(diff)[2:]:
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            made += old[at:start]
            at = start
        elif line[0] == "+":
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [line[1:]] if line[0] == " " else []
            at += 1
    return made + old[at:]


def changed(lines, random_):
    """The lines with some of them removed, replaced, repeated or moved."""
    new = list(lines)
    for _ in range(random_.randrange(6)):
        at = random_.randrange(len(new) + 1)
        new[at : at + random_.randrange(3)] = random_.choice(
            ([], ["new\n"], [f"{random_.random()}\n"], new[:2], new[at - 1 : at])
        )
    return new


def test_a_difference_makes_the_new_text_of_the_old_one():
    random_ = random.Random(7)
    for number in range(600):
        kinds = random_.choice((1, 2, 5, 1000))
        old = [f"line {random_.randrange(kinds)}\n" for _ in range(random_.randrange(40))]
        new = changed(old, random_) if number % 2 else [f"line {random_.randrange(kinds)}\n" for _ in range(20)]
        assert applied(old, unified_lines(old, new, "a", "b")) == new
        found = matches(old, new)
        assert all(old[one.old : one.old + one.size] == new[one.new : one.new + one.size] for one in found)
        assert all(one.old + one.size <= two.old and one.new + one.size <= two.new for one, two in pairwise(found))


def test_ordinary_changes_look_as_difflib_writes_them():
    old = [f"line {number}\n" for number in range(100)]
    for new in (old[:50], old[50:], [*old[:20], "new\n", *old[21:90], "end\n"], ["first\n", *old], [], old[:99]):
        assert list(unified_lines(old, new, "a", "b")) == list(difflib.unified_diff(old, new, "a", "b"))
        assert list(unified_lines(new, old, "a", "b")) == list(difflib.unified_diff(new, old, "a", "b"))


def test_texts_that_are_made_to_be_slow_are_not_given_to_difflib(monkeypatch):
    given = []

    class Counted(SequenceMatcher):
        def __init__(self, junk, old, new, autojunk=True):
            given.append(len(old) * len(new))
            super().__init__(junk, old, new, autojunk)

    monkeypatch.setattr(line_diff, "SequenceMatcher", Counted)
    random_, count = random.Random(7), 20_000
    few = [f"l{random_.randrange(100)}\n" for _ in range(count)]
    rising = [f"l{number % 100}\n" for number in range(count)]
    every_other = [f"l{number}\n" if number % 2 else f"a{number}\n" for number in range(count)]
    other = [f"l{number}\n" if number % 2 else f"b{number}\n" for number in range(count)]
    for old, new in ((few, rising), (every_other, other), (rising, rising[::-1])):
        assert applied(old, unified_lines(old, new, "a", "b")) == new
    assert sum(given) <= 2 * count * 10 and max(given, default=0) <= line_diff.MAX_CELLS
