"""Hostile votes of one caller, hundreds in a space: what they lower is bounded, and one undo takes all of it back."""

from __future__ import annotations

from statistics import fmean

import pytest
import time_machine

from accounts.principals import shell
from benchmarks import lessons, service, spaces
from benchmarks.made.__main__ import sets
from benchmarks.pupils import Service
from memory.grains.learning import ledger
from memory.grains.models import Vote

pytestmark = [pytest.mark.torture, pytest.mark.storage]
COLLECTIONS = 3


@pytest.fixture
def standing():
    """Links fade with every second, and nearly equal scores change places by it: here no second passes."""
    with time_machine.travel("2030-01-07T08:00:00+00:00", tick=False):
        yield


def test_one_caller_lowers_unrelated_answers_by_a_point_at_most_and_one_undo_restores_them(
    transactional_db, capsys, standing
):
    (made,) = [one for one in sets(small=False) if one["name"] == "made-chats"]
    before: list[float] = []
    after: list[float] = []
    count = 0
    for number, collection in enumerate(made["collections"][:COLLECTIONS]):
        asked = lessons.asked_of(spaces.space("chats", collection, spaces.Vectors(None, None)))
        split = lessons.Split.of(asked, seed=1)
        unrelated = [one for one in split.groups if one[0] == "unrelated"]
        memory = Service(service.stored("chats", number, collection))
        first = [memory.ask(text) for _, text, _ in split.groups]
        before += lessons.measured(memory, unrelated)["unrelated"]
        lessons.attack(memory, split.judged, [item["id"] for item in collection["items"]], seed=1)
        after += lessons.measured(memory, unrelated)["unrelated"]
        count += Vote.objects.filter(space=memory.stored.person.space, undone_at=None).count()
        ledger.undo(shell(), caller=memory.stored.person.actor)
        memory.settle()
        assert [memory.ask(text) for _, text, _ in split.groups] == first
    with capsys.disabled():
        print(f"\n{count} hostile votes: unrelated nDCG {fmean(before):.2f} → {fmean(after):.2f}")
    assert fmean(after) >= fmean(before) - 1.0
