"""flux_health: health signals of spaces with their last readings, warnings and advice."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.models import Space
from accounts.principals import find_space, shell
from fluxcore.errors import Invalid
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.health import jobs as health_jobs
from memory.management.base import FluxCommand

_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 22
_COLOURS = {"healthy": "green", "low": "yellow", "high": "yellow", "warning": "yellow", "critical": "bold red"}
# Exit statuses for scripts; errors have statuses from 64 on.
EXIT = {"healthy": 0, "warning": 1, "critical": 2}


class Command(FluxCommand):
    help = "Show the health of all spaces or of one. Exit status: 1 with a warning, 2 with a critical one."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--space", help="only this space (default: all)")
        parser.add_argument(
            "--measure", action="store_true", help="measure now instead of showing the last measurement"
        )
        parser.add_argument(
            "--acknowledge", metavar="SIGNAL", help="acknowledge the warning of this signal (with --space)"
        )
        parser.add_argument("--reason", default="", help="acknowledge: reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        from memory.health import history, report

        spaces = [find_space(options["space"])] if options["space"] else list(Space.objects.order_by("name"))
        if options["acknowledge"]:
            if not options["space"]:
                raise Invalid("The space is missing: add --space NAME.", field="space")
            report.acknowledge(shell(spaces[0]), signal=options["acknowledge"], reason=options["reason"])
        if options["measure"]:
            _measure()
        found = {space.name: report.report(shell(space)) for space in spaces}
        if self.as_json:
            self.answer({"spaces": found})
        else:
            for space in spaces:
                self._print(space.name, found[space.name], history.recent_values(shell(space), points=_POINTS))
            if not spaces:
                self.console.print("[dim]No spaces yet.[/]")
        worst = max((EXIT[one["status"]] for one in found.values()), default=0)
        if worst:
            sys.exit(worst)

    def _print(self, name: str, found: dict[str, Any], lines: dict[str, list[float | None]]) -> None:
        when = (
            f"measured {found['computed_at'][:16].replace('T', ' ')} UTC"
            if found["computed_at"]
            else "not measured yet"
        )
        self.console.print(
            Text.assemble((name, "bold"), "  ", (found["status"], _COLOURS[found["status"]]), f"  {when}")
        )
        if not found["computed_at"]:
            return
        self.table(
            ("signal", "value", "healthy", "", "last readings"),
            [
                (
                    signal,
                    _number(one["value"]),
                    _range(one["range"]),
                    Text(one["state"], _COLOURS.get(one["state"], "dim")),
                    sparkline(lines.get(signal, [])),
                )
                for signal, one in found["signals"].items()
            ],
            empty="",
        )
        for one in found["active_warnings"]:
            known = f" (acknowledged by {one['acknowledged_by']})" if one["acknowledged_by"] else ""
            self.console.print(Text(f"! {one['severity']} {one['signal']}{known}: {one['suggestion']}", "yellow"))


def _measure() -> None:
    """Measure now instead of waiting for the worker; if both try, one of them does it."""

    booth.write(health_jobs.ask_to_gather)
    worker.drain()


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _range(bounds: list[float | None]) -> str:
    low, high = bounds
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"≥ {low:g}" if low is not None else f"≤ {high:g}" if high is not None else ""


def sparkline(values: list[float | None]) -> str:
    """Sparkline: bars from the smallest to the largest value, a gap for missing values."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    width = (high - low) or 1.0
    return "".join(" " if one is None else _BARS[round((one - low) / width * (len(_BARS) - 1))] for one in values)
