"""A configuration as text: the written config.yaml, the keys that need a restart."""

from __future__ import annotations

from typing import Any

import yaml

from fluxcore.config.all_keys import FIELDS, Config


def render(config: Config) -> str:
    """Text of a config.yaml with every key in use and its meaning; parsed again, it gives this configuration."""
    lines = ["# Flux Memory. `hot` values take effect within a second, the others at the next start."]
    for name, item in FIELDS.items():
        value = getattr(config, name)
        if item.metadata["comes_with"] and value == item.default:
            continue
        mark = " (hot)" if item.metadata["hot"] else ""
        shown = yaml.safe_dump({name: value}, default_flow_style=False).strip()
        # Only values that differ from the default are set; the others are comments, so that a later release can
        # change a default that nobody has chosen.
        prefix = "" if name == "OPERATING_MODE" or value != item.default else "# "
        lines.append(f"{prefix}{shown}  # {item.metadata['says']}{mark}")
    return "\n".join(lines) + "\n"


def bound(config: Config) -> dict[str, Any]:
    """Values a running instance keeps until its restart, even if the file has changed."""
    return {name: getattr(config, name) for name, item in FIELDS.items() if not item.metadata["hot"]}
