"""How methods say null, and that a compare-and-set must compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux.core import NULL

# A value nobody gave; None is a value.
NOT_GIVEN: Any = object()


def value_of(value: Any) -> Any:
    if value is NOT_GIVEN:
        return None
    return NULL if value is None else value


def must_expect(version: int | None, value: Any, named: Mapping[str, Any]) -> None:
    """A compare-and-set that compares with nothing would overwrite whatever is there."""
    if version is None and value is NOT_GIVEN and named.get("expected_sha") is None:
        raise ValueError("say what you expect: expected_version (0: absent), expected_value or expected_sha")
