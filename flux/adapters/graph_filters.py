"""Filters of LangGraph's store: conditions on namespaces and on the members of items."""

from __future__ import annotations

import operator
from typing import Any

_COMPARED = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def matches(namespace: tuple[str, ...], condition: Any) -> bool:
    path, extra = condition.path, len(namespace) - len(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    names = namespace[extra if condition.match_type == "suffix" else 0 :]
    return extra >= 0 and all(wanted in ("*", name) for wanted, name in zip(path, names, strict=False))


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value has what a filter says; members of an object may be compared by operators."""
    if not isinstance(wanted, dict):
        if not isinstance(wanted, (list, tuple)):
            return bool(value == wanted)
        return isinstance(value, list) and len(value) == len(wanted) and all(map(fits, value, wanted))
    if any(name.startswith("$") for name in wanted):
        return all(_compared(value, name, limit) for name, limit in wanted.items())
    return isinstance(value, dict) and all(fits(value.get(name), one) for name, one in wanted.items())


def _compared(value: Any, name: str, limit: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool((value == limit) is (name == "$eq"))
    if name not in _COMPARED:
        raise ValueError(f"Unsupported operator: {name}")
    try:
        return bool(_COMPARED[name](float(value), float(limit)))
    except (TypeError, ValueError):
        return False  # a member that is missing or no number is not greater or less
