"""A configuration for people: the written file, what needs a restart, and what is set and not used yet."""

from __future__ import annotations

from typing import Any

import yaml

from fluxcore.config.all_keys import FIELDS, Config


def render(config: Config) -> str:
    """A config.yaml that shows every key in use with its meaning and, read back, gives this configuration."""
    lines = ["# Flux Memory. `hot` values take effect within a second, the others at the next start."]
    for name, item in FIELDS.items():
        value = getattr(config, name)
        if item.metadata["comes_with"] and value == item.default:
            continue
        mark = " (hot)" if item.metadata["hot"] else ""
        shown = yaml.safe_dump({name: value}, default_flow_style=False).strip()
        # Only choices are written out; the rest stays a comment so that a later release can improve a
        # default nobody decided on.
        prefix = "" if name == "OPERATING_MODE" or value != item.default else "# "
        lines.append(f"{prefix}{shown}  # {item.metadata['says']}{mark}")
    return "\n".join(lines) + "\n"


def bound(config: Config) -> dict[str, Any]:
    """What a running instance keeps from its start, whatever the file says since."""
    return {name: getattr(config, name) for name, item in FIELDS.items() if not item.metadata["hot"]}


def not_used_yet(config: Config) -> list[str]:
    """A warning for each key that somebody has set and nothing reads yet."""
    return [
        f"{name} is not used yet: it comes with {item.metadata['comes_with']}. Until then it changes nothing"
        for name, item in FIELDS.items()
        if item.metadata["comes_with"] and getattr(config, name) != item.default
    ]
