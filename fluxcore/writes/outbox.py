"""What one caller's work leaves for its batch: rows for the closers, calls for after the commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Outbox:
    """Filled while the work runs; read once, by the batch."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.after: list[Callable[[], None]] = []

    def add(self, kind: str, row: Any) -> None:
        self.rows.setdefault(kind, []).append(row)

    def after_commit(self, call: Callable[[], None]) -> None:
        self.after.append(call)

    def mark(self) -> tuple[dict[str, int], int]:
        return {kind: len(rows) for kind, rows in self.rows.items()}, len(self.after)

    def roll_back_to(self, mark: tuple[dict[str, int], int]) -> None:
        """Forget what a part of the work left that was rolled back."""
        lengths, calls = mark
        for kind, rows in self.rows.items():
            del rows[lengths.get(kind, 0) :]
        del self.after[calls:]
