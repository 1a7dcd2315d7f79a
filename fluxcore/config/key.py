"""One key of config.yaml: its default, its range and one sentence, kept in the field's metadata."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def key(
    default: Any,
    says: str,
    *,
    low: float | None = None,
    high: float | None = None,
    allowed: tuple[str, ...] | None = None,
    hot: bool = False,
    comes_with: str | None = None,
) -> Any:
    """`hot`: running processes follow the file. `comes_with`: what will use the key; until then nothing does."""
    rule = {"says": says, "low": low, "high": high, "allowed": allowed, "hot": hot, "comes_with": comes_with}
    return field(default=default, metadata=rule)
