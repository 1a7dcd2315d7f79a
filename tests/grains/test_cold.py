"""The rung without an arena: full text and a hop answer in its place, and the answer says so."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.arena import cache as shelves
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


@pytest.fixture
def cold(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """No arena can be had, as while a large space is read for the first time."""
    monkeypatch.setattr(shelves.ArenaCache, "_get_or_open", lambda self, space: None)
    return memory


def test_it_answers_by_words_and_names_the_rung(cold: Memory) -> None:
    cold.store("The ferry to Naxos leaves at nine")
    cold.store("Bread is baked at six")
    answer = cold.ask("When does the ferry leave?")
    assert answer["rung"] == "cold"
    assert [grain["content"] for grain in answer["grains"]] == ["The ferry to Naxos leaves at nine"]


def test_it_follows_one_hop(cold: Memory) -> None:
    cold.store("What do you do for a living, Maria?", session="talk")
    cold.store("I restore old clocks", session="talk")
    assert "I restore old clocks" in cold.texts("What does Maria do for a living?")


def test_it_keeps_to_the_bounds_and_to_its_space(cold: Memory) -> None:
    Memory("elsewhere").store("The ferry to Paros leaves at ten")
    cold.store("The ferry to Naxos leaves at nine", tags=["sea"])
    cold.store("The ferry was late")
    assert cold.texts("ferry", tags=["sea"]) == ["The ferry to Naxos leaves at nine"]
    assert len(cold.texts("ferry", k=10)) == 2


def test_it_says_the_same_as_an_arena_where_there_is_little(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        memory.store(f"Report {number} on the harbour by team {number % 4}", session=f"s{number % 3}")
    warm = memory.texts("report of team 3 on the harbour", k=3)
    monkeypatch.setattr(shelves.ArenaCache, "_get_or_open", lambda self, space: None)
    assert memory.texts("report of team 3 on the harbour", k=3) == warm


def test_it_makes_four_statements_and_leaves_a_receipt(cold: Memory) -> None:
    for number in range(30):
        cold.store(f"Report {number} on the harbour by team {number % 4}", session=f"s{number % 3}")
    cold.ask("harbour")  # once in ten seconds a recall also has the worker look back at questions
    with CaptureQueriesContext(connection) as sent:
        cold.ask("report of team 3 on the harbour in 2024")
    statements = [one["sql"] for one in sent if not one["sql"].startswith(_TRANSACTION)]
    written = [one for one in statements if "INSERT INTO" in one]
    kept = ("grains_trace", "grains_recalled", "fluxcore_event")
    assert [any(name in one for one in written) for name in kept] == [True] * 3
    assert len(written) == 3, "\n".join(written)
    read = [one for one in statements if one.lstrip("( ").startswith("SELECT") and "grains_trace" not in one]
    assert len(read) == 4, "\n".join(read)


def test_nothing_at_all_is_an_answer_too(cold: Memory) -> None:
    answer = cold.ask("anything")
    assert (answer["grains"], answer["confidence"], answer["rung"]) == ([], 0.0, "cold")
