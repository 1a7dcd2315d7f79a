"""Concurrent writers of a process share commits, and only commits."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest

from accounts import audit
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import events, metrics
from fluxcore.errors import Invalid
from fluxcore.models import Event
from fluxcore.writes import booth
from memory.grains import store
from memory.grains.models import Grain

THREADS, EACH = 32, 10


def batches() -> tuple[int, int]:
    """Commits made and callers served by this process's booth so far."""
    found = {sample.name: sample.value for family in metrics.BATCH_SIZE.collect() for sample in family.samples}
    return int(found["flux_booth_batch_size_count"]), int(found["flux_booth_batch_size_sum"])


@pytest.fixture
def operator(threaded_booth: None) -> Any:
    from accounts import agents
    from accounts.models import Space

    agents.create_space(shell(), name="home")
    return shell(Space.objects.get(name="home"))


def test_all_writes_are_stored_in_fewer_commits_than_callers(operator: Any, in_threads: Any) -> None:
    before = batches()

    def writer(number: int) -> None:
        for turn in range(EACH):
            answer = store.store(operator, content=f"writer {number} says {turn}")
            assert answer["status"] == "stored"

    in_threads(THREADS, writer)
    commits, callers = (now - then for now, then in zip(batches(), before, strict=True))
    print(f"\ngroup commit: {callers} callers in {commits} commits ({callers / commits:.1f} a commit)")
    assert Grain.objects.count() == callers == THREADS * EACH
    assert commits <= callers / 2
    assert Event.objects.filter(kind="grain.stored").count() == THREADS * EACH
    sound(operator.chain, entries=THREADS * EACH)


def test_only_the_failing_caller_is_rolled_back(operator: Any, in_threads: Any) -> None:
    def writer(number: int) -> None:
        for turn in range(EACH):
            if (number + turn) % 3 == 0:
                with pytest.raises(Invalid):
                    booth.write(partial(fail_after_storing, f"doomed {number} {turn}"))
            else:
                store.store(operator, content=f"kept {number} {turn}")

    def fail_after_storing(text: str) -> None:
        store.store(operator, content=text)
        raise Invalid("changed my mind")

    in_threads(THREADS, writer)
    kept = sum((number + turn) % 3 != 0 for number in range(THREADS) for turn in range(EACH))
    assert Grain.objects.count() == kept
    assert not Grain.objects.filter(text__startswith="doomed").exists()
    assert Event.objects.filter(kind="grain.stored").count() == kept
    sound(operator.chain, entries=kept)


def test_a_follower_sees_every_stored_grain_once(operator: Any, in_threads: Any) -> None:
    start = events.head()
    in_threads(8, lambda number: [store.store(operator, content=f"{number} {turn}") for turn in range(EACH)])
    seen, position = [], start
    # An open transaction anywhere on the server, another test's say, holds the newest events back for a while.
    until = time.monotonic() + 30
    while len(seen) < 8 * EACH and time.monotonic() < until:
        found, position = events.follow(position)
        seen.extend(change.subject for change in found if change.kind == "grain.stored")
        if not found:
            time.sleep(0.05)
    assert sorted(seen) == sorted(str(grain.uuid) for grain in Grain.objects.all())


def sound(chain: str, *, entries: int) -> None:
    """The chain verifies and its numbers have no gap."""
    verdict = audit.verify(chain)
    assert verdict.sound, verdict
    assert verdict.entries == entries
    numbers = AuditEntry.objects.filter(chain=chain).order_by("seq").values_list("seq", flat=True)
    assert list(numbers) == list(range(1, entries + 1))
