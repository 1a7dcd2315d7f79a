"""Tables of the documents that are written from the code. `make docs` rewrites them, a test compares them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import django

from flux.calls import registry
from flux.calls.base import WITH_SLASHES, Call, calls_at_places
from fluxcore import config, errors
from tests.docs import sdk_methods
from tests.docs.pages import ROOT

OPERATIONS, API, MCP = ROOT / "docs/operations.md", ROOT / "docs/api.md", ROOT / "docs/mcp.md"
EXACT = ROOT / "docs/exact.md"


def config_table() -> str:
    lines = ["| key | default | range | hot | what |", "|---|---|---|---|---|"]
    for name, item in config.FIELDS.items():
        rule = item.metadata
        if rule["comes_with"]:
            continue
        bounds = ", ".join(f"`{one}`" for one in rule["allowed"] or ()) or (
            f"{_number(rule['low'])} to {_number(rule['high'])}" if rule["low"] is not None else ""
        )
        default = str(item.default).lower() if isinstance(item.default, bool) else item.default
        lines.append(f"| `{name}` | `{default}` | {bounds} | {'hot' if rule['hot'] else ''} | {rule['says']} |")
    return "\n".join(lines)


def later_table() -> str:
    """Keys that nothing reads yet."""
    lines = ["| key | default | comes with | what |", "|---|---|---|---|"]
    for name, item in config.FIELDS.items():
        rule = item.metadata
        if rule["comes_with"]:
            default = str(item.default).lower() if isinstance(item.default, bool) else item.default
            lines.append(f"| `{name}` | `{default}` | {rule['comes_with']} | {rule['says']} |")
    return "\n".join(lines)


def removed_table() -> str:
    return "\n".join(
        ["| key | instead |", "|---|---|", *(f"| `{name}` | {instead} |" for name, instead in config.REMOVED.items())]
    )


def _number(value: Any) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def error_table() -> str:
    lines = ["| code | status | exit | message |", "|---|---|---|---|"]
    for row in errors.table():
        # A command may add a refusal of its own; the table is of those every door can give.
        if row.__module__ == errors.__name__:
            lines.append(f"| `{row.code}` | {row.status} | {row.exit_status} | {row.message} |")
    return "\n".join(lines)


def settings_table(module: str, name: str) -> str:
    """The numbers of a frozen dataclass: each has a comment above it, `range. What it is for.`"""
    source = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    body = re.split(rf"^class {name}\b.*$", source, flags=re.MULTILINE)[1].split("\n    def ")[0].split("\n\n\n")[0]
    found = re.findall(r"((?:^    # .*\n)+)^    (\w+): \w+ = ([\w.]+)$", body, re.MULTILINE)
    lines = ["| name | default | range | what |", "|---|---|---|---|"]
    for comment, field, default in found:
        said = " ".join(line.strip().removeprefix("# ") for line in comment.strip().splitlines())
        bounds, _, what = said.partition(". ") if re.match(r"[\d.,]+\.\.\S+\. ", said) else ("", "", said)
        lines.append(f"| `{field}` | {default} | {bounds.replace('..', ' to ')} | {what} |")
    return "\n".join(lines)


def features_table() -> str:
    """Which features speak for which signal."""
    from memory.engine.ranking.features import FEATURES

    signals: dict[str, list[str]] = {}
    for feature, signal in FEATURES.items():
        signals.setdefault(signal, []).append(f"`{feature}`")
    return "\n".join(
        ["| signal | features |", "|---|---|", *(f"| {one} | {', '.join(its)} |" for one, its in signals.items())]
    )


def signals_table() -> str:
    """Every signal of health: what it says, what is healthy, when it is judged, how bad it is to be outside."""
    from memory.health.signals import SIGNALS

    windows = {0: "now", 24: "24 h", 168: "7 d", 720: "30 d"}
    lines = ["| signal | what | window | healthy | judged after | severity |", "|---|---|---|---|---|---|"]
    for one in SIGNALS:
        least, most = (None if bound is None else f"{bound:g}" for bound in (one.low, one.high))
        healthy = f"{least} to {most}" if least and most else f"≥ {least}" if least else f"≤ {most}"
        after = [(one.days, "days"), (one.recalls, "recalls"), (one.judged, "judged recalls"), (one.grains, "grains")]
        judged = ", ".join(f"{count:g} {what}" for count, what in after if count)
        side = "above" if one.high is not None else "below"
        beyond = "" if one.critical is None else f"; CRITICAL {side} {one.critical:g}"
        severity = one.severity + beyond
        share = " of the active grains" if one.of else ""
        lines.append(
            f"| `{one.name}` | {one.says} | {windows[one.window]} | {healthy}{share} | {judged} | {severity} |"
        )
    return "\n".join(lines)


def tools_table() -> str:
    """Every tool of MCP, group by group."""
    from mcp_bridge import registry

    lines = ["| group | tool | needs | hints | what |", "|---|---|---|---|---|"]
    for name in (registry.DEFAULT_GROUP, *registry.SWITCHED_GROUPS):
        for tool in registry.load_group(name).tools:
            hints = {"reads only": tool.reads, "destroys": tool.destroys, "may be repeated": tool.repeats or tool.reads}
            said = ", ".join(hint for hint, holds in hints.items() if holds)
            needs = ", ".join(f"`{one}`" for one in tool.needs if one != "self.read")
            lines.append(f"| {name} | `{tool.name}` | {needs} | {said} | {tool.says.split('. ')[0].rstrip('.')}. |")
    return "\n".join(lines)


def calls_table(calls: Iterable[type[Call]]) -> str:
    """Every declared call with its name at each server."""
    lines = ["| REST | needs | MCP tool | client | shell | what |", "|---|---|---|---|---|---|"]
    for offer in calls_at_places(calls):
        path = re.sub(rf"\{{(?!{'|'.join(WITH_SLASHES)}\}})\w+\}}", "{id}", offer.path)
        command = offer.call.command or {"memory": "kv"}.get(offer.group, offer.group)
        shell = ", ".join(f"`{command} {line.split()[0]}`" for line in offer.shell)
        cells = [
            f"`{offer.method} /{path}`" if offer.method else "",
            ", ".join(f"`{one}`" for one in offer.needs),
            f"`{offer.tool}`" if offer.tool else "",
            f"`{offer.sdk}`" if offer.method else "",
            shell,
            f"{offer.says.split('. ')[0].rstrip('.')}.",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


ALGORITHMS = ROOT / "docs/algorithms.md"
_SETTINGS = {
    "recall": ("memory.engine.ranking.settings", "Settings"),
    "propagation": ("memory.engine.graph.propagate", "Propagation"),
    "gains": ("memory.engine.graph.propagate", "Gains"),
    "fading": ("memory.engine.graph.decay", "DecaySettings"),
}

TABLES = {
    **{name: (ALGORITHMS, partial(settings_table, *where)) for name, where in _SETTINGS.items()},
    "features": (ALGORITHMS, features_table),
    "signals": (ALGORITHMS, signals_table),
    "config": (OPERATIONS, config_table),
    "later": (OPERATIONS, later_table),
    "removed": (OPERATIONS, removed_table),
    "errors": (API, error_table),
    "tools": (MCP, tools_table),
    **{
        f"calls of {room.name}": (ROOT / "docs" / room.document, partial(calls_table, registry.calls(room=room)))
        for room in registry.ROOMS
    },
}


def written(name: str) -> str:
    """The table as it stands in its document."""
    return _place(name).search(TABLES[name][0].read_text(encoding="utf-8")).group(2).strip()  # type: ignore[union-attr]


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: written by `make docs` -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rewrite(page: Path, name: str, text: str) -> None:
    page.write_text(_place(name).sub(lambda found: f"{found[1]}{text}\n{found[3]}", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()  # tools name what their models know
    for name, (page, render) in TABLES.items():
        rewrite(page, name, render())
    sdk_methods.write()
