"""The wall clock is set ahead and back while everything that comes round comes round: nothing is lost, ever."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from accounts.principals import shell
from fluxcore.models import Job
from fluxcore.work.sweep import sweep_and_run
from fluxcore.writes import booth, idempotency
from memory.grains.lifecycle import verbs
from tests.grains.conftest import memory  # noqa: F401  a fixture
from tests.grains.lifecycle.conftest import NOON, life  # noqa: F401  a fixture
from tests.grains.lifecycle.test_clock import rows

pytestmark = pytest.mark.torture

GRAINS, MARKED = 1_000, 50
JUMPS = {
    "a second": timedelta(seconds=1),
    "an hour": timedelta(hours=1),
    "back an hour": timedelta(hours=-1),
    "a month": timedelta(days=31),
    "ten years": timedelta(days=3650),
    "back a year": timedelta(days=-365),
    "leap day": datetime(2028, 2, 29, 12, tzinfo=UTC) - NOON,
    "the end of 32 bits": datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC) - NOON,
    "a hundred years": timedelta(days=36_500),
    "the epoch": datetime(1971, 1, 1, tzinfo=UTC) - NOON,
}


def test_a_thousand_grains_through_ten_jumps_there_and_back(life, configure) -> None:  # noqa: F811
    configure(MAX_GRAINS_PER_MINUTE=100_000)
    remembered = life.memory
    grains = [
        remembered.store(
            f"Fact {number}: ferry {number} to Porto leaves at {number % 24}",
            provenance="ai_stated",
            session=f"s{number % 40}",
        )
        for number in range(GRAINS)
    ]
    booth.write(lambda: idempotency.run_once("somebody", "a key", ["asked"], lambda: {"answer": 1}))
    while remembered.drain() or Job.objects.filter(state="queued", due_at__lte=datetime.now(UTC)).exists():
        pass
    for number in range(20):
        answer = remembered.ask(f"when does ferry {number * 7} leave")
        remembered.vote(answer["trace_id"], answer["grains"][0]["id"], number % 3 > 0)
    for grain in grains[:MARKED]:
        verbs.delete(shell(), grain=grain)
    remembered.drain()
    sweep_and_run()
    life.rounds("notice")
    before = rows()

    def lost() -> dict[str, set[object]]:
        """Rows that were there, by table; what a question adds is welcome, a step in a grain's life is not."""
        now = rows()
        gone = {table: set(known) - set(now[table]) for table, known in before.items()}
        return {table: some for table, some in gone.items() if some} | (
            {} if now["Transition"] == before["Transition"] else {"Transition": set(now["Transition"])}
        )

    asked = [grain["score"] for grain in remembered.ask("when does ferry 700 leave")["grains"]]
    minute = 0
    for name, jump in JUMPS.items():
        for moment in (NOON + jump, NOON + jump + timedelta(minutes=1), NOON + timedelta(minutes=minute + 1)):
            minute += 1
            life.jump(moment)
            sweep_and_run()
            life.rounds()
            assert lost() == {}, name
            found = remembered.ask("when does ferry 700 leave")["grains"]
            assert found and all(math.isfinite(one["score"]) and 0 <= one["score"] <= 1 for one in found), name
    assert [grain["score"] for grain in found] == pytest.approx(asked, abs=1e-3)
    assert not Job.objects.filter(state="parked").exists()
    for grain in grains[:MARKED]:
        assert verbs.undelete(shell(), grain=grain)["status"] == "active"
