"""Which lines two texts have in common, in time that does not explode with what somebody writes on purpose.

difflib alone takes minutes for two texts of 20,000 lines that are made for it. Here lines that each text has once are
matched first, as in a patience diff; what is left between them goes to difflib while it is small. What is large and
has no such lines counts as replaced as a whole, which is a true difference, if not the shortest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

MAX_CELLS = 40_000  # old lines times new lines of a part that difflib compares
_MAX_DEPTH = 8  # how often a part is split at lines that it has once
_CONTEXT = 3  # equal lines around a change


class LineMatch(NamedTuple):
    """Equal lines: `size` of them, from these places on."""

    old: int
    new: int
    size: int


class _Part(NamedTuple):
    """Lines of both texts that are still to be compared."""

    old: int
    old_end: int
    new: int
    new_end: int
    depth: int


def matches(old: Sequence[str], new: Sequence[str]) -> list[LineMatch]:
    """The equal lines of two texts, in the order of both."""
    found: list[LineMatch] = []
    waiting = [_Part(0, len(old), 0, len(new), 0)]
    while waiting:
        part = _trimmed(old, new, waiting.pop(), found)
        if part.old == part.old_end or part.new == part.new_end:
            continue
        anchors = _anchors(old, new, part) if part.depth < _MAX_DEPTH else []
        if anchors:
            waiting += _between(part, anchors)
            found += [LineMatch(at, other, 1) for at, other in anchors]
        elif (part.old_end - part.old) * (part.new_end - part.new) <= MAX_CELLS:
            matcher = SequenceMatcher(None, old[part.old : part.old_end], new[part.new : part.new_end], autojunk=False)
            found += [
                LineMatch(part.old + block.a, part.new + block.b, block.size)
                for block in matcher.get_matching_blocks()
                if block.size
            ]
    return sorted(found)


def _trimmed(old: Sequence[str], new: Sequence[str], part: _Part, found: list[LineMatch]) -> _Part:
    """A part without the equal lines at its beginning and its end, which are added to the matches."""
    first, second, end, other_end, depth = part.old, part.new, part.old_end, part.new_end, part.depth
    while first < end and second < other_end and old[first] == new[second]:
        first, second = first + 1, second + 1
    while first < end and second < other_end and old[end - 1] == new[other_end - 1]:
        end, other_end = end - 1, other_end - 1
    if first > part.old:
        found.append(LineMatch(part.old, part.new, first - part.old))
    if end < part.old_end:
        found.append(LineMatch(end, other_end, part.old_end - end))
    return _Part(first, end, second, other_end, depth)


def _anchors(old: Sequence[str], new: Sequence[str], part: _Part) -> list[tuple[int, int]]:
    """Places of lines that both sides of a part have once: the longest row of them in the same order."""
    in_old = Counter(old[part.old : part.old_end])
    in_new = Counter(new[part.new : part.new_end])
    at_new = {line: part.new + at for at, line in enumerate(new[part.new : part.new_end]) if in_new[line] == 1}
    pairs = [
        (part.old + at, at_new[line])
        for at, line in enumerate(old[part.old : part.old_end])
        if in_old[line] == 1 and line in at_new
    ]
    ends: list[int] = []  # the smallest place at which a row of each length ends
    rows: list[int] = []  # of which pair that is
    before: list[int] = []  # the pair in front of each one
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(rows[length - 1] if length else -1)
        ends[length : length + 1], rows[length : length + 1] = [place], [number]
    row, number = list[tuple[int, int]](), rows[-1] if rows else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]


def _between(part: _Part, anchors: list[tuple[int, int]]) -> Iterator[_Part]:
    """What is left of a part between its anchors."""
    old, new = part.old, part.new
    for at, other in [*anchors, (part.old_end, part.new_end)]:
        if old < at or new < other:
            yield _Part(old, at, new, other, part.depth + 1)
        old, new = at + 1, other + 1


class _LineMatcher(SequenceMatcher[str]):
    """difflib's grouping of changes, over the matches of this module."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, "", "")  # the texts are given below, without difflib's index of them
        self.a, self.b = old, new
        self.found = matches(old, new)

    def get_opcodes(self) -> list[tuple[str, int, int, int, int]]:  # type: ignore[override]
        codes, old, new = list[tuple[str, int, int, int, int]](), 0, 0
        for at, other, size in [*self.found, LineMatch(len(self.a), len(self.b), 0)]:
            if old < at or new < other:
                kind = "replace" if old < at and new < other else "delete" if old < at else "insert"
                codes.append((kind, old, at, new, other))
            if size and codes and codes[-1][0] == "equal":
                codes[-1] = ("equal", codes[-1][1], at + size, codes[-1][3], other + size)
            elif size:
                codes.append(("equal", at, at + size, other, other + size))
            old, new = at + size, other + size
        return codes


def unified_lines(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The lines of a unified diff, as `difflib.unified_diff` writes them."""
    for number, group in enumerate(_LineMatcher(old, new).get_grouped_opcodes(_CONTEXT)):
        if number == 0:
            yield f"--- {old_name}\n"
            yield f"+++ {new_name}\n"
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for kind, first, end, other, other_end in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[first:end])
                continue
            yield from (f"-{line}" for line in old[first:end])
            yield from (f"+{line}" for line in new[other:other_end])


def _range(first: int, end: int) -> str:
    """Lines of one side as the head of a group names them."""
    length = end - first
    return f"{first + 1}" if length == 1 else f"{first + 1 if length else first},{length}"
