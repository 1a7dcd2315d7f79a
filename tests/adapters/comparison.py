"""Table of operations with the answers of two implementations. Any difference fails the program that prints it."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

WIDTH = 80
_TITLE = 30


class Comparison:
    """Collects rows and prints them as they come."""

    def __init__(self, title: str, theirs: str) -> None:
        self.differences = self.rows = 0
        print(f"\n{title}\ncompared with {theirs}\n{'operation':{_TITLE}} answer of both")
        print("-" * WIDTH)

    def row(self, title: str, theirs: Any, ours: Any, show: Callable[[Any], Any] = lambda value: value) -> None:
        self.rows += 1
        same = theirs == ours
        shown = _short(show(ours) if same else "DIFFERENT", WIDTH - _TITLE - 1)
        print(f"{_short(title, _TITLE):{_TITLE}} {shown}")
        if not same:
            self.differences += 1
            print(f"  theirs: {theirs!r}\n  ours:   {ours!r}")

    def holds(self, title: str, value: Any, expected: Any = True) -> None:
        """A row of what only the adapter has."""
        self.row(title, expected, value)

    def end(self) -> None:
        print(f"{self.rows} operations, {self.differences} differences")
        if self.differences:
            sys.exit(1)


async def outcome(method: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a method returned, awaited if it must be, or the kind and words of its error."""
    try:
        answer = method(*given, **named)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _short(value: Any, width: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= width else f"{text[: width - 3]}..."
