"""How rooms with values say null, and what a write expects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flux.core import NULL

# A value nobody gave; None is a value.
NOT_SAID: Any = object()


def value_of(value: Any) -> Any:
    if value is NOT_SAID:
        return None
    return NULL if value is None else value


def expecting(
    version: int | None,
    sha: str | None,
    value: Any,
    fence: Mapping[str, Any] | None,
    reason: str | None,
    key: str | None,
) -> dict[str, Any]:
    return {
        "expected_version": version,
        "expected_sha": sha,
        "expected_value": value_of(value),
        "fence": None if fence is None else dict(fence),
        "reason": reason,
        "idempotency_key": key,
    }


def must_expect(version: int | None, value: Any, named: Mapping[str, Any]) -> None:
    """A compare-and-set that compares with nothing would overwrite whatever is there."""
    if version is None and value is NOT_SAID and named.get("expected_sha") is None:
        raise ValueError("say what you expect: expected_version (0: absent), expected_value or expected_sha")
