"""32 writers at once: the write booth against a transaction for each."""

from __future__ import annotations

import json
import statistics
import threading
import time
from itertools import count
from typing import Any

from benchmarks.home import prepare

WRITERS, ROUNDS, SECONDS = 32, 5, 2.0


def throughput(principal: Any, mode: str, numbers: Any) -> float:
    """Stored grains a second with every writer sending one after the other."""
    from django.conf import settings
    from django.db import connection

    from fluxcore.errors import StorageUnavailable
    from memory.grains import store

    settings.BOOTH = mode
    stored, gate, stop = [0] * WRITERS, threading.Barrier(WRITERS + 1), threading.Event()

    def writer(me: int) -> None:
        gate.wait()
        while not stop.is_set():
            try:
                store.store(principal, content=f"benchmark {next(numbers)}")
                stored[me] += 1
            except StorageUnavailable:
                pass  # own transactions may starve on SQLite's lock; they count as nothing stored
        connection.close()

    threads = [threading.Thread(target=writer, args=(me,)) for me in range(WRITERS)]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    time.sleep(SECONDS)
    stop.set()
    done, spent = sum(stored), time.perf_counter() - began
    for thread in threads:
        thread.join()
    return done / spent


def main() -> None:
    prepare()
    from django.db import connection

    from accounts.models import Space
    from accounts.principals import shell

    principal, numbers = shell(Space.objects.get()), count()
    throughput(principal, "thread", numbers)
    booth, own = [], []
    for _ in range(ROUNDS):
        own.append(throughput(principal, "inline", numbers))
        booth.append(throughput(principal, "thread", numbers))
    ratio = statistics.median(ours / theirs for ours, theirs in zip(booth, own, strict=True))
    print(
        json.dumps(
            [
                {
                    "what": f"write booth ÷ own transactions, {WRITERS} writers",
                    "ratio": ratio,
                    "goal": "≥ 2" if connection.vendor == "sqlite" else "",
                    "measured": f"{statistics.median(booth):.0f} ÷ {statistics.median(own):.0f} grains/s, "
                    "durability full",
                    "rounds": {"booth": booth, "own": own},
                }
            ]
        )
    )


if __name__ == "__main__":
    main()
