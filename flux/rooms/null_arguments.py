"""Arguments that may be null: how null is told from an argument that is not given; and a check of compare-and-set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux.core import NULL

# Default of such arguments. None means null.
NOT_GIVEN: Any = object()


def value_of(value: Any) -> Any:
    if value is NOT_GIVEN:
        return None
    return NULL if value is None else value


def must_expect(version: int | None, value: Any, named: Mapping[str, Any]) -> None:
    """Raise ValueError if a compare-and-set has nothing to compare with: it would overwrite any value."""
    if version is None and value is NOT_GIVEN and named.get("expected_sha") is None:
        raise ValueError("nothing to compare with: give expected_version (0: absent), expected_value or expected_sha")
