"""/traces: who asked what, page by page, and one recall shown from its trace alone"""

from __future__ import annotations

import html
import re
import uuid
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard import trace_drawing
from memory.arena.cache import arena_cache
from memory.grains.models import Grain, Trace
from memory.learning import feedback
from memory.recall import explain, trace_list
from tests.dashboard.conftest import Person, post
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

MOST_STATEMENTS = 12  # of a whole request, the frame and the session included


@pytest.fixture
def memory(people_client, transactional_db) -> Iterator[Memory]:
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    yield Memory()
    for space in arena_cache().spaces():
        arena_cache().drop(space)


@pytest.fixture
def oz(memory):
    """Somebody who manages the grains of the space."""
    return Person("oz", administrator=False, roles={"home": "operator"}).sign_in()


def words(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def asked(answer) -> list[str]:
    found = re.findall(r'<p class="asked"><a[^>]*>(.*?)</a>', answer.content.decode())
    return [html.unescape(one) for one in found]


def talk(memory) -> str:
    """A question whose answer is reached over a link; its trace."""
    memory.store("What do you do for a living, Maria?", session="talk", speaker="Tom")
    memory.store("I restore old clocks", session="talk", speaker="Maria")
    return str(memory.ask("What does Maria do for a living?")["trace_id"])


# The list ------------------------------------------------------------------------------------------
def test_recalls_are_listed_newest_first_with_who_and_how_sure(memory, oz):
    memory.store("The ferry leaves at nine")
    memory.ask("When does the ferry leave?")
    Memory(agent="bob").ask("What is for dinner?")
    page = oz.get("/traces")
    assert asked(page) == ["What is for dinner?", "When does the ferry leave?"]
    assert "agent:bob" in words(page) and "agent:alice" in words(page)
    chance = round(100 * Trace.objects.get(query="When does the ferry leave?").confidence)
    assert f"{chance} %" in words(page) and "no feedback" in words(page)


def test_a_viewer_sees_their_own_questions_alone(memory):
    memory.ask("a private question")
    vera = Person("vera", administrator=False, roles={"home": "viewer"})
    client = vera.sign_in()
    post(client, "/recall", query="my own question")
    page = client.get("/traces")
    assert asked(page) == ["my own question"]
    assert client.get("/traces?who=agent:alice").content.count(b"private") == 0
    theirs = Trace.objects.get(query="a private question").uuid
    assert client.get(f"/traces/{theirs}").status_code == 404
    mine = Trace.objects.get(query="my own question").uuid
    assert client.get(f"/traces/{mine}").status_code == 200


def test_another_space_has_no_traces_here(memory, oz):
    trace = Memory("elsewhere").ask("of another space")["trace_id"]
    assert asked(oz.get("/traces")) == []
    assert oz.get(f"/traces/{trace}").status_code == 404
    assert oz.get(f"/traces/{uuid.uuid4()}").status_code == 404


def test_it_can_be_narrowed(memory, oz):
    memory.store("The ferry leaves at nine")
    memory.drain()
    answer = memory.ask("ferry at nine")
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    Memory(agent="bob").ask("unrelated")
    Trace.objects.filter(query="unrelated").update(rung="cold", confidence=0.1)
    Trace.objects.filter(query="ferry at nine").update(rung="warm", confidence=0.9)
    ferry, other = "ferry at nine", "unrelated"
    for query, found in {
        "judged=yes": [ferry],
        "judged=no": [other],
        "rung=cold": [other],
        "sure=no": [other],
        "who=agent:alice": [ferry],
        "who=me": [],
        "who=%27--": [],
        "judged=perhaps": [other, ferry],
        "rung=nonsense&before=x": [other, ferry],
    }.items():
        assert asked(oz.get(f"/traces?{query}")) == found, query
    feedback.withdraw(memory.principal, trace=answer["trace_id"], grain=answer["grains"][0]["id"])
    assert asked(oz.get("/traces?judged=yes")) == [], "a vote that was taken back is none"


def test_pages_follow_each_other_without_a_gap_while_others_ask(memory, oz, monkeypatch):
    monkeypatch.setattr(trace_list, "PAGE", 4)
    for number in range(10):
        memory.ask(f"question {number}")
    seen, address = [], "/traces?who=agent:alice"
    while address:
        page = oz.get(address)
        seen += asked(page)
        memory.ask("asked meanwhile")
        older = re.search(r'href="(\?[^"]+)" rel="next"', page.content.decode())
        address = f"/traces{html.unescape(older.group(1))}" if older else ""
        assert not older or "who=agent" in address
    assert seen == [f"question {number}" for number in range(9, -1, -1)]


def test_the_list_costs_as_many_statements_however_long_it_is(memory, oz):
    memory.ask("first")
    oz.get("/traces")
    counts = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as sent:
            assert oz.get("/traces?judged=no").status_code == 200
        counts.append(len(sent))
        for number in range(30):
            memory.ask(f"question {number}")
    assert counts[0] == counts[1] <= MOST_STATEMENTS, counts


# One recall ----------------------------------------------------------------------------------------
def test_a_recall_is_told_again_step_by_step_in_words(memory, oz):
    trace = talk(memory)
    page = oz.get(f"/traces/{trace}")
    said = words(page)
    at = [
        said.index(title)
        for title in (
            "Query analysed",
            "Matched by keywords",
            "Matched by meaning",
            "Hop 1: links followed",
            "Scores added up",
            "Final order",
        )
    ]
    assert at == sorted(at)
    assert "“maria”" in said
    assert "What do you do for a living, Maria? → I restore old clocks: next, weight" in said
    assert "1. What do you do for a living, Maria?" in said
    assert "shared words +" in said and "Meaning was not used" in said
    assert f"/recall/{trace}" in page.content.decode()


def test_the_drawing_has_a_place_for_each_and_a_ray_for_each_way(memory, oz):
    trace = talk(memory)
    kept = explain.explain_trace(memory.principal, uuid.UUID(trace))
    drawn = trace_drawing.draw_replay(kept, {})
    grains = [spot for spot in drawn.spots if spot.kind == "grain"]
    assert sorted(spot.place for spot in grains) == [1, 2]
    assert drawn.spots[0].kind == "question"
    assert len({(spot.x, spot.y) for spot in drawn.spots}) == len(drawn.spots), "none hides another"
    assert all(0 <= spot.x < drawn.wide and 0 <= spot.y < drawn.high for spot in drawn.spots)
    hop = [ray for ray in drawn.rays if ray.kind == "hop"]
    walked = {(step.get("from_grain"), step["to_grain"]) for one in kept["grains"] for step in one["path"]}
    assert len(hop) == len(walked) > 0 and all("next, weight" in ray.says for ray in hop)
    last = len(drawn.scenes)
    assert all(1 <= one.scene <= last for one in [*drawn.rays, *drawn.spots])
    assert {spot.says for spot in grains} == {"a removed memory"}, "no text without the right to read it"


def test_it_is_told_from_the_receipt_though_its_grains_are_gone(memory, oz):
    trace = talk(memory)
    Grain.objects.update(status="pending_deletion")
    page = oz.get(f"/traces/{trace}")
    assert page.status_code == 200
    assert "clocks" not in words(page) and "a removed memory" in words(page)


def test_an_answer_without_a_grain_is_told_too(memory, oz):
    trace = memory.ask("nothing is stored yet")["trace_id"]
    assert "No results." in words(oz.get(f"/traces/{trace}"))


def test_of_many_grains_the_first_are_drawn_and_all_are_named(memory, oz):
    for number in range(trace_drawing.MAX_GRAINS + 5):
        memory.store(f"Anna bought {number} apples")
    trace = memory.ask("apples Anna bought", k=trace_drawing.MAX_GRAINS + 5)["trace_id"]
    page = oz.get(f"/traces/{trace}")
    assert page.content.decode().count("data-rank>") == trace_drawing.MAX_GRAINS
    assert "5 more results are not drawn" in words(page)
    assert f"{trace_drawing.MAX_GRAINS + 5}. Anna bought" in words(page)


def test_one_recall_costs_as_many_statements_however_much_it_holds(memory, oz):
    first = talk(memory)
    for number in range(20):
        memory.store(f"Maria restored clock {number}", session="talk", speaker="Maria")
    second = memory.ask("Maria restored clocks", k=20)["trace_id"]
    oz.get("/traces")
    counts = []
    for trace in (first, second):
        with CaptureQueriesContext(connection) as sent:
            assert oz.get(f"/traces/{trace}").status_code == 200
        counts.append(len(sent))
    assert counts[0] == counts[1] <= MOST_STATEMENTS, counts


def test_texts_and_questions_are_only_text(memory, oz):
    memory.store("</text><script>alert(1)</script> Anna")
    trace = memory.ask("<b>Anna</b> </svg>")["trace_id"]
    text = oz.get(f"/traces/{trace}").content.decode()
    assert "<script>alert" not in text and "<b>Anna" not in text and text.count("</svg>") == text.count("<svg")
