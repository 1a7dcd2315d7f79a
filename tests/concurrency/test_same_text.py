"""Many writers of one text at the same moment make one grain, and all others corroborate it."""

from __future__ import annotations

from collections import Counter

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import on_fleets
from tests.concurrency.load import Call, fire


@on_fleets("sqlite", "postgres")
def test_one_text_from_several_agents_is_one_grain(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    tokens = [fleet.agent()[1] for _ in range(4)]
    calls = [
        Call(tokens[(number + turn) % 4], {"content": f"everybody knows {number}"})
        for number in range(60)
        for turn in range(4)
    ]
    replies = fire(fleet.instance, calls, threads=32)
    assert Counter(reply.status for reply in replies) == {200: 240}, Counter(
        reply.body for reply in replies if reply.status != 200
    )
    assert Counter(reply.json()["status"] for reply in replies) == {"stored": 60, "corroborated": 180}
    assert len({reply.json()["grain_id"] for reply in replies}) == 60
