"""Groups of MCP tools that people switch on for an agent; the doors say at start which groups there are."""

from __future__ import annotations

import json
from typing import Any

from fluxcore.errors import Invalid

_groups: dict[str, str] = {}


def register_group(name: str, says: str) -> None:
    """A door has this group: its name and what it is for."""
    _groups[name] = says


def registered_groups() -> dict[str, str]:
    return dict(_groups)


def check(names: Any) -> list[str]:
    """The groups as they are stored: known, sorted, without repeats."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Invalid("tools must be a list of names of groups.", field="tools")
    for name in names:
        if name not in _groups:
            known = ", ".join(sorted(_groups)) or "none"
            raise Invalid(f"There is no group of tools {name[:64]!r}. Allowed: {known}.", field="tools")
    return sorted(set(names))


def parse_groups(value: Any) -> tuple[str, ...]:
    """As a statement of our own read it."""
    return tuple(json.loads(value) if isinstance(value, str) else value)
