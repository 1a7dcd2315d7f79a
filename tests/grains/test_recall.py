"""What recall promises: the right grain, within the bounds that were asked for, once, with a trace."""

from __future__ import annotations

import uuid
from itertools import permutations
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Space
from accounts.principals import shell
from flux.service import FluxService
from flux.storage import FluxStore
from fluxcore import clock
from fluxcore.errors import Invalid, RateLimited
from memory.arena.cache import arena_cache
from memory.grains import hydrate, store
from memory.grains.models import Grain
from memory.grains.sizes import QUERY_BYTES
from memory.recall import explain, recall
from memory.recall.results import SearchHit
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def test_a_question_in_other_words_finds_its_grain(memory: Memory) -> None:
    memory.store("Anna works as a nurse in Lisbon")
    memory.store("Ben cooks mushroom risotto on Sundays")
    memory.drain()
    assert memory.texts("what is cooked on a Sunday")[0].startswith("Ben")


def test_the_next_recall_sees_what_was_just_stored(memory: Memory) -> None:
    for number in range(5):
        memory.store(f"The code of door {number} is {number * 1111}")
        assert f"door {number} is" in memory.texts(f"code of door {number}")[0]


def test_what_is_not_encoded_yet_stands_behind_no_other_for_that(memory: Memory) -> None:
    """The worker makes a vector a moment after the store; until then the words alone tell how well it fits."""
    for place in ("back door", "cellar", "garden gate", "attic", "boat house"):
        memory.store(f"The code of the {place} is {len(place)}111")
    memory.drain()
    memory.store("The code of the garden shed is 7777")
    answer = memory.ask("What is the code of the garden shed?")
    assert (answer["rung"], answer["vectors_missing"]) == ("encoding", 1)
    assert answer["grains"][0]["content"].startswith("The code of the garden shed")


def test_an_answer_holds_at_most_k_and_nothing_below_min_score(memory: Memory) -> None:
    for number in range(12):
        memory.store(f"Train {number} leaves for Porto" + " and calls at a small station" * number)
    assert len(memory.texts("trains to Porto", k=3)) == 3
    scores = [grain["score"] for grain in memory.ask("trains to Porto", k=12)["grains"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    floor = scores[3]
    kept = memory.ask("trains to Porto", k=12, min_score=floor)["grains"]
    assert {grain["score"] >= floor for grain in kept} == {True}
    assert len(kept) < 12


def test_nonsense_gets_nothing_and_no_confidence(memory: Memory) -> None:
    memory.store("Anna works as a nurse in Lisbon")
    memory.drain()
    answer = memory.ask("qwxzv plkjh zzzyy")
    assert (answer["grains"], answer["confidence"]) == ([], 0.0)


def test_operators_of_search_engines_are_plain_words(memory: Memory) -> None:
    memory.store("Anna works as a nurse in Lisbon")
    for query in ('Anna" OR 1=1 --', "Anna AND (NOT nurse)", "Anna* NEAR/2 nurse", "text:Anna ^nurse", "{Anna} - + ~"):
        assert memory.texts(query) == ["Anna works as a nurse in Lisbon"]


def test_another_space_is_never_in_the_answer(memory: Memory) -> None:
    other = Memory("elsewhere")
    other.store("Anna's secret is the blue door")
    memory.store("Anna works as a nurse")
    assert memory.texts("Anna's secret blue door") == ["Anna works as a nurse"]


def test_sessions_tags_and_times_bound_the_answer(memory: Memory) -> None:
    memory.store("We talked about the harbour", session="one", tags=["sea"], time="2024-03-01T10:00:00Z")
    memory.store("The harbour was closed", session="two", tags=["sea", "work"], time="2025-03-01T10:00:00Z")
    assert memory.texts("harbour", sessions=["two"]) == ["The harbour was closed"]
    assert memory.texts("harbour", tags=["sea", "work"]) == ["The harbour was closed"]
    assert memory.texts("harbour", tags=["nothing"]) == []
    assert memory.texts("harbour", until="2024-12-31T00:00:00Z") == ["We talked about the harbour"]
    assert memory.texts("harbour", since="2025-03-01T10:00:00Z") == ["The harbour was closed"]


def test_an_origin_floor_leaves_out_what_has_less_authority(memory: Memory) -> None:
    memory.store("The gate code is 1234", provenance="user_stated")
    memory.store("The gate code may be 9999", provenance="ai_inferred")
    assert memory.texts("gate code", origin_floor="ai_stated") == ["The gate code is 1234"]


def test_as_of_answers_from_what_was_valid_then(memory: Memory) -> None:
    memory.store("The rent is 800 euro", valid_from="2023-01-01T00:00:00Z", valid_to="2024-01-01T00:00:00Z")
    memory.store("The rent is 900 euro", valid_from="2024-01-01T00:00:00Z")
    assert memory.texts("what is the rent") == ["The rent is 900 euro"]
    assert memory.texts("what is the rent", as_of="2023-06-01T00:00:00Z") == ["The rent is 800 euro"]
    assert memory.texts("what is the rent", as_of="2024-01-01T00:00:00Z") == ["The rent is 900 euro"]
    assert memory.texts("what is the rent", as_of="2020-01-01T00:00:00Z") == []


def test_what_had_ended_before_it_was_said_answers_as_of_an_earlier_moment(memory: Memory) -> None:
    """It had a beginning that nobody told; said only afterwards, it would otherwise never be found again."""
    memory.store("Bo lived in Oslo", time="2026-03-02T09:00:00Z", valid_to="2020-01-01T00:00:00Z")
    assert memory.texts("Where did Bo live?", as_of="2019-06-01T00:00:00Z") == ["Bo lived in Oslo"]
    for at in ("2020-01-01T00:00:00Z", "2026-03-02T09:00:00Z"):
        assert memory.texts("Where did Bo live?", as_of=at) == []


def test_what_has_faded_answers_last_and_what_is_locked_away_only_on_request(memory: Memory) -> None:
    for text, status in (("alive", "active"), ("asleep", "dormant"), ("put away", "archived"), ("bad", "quarantined")):
        grain = memory.store(f"The lighthouse keeper is {text}")
        Grain.objects.filter(uuid=grain).update(status=status)
    assert memory.texts("lighthouse keeper")[0] == "The lighthouse keeper is alive"
    answer = memory.ask("lighthouse keeper")["grains"]
    assert {grain["status"] for grain in answer[1:]} == {"dormant", "archived"}
    assert max(grain["score"] for grain in answer[1:]) <= answer[0]["score"] / 2
    assert memory.texts("lighthouse keeper", statuses=["quarantined"]) == ["The lighthouse keeper is bad"]


def test_statuses_in_any_order_are_looked_up_once(memory: Memory) -> None:
    """What is worked out for them is as long as the space and is kept: hundreds of orders would fill the memory."""
    memory.store("The lighthouse keeper is alive")
    for statuses in permutations(["active", "dormant", "archived"]):
        assert len(memory.texts("lighthouse keeper", statuses=list(statuses))) == 1
    with arena_cache().arena(memory.principal.space or 0) as (arena, _):
        assert arena is not None and len(vars(arena.index)["_valid_now"]) == 1


def test_what_has_faded_does_not_say_again_what_the_living_say(memory: Memory) -> None:
    memory.store("The kettle whistles when the water boils", session="monday")
    faded = memory.store("The kettle whistles when the water boils", session="tuesday")
    Grain.objects.filter(uuid=faded).update(status="archived")
    assert memory.texts("When does the kettle whistle?") == ["The kettle whistles when the water boils"]


def test_a_crowd_that_says_the_same_keeps_nobody_else_out(memory: Memory) -> None:
    """Some agent says it in every session: it is one result, and the others are found as ever."""
    for begin in range(0, 300, 100):
        said = [{"content": "The kettle is hot", "session": f"day {day}"} for day in range(begin, begin + 100)]
        store.store_batch(memory.principal, items=said)
    others = {"Ada bought a red kettle in Porto", "The old kettle leaked", "Bo glues the kettle on Sundays"}
    for other in others:
        memory.store(other)
    answer = memory.ask("Is the kettle hot?", k=4)
    assert answer["grains"][0]["content"] == "The kettle is hot"
    assert {grain["content"] for grain in answer["grains"][1:]} == others
    scores = [grain["score"] for grain in answer["grains"]]
    assert scores == sorted(scores, reverse=True)


def test_of_a_crowd_seventeen_are_counted_whatever_else_the_answer_reads_of_them(memory: Memory) -> None:
    """A way through links may pass another that says the same."""
    said = [{"content": "Good morning to you", "session": f"day {day}"} for day in range(20)]
    store.store_batch(memory.principal, items=said)
    first, *others = Grain.objects.order_by("pk").values_list("pk", flat=True)
    read = hydrate.load_grains(memory.principal.space or 0, [first, *others], ("active",))
    shown = recall._build_grain(SearchHit(first, 1.0, "words", {}, (), (), tuple(others)), read, {})
    assert (shown["said"], len(shown["same"])) == (17, 16)


def test_what_has_just_ended_is_left_out_by_an_index_that_has_not_heard_of_it(memory: Memory) -> None:
    ended = memory.store("The kettle whistles when the water boils", session="monday")
    memory.store("The kettle is made of steel")
    memory.ask("kettle")
    Grain.objects.filter(uuid=ended).update(valid_to=clock.now())  # and no event tells
    assert memory.texts("When does the kettle whistle?") == ["The kettle is made of steel"]
    assert len(memory.texts("When does the kettle whistle?", as_of=clock.rfc3339(clock.now()))) == 1


@pytest.mark.parametrize("change", [{"status": "quarantined"}, {"valid_to": "2026-01-01T00:00:00Z"}])
def test_another_that_says_the_same_takes_the_place_of_one_that_was_just_taken_away(
    memory: Memory, change: dict[str, str]
) -> None:
    same = [memory.store("The kettle whistles when the water boils", session=day) for day in ("monday", "tuesday")]
    (shown,) = memory.ask("When does the kettle whistle?")["grains"]
    (other,) = set(same) - {shown["id"]}
    Grain.objects.filter(uuid=shown["id"]).update(**change)  # and no event tells
    (left,) = memory.ask("When does the kettle whistle?")["grains"]
    assert (left["id"], left["same"], left["said"]) == (other, [], 1)


@pytest.mark.parametrize("at", ["1969-12-31T23:59:59.5Z", "1900-01-01T00:00:00.25Z", "9999-12-31T23:59:59.999999Z"])
def test_a_bound_holds_what_was_said_at_that_very_moment(memory: Memory, at: str) -> None:
    memory.store("The kettle whistles when the water boils", time=at)
    assert memory.texts("kettle", since=at) == memory.texts("kettle", as_of=at) != []
    assert memory.texts("kettle", until=at) == []


def test_times_are_compared_to_the_microsecond(memory: Memory) -> None:
    """An agent stores several times a second, and the list of grains has always been as exact."""
    memory.store("The kettle whistles", time="2026-03-02T09:00:00.5Z")
    memory.store("The kettle sings", valid_from="2026-03-03T09:00:00.5Z", valid_to="2026-03-03T09:00:00.9Z")
    assert memory.texts("kettle whistles", since="2026-03-02T09:00:00.500001Z", until="2026-03-04T00:00:00Z") == []
    assert memory.texts("kettle whistles", until="2026-03-02T09:00:00.500001Z") == ["The kettle whistles"]
    assert memory.texts("kettle whistles", as_of="2026-03-02T09:00:00.499999Z") == []
    for tenth, sings in (("4", False), ("5", True), ("8", True), ("9", False)):
        found = memory.texts("kettle sings", as_of=f"2026-03-03T09:00:00.{tenth}Z")
        assert ("The kettle sings" in found) == sings


def test_a_crowd_that_hardly_fits_does_not_hide_what_has_faded_and_fits(memory: Memory) -> None:
    for number in range(40):
        memory.store(f"Parcel {number} is in the hall of the keeper")
    faded = memory.store("The spare key of the lighthouse hangs behind the blue clock")
    Grain.objects.filter(uuid=faded).update(status="dormant")
    answer = memory.ask("Where does the keeper hang the spare key of the lighthouse?", k=5)["grains"]
    assert [grain["status"] for grain in answer] == ["active"] * 4 + ["dormant"]
    assert answer[-1]["score"] <= answer[-2]["score"] / 2


def test_what_has_faded_waits_while_the_living_answer(memory: Memory) -> None:
    for number in range(6):
        memory.store(f"The spare key of the lighthouse hangs behind the blue clock, says note {number}")
    faded = memory.store("The spare key of the lighthouse hung on a red nail")
    Grain.objects.filter(uuid=faded).update(status="dormant")
    answer = memory.ask("Where does the spare key of the lighthouse hang, behind which clock?", k=5)["grains"]
    assert {grain["status"] for grain in answer} == {"active"}


def test_equal_texts_are_one_result_with_the_highest_authority(memory: Memory) -> None:
    bob = Memory(agent="bob")
    memory.store("The safe is behind the picture", provenance="ai_inferred", session="one")
    bob.store("The safe is  behind the picture", provenance="user_stated", session="two")
    bob.store("The safe is behind the picture", provenance="user_stated", session="two")
    (grain,) = memory.ask("where is the safe")["grains"]
    assert grain["authority"] == "user_stated"
    assert (grain["writers"], grain["said"], len(grain["same"])) == (2, 3, 1)


def test_the_same_state_and_question_give_the_same_answer(memory: Memory) -> None:
    for number in range(30):
        memory.store(f"Note {number % 7} about the garden and its {number % 3} trees")
    memory.drain()
    first = memory.texts("garden trees", k=20)
    assert [memory.texts("garden trees", k=20) for _ in range(3)] == [first] * 3


def test_a_recall_reads_four_times_at_most_whatever_changed(memory: Memory) -> None:
    """With the one that knows the token, five for a request. Four more, behind it, write all traces of 50 ms."""
    for number in range(40):
        memory.store(f"Anna bought {number} apples on day {number}", session="market")
    memory.ask("apples")

    def statements() -> tuple[list[str], list[str]]:
        with CaptureQueriesContext(connection) as sent:
            memory.ask("how many apples did Anna buy on day 7", explain=True)
        found = [one["sql"] for one in sent if not one["sql"].startswith(_TRANSACTION)]
        behind = [one for one in found if "grains_trace" in one or "INSERT" in one]
        return [one for one in found if one not in behind], behind

    read, behind = statements()
    assert (len(read), len(behind)) == (2, 4), "\n".join(read + behind)
    memory.store("Anna bought pears", session="market")
    memory.drain()
    read, behind = statements()
    assert (len(read), len(behind)) == (3, 4), "\n".join(read + behind)
    answer = memory.ask("pears")
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    memory.drain()
    memory.store("Anna bought plums", session="market")
    read, behind = statements()
    assert (len(read), len(behind)) == (4, 4), "\n".join(read + behind)


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": " \n\t"}, "query"),
        ({"query": None}, "query"),
        ({"query": ["a"]}, "query"),
        ({"query": "a\0b"}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"query": "x\0"}, "query"),
        ({"query": "x", "k": 0}, "k"),
        ({"query": "x", "k": 101}, "k"),
        ({"query": "x", "k": True}, "k"),
        ({"query": "x", "k": "5"}, "k"),
        ({"query": "x", "min_score": 1.5}, "min_score"),
        ({"query": "x", "min_score": float("nan")}, "min_score"),
        ({"query": "x", "as_of": "yesterday"}, "as_of"),
        ({"query": "x", "as_of": "2024-01-01T00:00:00"}, "as_of"),
        ({"query": "x", "since": "2024-01-01T00:00:00Z", "until": "2023-01-01T00:00:00Z"}, "since"),
        ({"query": "x", "since": 5}, "since"),
        ({"query": "x", "tags": "sea"}, "tags"),
        ({"query": "x", "tags": [""]}, "tags"),
        ({"query": "x", "tags": ["a"] * 51}, "tags"),
        ({"query": "x", "sessions": [1]}, "sessions"),
        ({"query": "x", "origin_floor": "god"}, "origin_floor"),
        ({"query": "x", "origin_floor": ["ai_stated"]}, "origin_floor"),
        ({"query": "x", "statuses": ["asleep"]}, "statuses"),
        ({"query": "x", "statuses": [["active"]]}, "statuses"),
        ({"query": "x", "explain": 1}, "explain"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(memory: Memory, given: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        memory.ask(**given)  # type: ignore[arg-type]
    assert refused.value.details["field"] == field


def test_of_a_long_query_the_first_four_kilobytes_count_and_every_way_out_says_so(memory: Memory) -> None:
    from mcp_bridge.tools.grains.retrieve import _retrieve

    memory.store("The ferry to Naxos leaves at nine")
    memory.store("The lighthouse is painted white")
    filling = "ä" * (QUERY_BYTES // 2 - 4)
    longer = f"ferry {filling}ää lighthouse"  # its 4096th byte is the first half of a character
    answer = memory.ask(longer)
    assert answer["query_truncated"] is True
    assert [grain["content"] for grain in answer["grains"]] == ["The ferry to Naxos leaves at nine"]
    kept = explain.explain_trace(memory.principal, uuid.UUID(answer["trace_id"]))
    assert len(str(kept["query"]).encode()) == QUERY_BYTES and kept["query_truncated"] is True
    assert f"first {QUERY_BYTES} bytes" in str(kept["says"])
    assert _retrieve(memory.principal, {"query": longer})["query_truncated"] is True
    whole = memory.ask("ferry".ljust(QUERY_BYTES, "."))
    assert whole["query_truncated"] is False
    assert "query_truncated" not in _retrieve(memory.principal, {"query": "ferry"})
    with pytest.raises(Invalid, match="empty"):
        memory.ask(" " * QUERY_BYTES + "ferry")


@pytest.mark.parametrize("size", [20_000, 1_000_000])
def test_a_query_of_any_length_is_answered_in_this_process_and_over_mcp(memory: Memory, size: int) -> None:
    from mcp_bridge import server

    memory.store("The ferry to Naxos leaves at nine")
    query = "ferry ä" + "ä" * (size // 2) + "\0\ud800"  # bad characters are beyond what is looked at
    service = FluxService(cast(FluxStore, None), space="home")
    service._who = memory.principal  # as start() does, without its threads
    found = service.retrieve(query)
    assert found.query_truncated is True and found.grains
    context = cast(Any, SimpleNamespace(session=SimpleNamespace(client_params=None)))
    said = server.run_tool(lambda ctx: memory.principal, context, "flux_retrieve", {"query": query})
    assert not said.is_error and said.structured_content["query_truncated"] is True  # type: ignore[index]


def test_an_answer_says_how_many_vectors_are_still_to_be_made(memory: Memory) -> None:
    from mcp_bridge.tools.grains.retrieve import _retrieve

    memory.store("The ferry to Naxos leaves at nine")
    memory.drain()
    done = memory.ask("ferry")
    assert (done["rung"], done["vectors_missing"]) == ("warm", 0)
    for number in range(7):
        memory.store(f"Berth {number} is empty")
    answer = memory.ask("ferry", explain=True)
    assert (answer["rung"], answer["vectors_missing"]) == ("encoding", 7)
    assert "7 vectors are missing" in answer["explanation"]["says"]
    assert _retrieve(memory.principal, {"query": "ferry"})["vectors_missing"] == 7
    kept = explain.explain_trace(memory.principal, uuid.UUID(answer["trace_id"]))
    assert (kept["rung"], kept["vectors_missing"]) == ("encoding", 7)
    memory.drain()
    assert (memory.ask("ferry")["rung"], memory.ask("ferry")["vectors_missing"]) == ("warm", 0)


def test_one_agents_recalls_have_a_limit_and_the_shell_has_none(memory: Memory, configure: Any) -> None:
    configure(MAX_RECALLS_PER_MINUTE=3)
    for _ in range(3):
        memory.ask("ferry")
    with pytest.raises(RateLimited, match="MAX_RECALLS_PER_MINUTE") as refusal:
        memory.ask("ferry")
    assert refusal.value.details["limit"] == 3 and refusal.value.retry_after is not None
    Memory(agent="bob").ask("ferry")
    operator = shell(Space.objects.get(name="home"))
    for _ in range(5):
        recall.recall(operator, query="ferry")
