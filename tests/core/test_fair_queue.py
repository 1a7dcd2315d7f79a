"""Fair queue and fair shares by space and agent."""

from __future__ import annotations

import threading

import pytest

from fluxcore import fair_queue as module
from fluxcore.fair_queue import FairQueue, FairShares


@pytest.fixture(autouse=True)
def nobody_was_served(monkeypatch):
    """Those of the test before would count as served for another second."""
    monkeypatch.setattr(module, "_served", {})


@pytest.fixture
def rests(monkeypatch):
    """The rests that were taken, in seconds."""
    found = []
    monkeypatch.setattr(module.time, "sleep", found.append)
    return found


def granted(turns):
    return [turn.caller for turn in turns if turn.granted]


def test_one_agent_never_holds_all_places_and_another_finds_one_at_once():
    places = FairQueue(3)
    flood = [places.join("alpha", "evil") for _ in range(40)]
    assert len(granted(flood)) == 2
    other = places.join("beta", "good")
    assert other.granted
    other.leave()
    assert len(granted(flood)) == 2  # the place stays free for the next one who comes alone
    assert FairQueue(1).join("alpha", "evil").granted  # unless there is only one


def test_free_places_go_to_spaces_in_turn_and_in_each_to_its_agents():
    places = FairQueue(1)
    holder = places.join("alpha", "a")
    line = [places.join("alpha", "a") for _ in range(3)] + [places.join("alpha", "b"), places.join("beta", "c")]
    line += [places.join("beta", "c")]
    order = []
    for _ in range(6):
        holder.leave()
        (holder,) = (turn for turn in line if turn.granted)
        line.remove(holder)
        order.append(holder.caller)
    assert order[:4] == [("alpha", "a"), ("beta", "c"), ("alpha", "b"), ("beta", "c")]
    assert order[4:] == [("alpha", "a")] * 2


def test_the_space_with_fewer_places_is_served_first():
    places = FairQueue(3)
    first, _, third = places.join("alpha", "a"), places.join("alpha", "b"), places.join("beta", "c")
    waiting = [places.join("alpha", "d"), places.join("beta", "e")]
    first.leave()
    assert granted(waiting) == [("alpha", "d")]  # one each: who came first
    third.leave()
    assert granted(waiting) == [("alpha", "d"), ("beta", "e")]


def test_while_others_are_served_an_agent_has_one_place_and_pauses(rests, monkeypatch):
    places, shares = FairQueue(3), FairShares(96)
    shares.take("alpha", "evil")
    flood = [places.join("alpha", "evil") for _ in range(5)]
    assert len(granted(flood)) == 2
    places.rest("alpha", "evil", 0.1)
    assert rests == []  # it is alone
    shares.take("beta", "good")
    flood[0].leave()
    assert len(granted(flood)) == 2 and len(granted(flood[1:])) == 1
    places.rest("alpha", "evil", 0.1)
    places.rest("alpha", "evil", 10.0)
    places.rest("beta", "good", 0.1)  # has nothing in line
    assert rests == [0.1, module.MOST_REST_SECONDS]
    monkeypatch.setattr(module, "LATELY_SECONDS", 0.0)
    flood[1].leave()
    assert len(granted(flood)) == 4  # alone again


def test_agents_that_were_not_served_lately_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "LATELY_SECONDS", 0.0)
    for number in range(module._MANY + 2):
        module.note_served(("alpha", number))
    assert len(module._served) <= 2


def test_callers_that_gave_up_or_left_are_forgotten():
    places = FairQueue(1)
    holder, late = places.join("alpha", "a"), places.join("beta", "b")
    assert not late.wait(0.001)
    late.leave()
    holder.leave()
    with places.place("gamma", "c", 0.0) as given:
        assert given
    assert not places._held and not places._held_by_space and not places._waiting


def test_threads_take_turns_and_all_of_them_are_served():
    places, most, now, lock = FairQueue(3), 0, 0, threading.Lock()

    def work(agent):
        nonlocal most, now
        for _ in range(50):
            with places.place("alpha", agent, 30) as given:
                assert given
                with lock:
                    now += 1
                    most = max(most, now)
                with lock:
                    now -= 1

    threads = [threading.Thread(target=work, args=(number % 4,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert now == 0 and 1 <= most <= 3 and not places._held


def test_an_agent_gets_at_most_half_and_a_space_two_thirds_of_the_places():
    shares = FairShares(96)
    assert sum(shares.take("alpha", "evil") for _ in range(100)) == 48
    assert sum(shares.take("beta", "worse") for _ in range(100)) == 24  # of the 48 that were left
    assert shares.take("gamma", "good")
    crowded = FairShares(90)
    assert sum(crowded.take("alpha", number) for number in range(100)) == 60  # a space holds two thirds
    assert crowded.take("beta", "good")
    crowded.leave("beta", "good")
    for number in range(60):
        crowded.leave("alpha", number)
    assert not crowded._held and not crowded._held_by_space
