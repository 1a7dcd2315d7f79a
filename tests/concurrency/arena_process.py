"""A process that writes into a space, or one that reads it through an arena of its own.

python -m tests.concurrency.arena_process write SPACE COUNTER COMMITS
python -m tests.concurrency.arena_process read SPACE COUNTER COMMITS (build | write-files | open-files)

The writer notes in COUNTER, a shared page, how many commits it has made. A reader looks at the counter, then
at its arena: a commit that was counted must be in it. Both end with a line of JSON.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import struct
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")

import django

django.setup()

from django.db import connection, transaction  # noqa: E402

from fluxcore import clock, events  # noqa: E402
from fluxcore.writes import booth, write_locks  # noqa: E402
from memory.arena import cache as shelves  # noqa: E402
from memory.arena import files  # noqa: E402
from memory.arena.build import build_arena  # noqa: E402
from memory.arena.changes import Changes  # noqa: E402
from memory.grains.models import Conduit, Grain  # noqa: E402
from tests.arena.canonical import arena_checksum  # noqa: E402
from tests.arena.graph_writer import ENCODER, GraphWriter  # noqa: E402

PATIENCE_SECONDS = 120.0


class Counter:
    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self.page = mmap.mmap(file.fileno(), 8)

    def read(self) -> int:
        return int(struct.unpack("<q", self.page[:8])[0])

    def set(self, value: int) -> None:
        self.page[:8] = struct.pack("<q", value)


def write(space: int, counter: Counter, commits: int) -> dict[str, object]:
    scribe, chance = GraphWriter(space), random.Random(11)
    grains: list[Grain] = []
    links: list[Conduit] = []

    def commit(number: int) -> None:
        grain = scribe.grain(f"number {number} of {number % 13}", session=f"s{number % 7}", ordinal=number)
        grains.append(grain)
        if number % 3:
            scribe.vector(grain)
        made = [scribe.conduit(grain, entry=f"name {number % 11}")]
        if len(grains) > 1:
            made.append(scribe.conduit(grain, start=chance.choice(grains[:-1]), weight=0.5))
        changed = []
        for link in chance.sample(links, min(5, len(links))):
            link.weight = round(chance.uniform(0.05, 0.95), 3)
            link.used_at += number
            link.save(update_fields=["weight", "used_at"])
            changed.append(link)
        cut = []
        if number % 17 == 0 and links:
            lost = links.pop(chance.randrange(len(links)))
            changed = [link for link in changed if link is not lost]
            cut.append(lost.pk)
            lost.delete()
        other = chance.choice(grains)
        Grain.objects.filter(pk=other.pk).update(
            status=chance.choice(["active", "dormant", "archived"]), confidence=round(chance.random(), 3)
        )
        links.extend(made)
        scribe.tell(grains=[grain.pk, other.pk], conduits=[*made, *changed], cut=cut)

    done = threading.Event()
    straggler = threading.Thread(target=straggle, args=[scribe, done])
    if connection.vendor == "postgresql":
        straggler.start()
    for number in range(1, commits + 1):
        booth.write(lambda number=number: commit(number), lock=write_locks.lock_name(space))
        counter.set(number)
        time.sleep(chance.uniform(0, 0.004))
    done.set()
    if straggler.ident is not None:
        straggler.join()
    counter.set(commits + 1)
    return {"commits": commits}


def straggle(scribe: GraphWriter, done: threading.Event) -> None:
    """Transactions that take their number early and commit late, beside the writer's."""
    number = 0
    while not done.is_set():
        number += 1
        with transaction.atomic():
            grain = scribe.grain(f"straggler {number}", ordinal=0)
            packed = Changes((grain.pk,)).pack()
            events.write([(scribe.space, "test.late", clock.now(), "test", "test", {}, packed)])
            time.sleep(0.03)
    connection.close()


def read(space: int, counter: Counter, commits: int, way: str) -> dict[str, object]:
    shelf = shelves.arena_cache()
    late, looks, seen = [], 0, 0
    wrote = opened = False
    until = time.monotonic() + PATIENCE_SECONDS
    while seen <= commits:
        assert time.monotonic() < until, f"only {seen} commits came"
        counted = counter.read()
        with shelf.arena(space) as (arena, rung):
            assert arena is not None and rung == "warm", rung
            newest = int(arena.index.column("ordinal").max()) if arena.index.size else 0
        looks += 1
        if newest < min(counted, commits):
            late.append((counted, newest))
        seen = counted
        if way == "write-files" and counted > commits // 4 and not wrote:
            shelf.write(space)
            wrote = True
        if way == "open-files" and counted > commits // 2 and not opened and files.newest_generation(space):
            shelf.drop(space)
            with shelf.arena(space) as (arena, _):
                opened = arena.generation > 0
        time.sleep(0.02)
    with shelf.arena(space) as (arena, _):
        return {
            "late": late,
            "looks": looks,
            "checksum": arena_checksum(arena),
            "size": arena.index.size,
            "generation": arena.generation,
            "fresh": arena_checksum(build_arena(space, ENCODER)),
        }


def main() -> None:
    role, space, counter, commits, *way = sys.argv[1:]
    shelves.encoder_name = lambda: ENCODER
    shared = Counter(Path(counter))
    found = (write if role == "write" else read)(int(space), shared, int(commits), *way)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
