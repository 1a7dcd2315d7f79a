"""Importing ten thousand grains against storing the same ones in batches, in CPU time per grain."""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.home import prepare
from benchmarks.store import BATCH, cpu, turns

GRAINS, ROUNDS = 10_000, 3


def main() -> None:
    prepare()
    from django.conf import settings

    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from memory.grains import store
    from memory.transfer import formats
    from memory.transfer.importer import import_source

    settings.BOOTH = "inline"
    principals: dict[str, Any] = {}
    for name in ("moved", "stored"):
        agents.create_space(shell(), name=name)
        principals[name] = shell(Space.objects.get(name=name))

    def moved(file: Path) -> None:
        for told in import_source(principals["moved"], formats.read(file), provenance=None, dry=False):
            assert all(one.status == "stored" for one in told)

    def stored(given: list[dict[str, Any]]) -> None:
        for start in range(0, len(given), BATCH):
            store.store_batch(principals["stored"], items=given[start : start + BATCH])

    rounds: dict[str, list[float]] = {"moved": [], "stored": []}
    share = GRAINS // ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            given = turns(number, share)
            file = Path(folder) / f"{number}.jsonl"
            lines = [{"flux_export": 1, "grains": share, "links": 0}, *({"grain": one} for one in given)]
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            # By turns, so that both spaces have grown alike.
            rounds["stored"].append(cpu(lambda: stored(given), share))  # noqa: B023
            rounds["moved"].append(cpu(lambda: moved(file), share))  # noqa: B023
    ours, theirs = statistics.median(rounds["moved"]), statistics.median(rounds["stored"])
    print(
        json.dumps(
            [
                {
                    "what": f"import of {GRAINS} ÷ store in batches of {BATCH}, per grain",
                    "ratio": statistics.median(one / other for one, other in zip(*rounds.values(), strict=True)),
                    "goal": "≤ 1.1",
                    "measured": f"{ours * 1e6:.0f} ÷ {theirs * 1e6:.0f} µs CPU a grain",
                    "rounds": rounds,
                }
            ]
        )
    )


if __name__ == "__main__":
    main()
