"""Whether a history of calls on one key could have happened one after the other, each between its begin and its end.

The search of Wing and Gong as Lowe made it fast: take any call that had begun before the first one returned, see
whether the key would have answered so, go on from there, and go back when nothing fits. A pair of what was taken and
how the key then is, is looked at once. A call without an answer may have happened at any time after it began, or never.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

ABSENT = (0, None)  # version and value


@dataclass(frozen=True)
class Call:
    """One call: `answer` is None where nobody knows what became of it."""

    begin: float
    end: float
    kind: str  # read, cas, delete
    expected: int = 0
    value: Any = None
    answer: tuple[str, int, Any] | None = None  # outcome, version, value


@dataclass(frozen=True)
class Key:
    """A key: what it holds, and the last version it ever gave."""

    version: int = 0
    value: Any = None
    last: int = 0

    @property
    def now(self) -> tuple[int, Any]:
        return (self.version, self.value) if self.version else ABSENT


def step(key: Key, call: Call) -> Key | None:
    """The key after the call; None if it would have answered otherwise."""
    if call.kind == "read":
        return key if call.answer is None or call.answer[1:] == key.now else None
    if call.kind == "delete":
        after, said = (Key(0, None, key.last), "deleted") if key.version else (key, "nothing")
    elif key.version == call.expected:
        after, said = Key(key.last + 1, call.value, key.last + 1), "written"
    else:
        after, said = key, "conflict"
    if call.answer is None:
        return after
    outcome, version, _ = call.answer
    fits = said == outcome
    if outcome == "written":
        fits = fits and version == after.version
    elif outcome == "conflict":
        fits = fits and version == key.version
    return after if fits else None


class _Node:
    __slots__ = ("after", "before", "bit", "call", "end")

    def __init__(self, call: Call | None, bit: int) -> None:
        self.call, self.bit = call, bit  # without a call: the return of the one with this bit
        self.before: Any = None
        self.after: Any = None
        self.end: Any = None

    def lift(self) -> None:
        for node in (self, self.end):
            node.before.after = node.after
            if node.after is not None:
                node.after.before = node.before

    def put_back(self) -> None:
        for node in (self.end, self):
            node.before.after = node
            if node.after is not None:
                node.after.before = node


def linearizable(calls: list[Call], start: Key = Key()) -> bool:  # noqa: B008  a frozen value
    events: list[tuple[float, int, _Node]] = []
    sure = 0
    for number, call in enumerate(calls):
        begin, end = _Node(call, 1 << number), _Node(None, 1 << number)
        begin.end = end
        events += [(call.begin, 0, begin), (math.inf if call.answer is None else call.end, 1, end)]
        sure |= 0 if call.answer is None else 1 << number
    head = previous = _Node(None, 0)
    for _, _, node in sorted(events, key=lambda one: one[:2]):
        node.before, previous.after, previous = previous, node, node
    key, taken, seen, way = start, 0, set(), []
    node = head.after
    while taken & sure != sure:
        if node.call is not None:
            then = step(key, node.call)
            found = (taken | node.bit, then)
            # What nobody heard of and changes nothing here need not have happened here.
            idle = node.call.answer is None and then == key
            if then is not None and not idle and found not in seen:
                seen.add(found)
                way.append((node, key))
                key, taken = then, taken | node.bit
                node.lift()
                node = head.after
                continue
            node = node.after
            continue
        if not way:
            return False
        node, key = way.pop()
        taken &= ~node.bit
        node.put_back()
        node = node.after
    return True
