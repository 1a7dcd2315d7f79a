"""Declaration of one key of config.yaml: its default, its range and one sentence, kept in the field's metadata."""

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
    """A field of Config. `hot`: running processes follow the file. `comes_with`: planned feature that will use it."""
    rule = {"says": says, "low": low, "high": high, "allowed": allowed, "hot": hot, "comes_with": comes_with}
    return field(default=default, metadata=rule)
