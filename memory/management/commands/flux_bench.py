"""flux_bench: benchmarks of recall quality, speed and growth, each in a temporary data home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from typing import Any, ClassVar

from django.core.management.base import CommandParser
from rich.text import Text

from fluxcore.errors import Invalid
from memory.management.base import FluxCommand

# Name of each benchmark, its module, and whether it prints rows of ratios or its own tables.
BENCHES = {
    "quality": ("benchmarks.quality", False),
    "speed": ("benchmarks.speed", True),
    "store": ("benchmarks.store", True),
    "arena": ("benchmarks.arena", True),
    "encoders": ("benchmarks.encoders", True),
}


class Command(FluxCommand):
    help = "Benchmarks of recall quality, recall speed, growth, storing and the in-memory index (arena)."
    needs_instance: ClassVar[bool] = False
    needs_tables: ClassVar[bool] = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("what", nargs="?", default="quality", choices=list(BENCHES))
        parser.add_argument(
            "given", nargs="*", help="quality: a folder of labelled sets; speed, arena: numbers of memories"
        )
        parser.add_argument("--encoder", default=None, help="quality: minilm, wordllama, hashed or none")
        parser.add_argument("--small", action="store_true", help="quality: a few generated collections only")
        parser.add_argument("--engine", action="store_true", help="quality: without the database, with ablation")

    def run(self, options: dict[str, Any]) -> None:
        module, rows = BENCHES[options["what"]]
        if find_spec("benchmarks") is None:
            raise Invalid("The benchmarks are not part of the package. Run this command in a source checkout.")
        arguments = list(options["given"])
        if options["what"] == "quality":
            arguments += [f"--{name}" for name in ("small", "engine") if options[name]]
            arguments += ["--encoder", options["encoder"]] if options["encoder"] else []
        with tempfile.TemporaryDirectory(prefix="flux-bench-") as folder:
            done = subprocess.run(
                [sys.executable, "-m", module, *arguments],
                env={**_clean(), "FLUX_HOME": folder, "FLUX_NAME": "bench"},
                stdout=subprocess.PIPE if rows or self.as_json else None,
                text=True,
                check=False,
            )
        if done.returncode:
            raise Invalid(f"{options['what']} could not be measured; the error is shown above.")
        if rows:
            self._show(json.loads(done.stdout.strip().splitlines()[-1]))
        elif self.as_json:
            self.answer({"printed": done.stdout})

    def _show(self, found: list[dict[str, Any]]) -> None:
        if self.as_json:
            self.answer({"rows": found})
            return
        self.table(
            ("measured", "ratio", "goal", "in numbers"),
            [(row["what"], _ratio(row), row.get("goal", ""), row["measured"]) for row in found],
            empty="Nothing was measured.",
        )


def _clean() -> dict[str, str]:
    """Environment without variables that would make a benchmark use an existing instance."""
    led = ("FLUX_", "DJANGO_")
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(led) and key not in ("DATABASE_URL", "REDIS_URL")
    }


def _ratio(row: dict[str, Any]) -> Text:
    relation, _, bound = row.get("goal", "").partition(" ")
    short = (relation == "≤" and row["ratio"] > float(bound)) or (relation == "≥" and row["ratio"] < float(bound))
    return Text(f"{row['ratio']:.3g}", style="red" if short else "green" if relation else "")
