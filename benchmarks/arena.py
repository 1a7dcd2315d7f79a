"""An arena's warm-up and memory: opening from files against building from SQL, bytes a grain, cost of a look.

`python -m benchmarks.arena [GRAINS ...]`; without numbers 10,000 grains, and as many as have a million conduits.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.home import prepare

SIZES, DEGREE, DIMENSION, ENCODER, ENTRIES = (10_000, 112_000), 9, 256, "bench-256", 3_000
CHUNK = 2_000


def texts(count: int, chance: np.random.Generator) -> Iterator[str]:
    """8 to 24 words of a language of 50,000, its common ones common."""
    letters = itertools.product("bdfgklmnprst", "aeiou", "bdfgklmnprst", "aeiou", "bdfgklmnprst")
    vocabulary = ["".join(word) for word in itertools.islice(letters, 50_000)]
    chance.shuffle(vocabulary)
    odds = 1 / np.arange(2.7, len(vocabulary) + 2.7)
    odds = np.cumsum(odds / odds.sum())
    for _ in range(count):
        words = np.minimum(np.searchsorted(odds, chance.random(int(chance.integers(8, 25)))), len(vocabulary) - 1)
        yield " ".join(vocabulary[at] for at in words)


def fill(space: int, count: int) -> None:
    """Grains, vectors, entries and conduits as the store leaves them, in raw statements."""
    from django.db import connection, transaction

    chance = np.random.default_rng(7)
    moment = "2026-11-16 12:00:00"
    made = texts(count, chance)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO grains_entry (space_id, kind, feature) VALUES (%s, 'name', %s)",
            [(space, f"name {number}") for number in range(ENTRIES)],
        )
        cursor.execute("SELECT min(id) FROM grains_entry WHERE space_id = %s", [space])
        first_entry = cursor.fetchone()[0]
        cursor.execute("SELECT COALESCE(max(id), 0) + 1 FROM grains_grain")
        first = cursor.fetchone()[0]
        for start in range(0, count, CHUNK):
            batch = list(itertools.islice(made, CHUNK))
            cursor.executemany(
                "INSERT INTO grains_grain (id, uuid, space_id, text, digest, origin, status, writer, label, "
                "corroborations, session, ordinal, speaker, recorded_at) VALUES "
                "(%s, %s, %s, %s, %s, 'ai_stated', 'active', 'bench', '', 0, %s, %s, %s, %s)",
                [
                    (
                        first + at,
                        f"{space:08x}{at:024x}",
                        space,
                        text,
                        hashlib.sha256(f"{at}".encode()).hexdigest(),
                        f"s{at // 20}",
                        at % 20,
                        ("Ann", "Bob")[at % 2],
                        moment,
                    )
                    for at, text in enumerate(batch, start)
                ],
            )
            vectors = chance.integers(-127, 128, (len(batch), DIMENSION), np.int8)
            cursor.executemany(
                "INSERT INTO grains_vector (space_id, grain_id, encoder, dimension, scale, data) "
                "VALUES (%s, %s, %s, %s, %s, %s)",
                [
                    (space, first + start + at, ENCODER, DIMENSION, 0.0008, vectors[at].tobytes())
                    for at in range(len(batch))
                ],
            )
            to = first + np.repeat(np.arange(start, start + len(batch)), DEGREE)
            place = np.tile(np.arange(DEGREE), len(batch))
            # Back to earlier ones only: a link to a grain that comes later makes SQLite look for it at each grain.
            begin = first + chance.integers(0, start + len(batch), len(to))
            entry = first_entry + (to * 7 + place * 13) % ENTRIES
            rows = zip(place.tolist(), entry.tolist(), begin.tolist(), to.tolist(), strict=True)
            cursor.executemany(
                "INSERT INTO grains_conduit (space_id, from_entry_id, from_grain_id, to_grain_id, relation, weight, "
                "decay_class, made_at, used_at) VALUES (%s, %s, %s, %s, 0, %s, 0, 1700000000, 1700000000) "
                "ON CONFLICT DO NOTHING",
                [
                    (space, one if at < 3 else None, None if at < 3 else other, grain, 0.1 + at / 20)
                    for at, one, other, grain in rows
                ],
            )


def cpu(work: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """Median seconds of the process's own time, and what came out."""
    spent, found = [], None
    for _ in range(rounds):
        began = time.process_time()
        found = work()
        spent.append(time.process_time() - began)
    return sorted(spent)[len(spent) // 2], found


def measure(count: int) -> list[dict[str, Any]]:
    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from memory.arena import coherence, files
    from memory.arena.build import build_arena

    agents.create_space(shell(), name=f"of-{count}")
    space = Space.objects.get(name=f"of-{count}").pk
    fill(space, count)
    building, arena = cpu(lambda: build_arena(space, ENCODER))
    conduits, each = arena.index.graph.size, arena.nbytes / count
    writing, _ = cpu(lambda: files.write_generation(arena))
    opening, opened = cpu(lambda: files.open_newest(space, ENCODER), 5)
    look, _ = cpu(lambda: [coherence.catch_up(opened) for _ in range(1000)])
    return [
        {
            "what": f"open an arena of {count:,} grains from files",
            "ratio": opening / building,
            "goal": "≤ 0.05" if conduits >= 1_000_000 else "",
            "measured": f"{1000 * opening:.1f} ms / {1000 * building:.0f} ms to build, {conduits:,} conduits; "
            f"{1000 * writing:.0f} ms to write",
        },
        {
            "what": f"bytes of a grain among {count:,}, of 800",
            "ratio": each / 800,
            "goal": "≤ 1",
            "measured": f"{each:.0f} bytes, {DIMENSION} dimensions, {conduits / count:.1f} conduits",
        },
        {
            "what": f"a look at the log, {count:,} grains",
            "ratio": look / (1000 * opening),
            "goal": "",
            "measured": f"{1000 * look:.0f} µs",
        },
    ]


def main() -> None:
    prepare()
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    print(json.dumps([row for size in sizes for row in measure(size)]))


if __name__ == "__main__":
    main()
