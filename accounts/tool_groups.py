"""Groups of MCP tools that people add to an agent's default ones; servers register the groups when they start."""

from __future__ import annotations

import json
from typing import Any

from fluxcore.errors import Invalid

_groups: dict[str, str] = {}


def register_group(name: str, says: str) -> None:
    """Register a group with its name and description."""
    _groups[name] = says


def registered_groups() -> dict[str, str]:
    return dict(_groups)


def check(names: Any) -> list[str]:
    """Check names of groups and return them as they are stored: sorted, without duplicates."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Invalid("tools must be a list of names of groups.", field="tools")
    for name in names:
        if name not in _groups:
            known = ", ".join(sorted(_groups)) or "none"
            raise Invalid(f"There is no group of tools {name[:64]!r}. Allowed: {known}.", field="tools")
    return sorted(set(names))


def parse_groups(value: Any) -> tuple[str, ...]:
    """The stored groups of an agent, from raw SQL or from the model."""
    return tuple(json.loads(value) if isinstance(value, str) else value)
