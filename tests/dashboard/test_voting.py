"""Votes of people on the Recall page: what they said, what it changed, and taken back."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator

import pytest

from memory.arena.cache import arena_cache
from memory.grains.models import Trace, Vote
from tests.dashboard.conftest import Person, post
from tests.dashboard.test_recall import cards, words
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage


@pytest.fixture
def memory(people_client, transactional_db) -> Iterator[Memory]:
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    found = Memory()
    found.store("Shall we take the ferry to Porto?", session="trip")
    found.store("Yes, the blue one at nine.", session="trip")
    found.drain()
    yield found
    for space in arena_cache().spaces():
        arena_cache().drop(space)


@pytest.fixture
def olga(memory):
    """An operator of the space, signed in."""
    return Person("olga", administrator=False, roles={"home": "operator"}).sign_in()


def asked(client) -> tuple[str, list[str]]:
    page = post(client, "/recall", query="Which ferry to Porto?")
    assert page.status_code == 200
    found = re.findall(r'data-grain="([0-9a-f-]{36})"', page.content.decode())
    return str(Trace.objects.order_by("-id").first().uuid), found


def test_a_person_says_what_was_useful_and_sees_what_it_changed(memory, olga):
    trace, grains = asked(olga)
    answer = post(olga, f"/recall/{trace}/vote", grain=grains[0], said="useful")
    assert (answer.status_code, answer["Location"]) == (302, f"/recall/{trace}#answer")
    page = olga.get(f"/recall/{trace}")
    assert "Your feedback: useful" in cards(page)[0] and "The worker will learn" in cards(page)[0]
    assert "Feedback saved." in words(page)
    memory.drain()
    first = cards(olga.get(f"/recall/{trace}"))[0]
    assert re.search(r"weight 0\.\d{3} → 0\.\d{3}", first) or "The query is remembered" in first
    assert "Was this useful?" in words(olga.get(f"/recall/{trace}"))


def test_it_can_be_turned_and_taken_back(memory, olga):
    trace, grains = asked(olga)
    post(olga, f"/recall/{trace}/vote", grain=grains[0], said="useful")
    post(olga, f"/recall/{trace}/vote", grain=grains[0], said="not-useful")
    assert "Your feedback: not useful" in cards(olga.get(f"/recall/{trace}"))[0]
    post(olga, f"/recall/{trace}/vote", grain=grains[0], said="back")
    assert "Your feedback" not in cards(olga.get(f"/recall/{trace}"))[0]
    assert Vote.objects.get().undone_by.startswith("user:")


def test_who_only_looks_is_not_asked_and_not_heard(memory):
    grace = Person("grace", administrator=False, roles={"home": "viewer"}).sign_in()
    trace, grains = asked(grace)
    assert "Was this useful?" not in words(grace.get(f"/recall/{trace}"))
    for fields in ({"grain": grains[0], "said": "useful"}, {"grain": "x", "said": "useful"}, {}):
        assert post(grace, f"/recall/{trace}/vote", **fields).status_code == 403
    assert not Vote.objects.exists()


def test_the_answers_of_others_are_theirs(memory, olga):
    trace = memory.ask("Which ferry to Porto?")["trace_id"]
    assert "Was this useful?" not in words(olga.get(f"/recall/{trace}"))
    grain = memory.ask("Which ferry to Porto?")["grains"][0]["id"]
    assert post(olga, f"/recall/{trace}/vote", grain=grain, said="useful").status_code == 404


@pytest.mark.parametrize("grain", ["", "x", "0" * 400, "7b9d6c1e-0000-4000-8000-000000000000"])
def test_a_grain_nobody_knows_is_no_error_of_ours(memory, olga, grain):
    trace, _ = asked(olga)
    assert post(olga, f"/recall/{trace}/vote", grain=grain, said="useful").status_code in (302, 404)
    assert post(olga, f"/recall/{trace}/vote", grain=grain, said="back").status_code in (302, 404)
    assert post(olga, f"/recall/{uuid.uuid4()}/vote", grain=grain, said="useful").status_code in (302, 404)
    assert not Vote.objects.exists()


def test_a_vote_is_a_form_of_its_own(memory, olga):
    trace, _ = asked(olga)
    assert olga.get(f"/recall/{trace}/vote").status_code == 405
