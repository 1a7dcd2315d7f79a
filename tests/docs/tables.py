"""Tables of the documents that are written from the code. `make docs` rewrites them, a test compares them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fluxcore import config, errors
from tests.docs.pages import ROOT

OPERATIONS, API = ROOT / "docs/operations.md", ROOT / "docs/api.md"


def config_table() -> str:
    lines = ["| key | default | range | hot | what |", "|---|---|---|---|---|"]
    for name, item in config.FIELDS.items():
        rule = item.metadata
        bounds = ", ".join(f"`{one}`" for one in rule["allowed"] or ()) or (
            f"{_number(rule['low'])} to {_number(rule['high'])}" if rule["low"] is not None else ""
        )
        default = str(item.default).lower() if isinstance(item.default, bool) else item.default
        lines.append(f"| `{name}` | `{default}` | {bounds} | {'hot' if rule['hot'] else ''} | {rule['says']} |")
    return "\n".join(lines)


def _number(value: Any) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def error_table() -> str:
    lines = ["| code | status | exit | message |", "|---|---|---|---|"]
    for row in errors.table():
        # A command may add a refusal of its own; the table is of those every door can give.
        if row.__module__ == errors.__name__:
            lines.append(f"| `{row.code}` | {row.status} | {row.exit_status} | {row.message} |")
    return "\n".join(lines)


TABLES = {"config": (OPERATIONS, config_table), "errors": (API, error_table)}


def written(name: str) -> str:
    """The table as it stands in its document."""
    return _place(name).search(TABLES[name][0].read_text(encoding="utf-8")).group(2).strip()  # type: ignore[union-attr]


def _place(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: written by `make docs` -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rewrite(page: Path, name: str, text: str) -> None:
    page.write_text(_place(name).sub(lambda found: f"{found[1]}{text}\n{found[3]}", page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    for name, (page, render) in TABLES.items():
        rewrite(page, name, render())
