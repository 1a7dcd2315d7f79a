"""A thousand hostile votes of one caller in one space: what they lower is bounded, one undo takes all of it back."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import reduce
from statistics import fmean

import pytest
import time_machine

from accounts import agents, tokens
from accounts.principals import shell
from benchmarks import lessons, service, spaces, variants
from benchmarks.made.__main__ import sets
from benchmarks.pupils import Service
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.arena.cache import arena_cache
from memory.grains.lifecycle import jobs as lifecycle_jobs
from memory.grains.models import Grain, Vote
from memory.learning import ledger

pytestmark = [pytest.mark.torture, pytest.mark.storage]
# Of different people: a question about one Emre has another answer for his namesake, and is no stranger to it.
CONVERSATIONS = (0, 3, 4, 5, 7)


@pytest.fixture
def standing():
    """Links fade with every second, and nearly equal scores change places by it: here no second passes."""
    with time_machine.travel("2030-01-07T08:00:00+00:00", tick=False):
        yield


def checksum(space: int) -> str:
    """Of every array of the space that votes can move, as this process has followed them."""
    found = hashlib.sha256()
    with arena_cache().arena(space) as (arena, _):
        index = arena.index
        learned = index.learned.arrays() if index.learned else {}
        own = {} if index.own is None else {"own": index.own.weights}
        for name, array in sorted({**index.graph.arrays(), **learned, **own}.items()):
            found.update(name.encode() + array.tobytes() if len(array) else b"")
    return found.hexdigest()[:16]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_caller_lowers_unrelated_answers_by_a_point_at_most_and_one_undo_restores_them(
    transactional_db, capsys, standing, seed
):
    (made,) = [one for one in sets(small=False) if one["name"] == "made-chats"]
    collection = reduce(variants.mixed, [made["collections"][at] for at in CONVERSATIONS])
    asked = lessons.asked_of(spaces.space("chats", collection, spaces.Vectors(None, None)))
    split = lessons.Split.of(asked, seed=seed)
    unrelated = [one for one in split.groups if one[0] == "unrelated"]
    memory = Service(service.stored("chats", 0, collection))
    first = [memory.ask(text) for _, text, _ in split.groups]
    space = memory.stored.person.space
    sums = [checksum(space)]
    before = fmean(lessons.measured(memory, unrelated)["unrelated"])

    lessons.attack(memory, split.judged, [item["id"] for item in collection["items"]], seed=seed)
    after = fmean(lessons.measured(memory, unrelated)["unrelated"])
    count = Vote.objects.filter(space=memory.stored.person.space, undone_at=None).count()
    sums.append(checksum(space))
    attacked = [memory.ask(text) for _, text, _ in split.groups]

    ledger.undo_votes(shell(), caller=memory.stored.person.actor)
    memory.settle()
    sums.append(checksum(space))
    with capsys.disabled():
        print(f"\n{count} hostile votes: {len(unrelated)} unrelated questions, nDCG {before:.2f} → {after:.2f}")
        print(f"arrays {' → '.join(sums)}")
    assert count >= lessons.HOSTILE_VOTES
    assert attacked != first
    assert sums[0] == sums[2] != sums[1]
    assert [memory.ask(text) for _, text, _ in split.groups] == first
    assert after >= before - 1.0


def test_what_one_agent_votes_against_stays_when_the_worker_looks_at_it(transactional_db, capsys, standing):
    """The votes of an agent on what a person stored, and then the rules that put grains away."""
    (made,) = [one for one in sets(small=False) if one["name"] == "made-chats"]
    collection = made["collections"][0]
    asked = lessons.asked_of(spaces.space("chats", collection, spaces.Vectors(None, None)))
    memory = Service(service.stored("chats", 0, collection))
    space = memory.stored.person.space
    agents.apply_agent(shell(), space="chats-0", name="mallory", capabilities=["grains.read", "grains.feedback"])
    minted = tokens.mint(shell(), space="chats-0", agent="mallory")
    mallory = Service(replace(memory.stored, person=tokens.authenticate(str(minted["token"]))))
    votes, turn = 0, 0
    while votes < lessons.HOSTILE_VOTES:
        turn += 1
        votes += sum(mallory.judge(f"{one.text} {turn}", [], one.evidence, caller=666) for one in asked)
    mallory.settle()
    _age(space)
    count = Vote.objects.filter(space=space, undone_at=None, useful=False).count()
    away = Grain.objects.filter(space=space, status="quarantined").count()
    with capsys.disabled():
        print(f"\n{count} votes of one agent against {len(asked)} answers: {away} grains quarantined")
    assert count >= lessons.HOSTILE_VOTES
    assert away == 0


def _age(space: int) -> None:
    booth.write(lambda: lifecycle_jobs.age(space))
    worker.drain()
