"""Write the generated sets as files: `python -m benchmarks.made FOLDER`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.made.assistant import assistant
from benchmarks.made.conversations import conversation
from benchmarks.made.languages import tongue
from benchmarks.made.notes import notes
from benchmarks.made.passages import passages

MIXED = (("de",), ("fr",), ("es",), ("zh",), ("de", "fr"), ("es", "zh"), ("de", "fr", "es", "zh"), ("fr", "zh"))


def sets(seed: int = 1, *, small: bool = False) -> list[dict[str, Any]]:
    """Five sets of different shape; small: one or two collections of each, for a smoke run."""
    made = {
        "made-chats": [
            conversation(
                n, seed=seed, sessions=6 if small else 14 + 2 * (n % 5), events=12 if small else 30 + 5 * (n % 4)
            )
            for n in range(2 if small else 8)
        ],
        "made-passages": [passages(n, seed=seed, groups=8 if small else 16 + 12 * n) for n in range(1 if small else 4)],
        "made-assistant": [assistant(n, seed=seed, exchanges=20 if small else 90) for n in range(1 if small else 6)],
        "made-notes": [notes(n, seed=seed, count=60 if small else 160 + 80 * n) for n in range(1 if small else 5)],
        "made-languages": [
            tongue(n, *MIXED[n], seed=seed, count=80 if small else 160)
            for n in ((2, 3) if small else range(len(MIXED)))
        ],
    }
    return [{"name": name, "collections": [one.plain() for one in found]} for name, found in made.items()]


def main(folder: str, seed: int = 1) -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for one in sets(seed):
        (target / f"{one['name']}.json").write_text(json.dumps(one, ensure_ascii=False), "utf-8")
        print(
            one["name"],
            len(one["collections"]),
            sum(len(c["items"]) for c in one["collections"]),
            sum(len(c["queries"]) for c in one["collections"]),
        )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
