"""Outbox of a write: rows for the batch writers, and calls to make after the commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Outbox:
    """Rows and calls that the work of one caller adds; the booth reads them once, with the batch."""

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
        """Remove what was added after the mark, by a part of the work that was rolled back."""
        lengths, calls = mark
        for kind, rows in self.rows.items():
            del rows[lengths.get(kind, 0) :]
        del self.after[calls:]
