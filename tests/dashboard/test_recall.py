"""/recall: a person asks as an agent would, and is told why each grain came"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.answer_cards import build_cards as answer_cards
from dashboard.highlighting import excerpt, highlight_terms
from memory.arena.cache import arena_cache
from memory.grains.models import Grain, Trace
from tests.dashboard.conftest import Person, browser, post, send
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

MOST_STATEMENTS = 12  # of a whole request, the frame and the session included


def words(answer) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def cards(answer) -> list[str]:
    """Each grain's card, as a reader sees it."""
    found = re.findall(
        r'<li class="card grain".*?</li>\s*(?=<li class="card grain"|</ol>)', answer.content.decode(), re.DOTALL
    )
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", one)).split()) for one in found]


@pytest.fixture
def memory(people_client, transactional_db) -> Iterator[Memory]:
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    yield Memory()
    for space in arena_cache().spaces():
        arena_cache().drop(space)


@pytest.fixture
def grace(memory):
    """A viewer of the space, signed in."""
    return Person("grace", administrator=False, roles={"home": "viewer"}).sign_in()


# The answer ----------------------------------------------------------------------------------------
def test_a_question_is_answered_with_cards_that_say_why(memory, grace):
    memory.store(
        "Anna works as a nurse in Lisbon", session="one", speaker="Anna", tags=["work"], provenance="user_stated"
    )
    memory.store("Ben cooks mushroom risotto on Sundays")
    memory.drain()
    page = post(grace, "/recall", query="Where does Anna work?")
    assert page.status_code == 200
    first = cards(page)[0]
    assert "Anna works as a nurse in Lisbon" in first and "stated by a person" in first
    assert "#work" in first and "session one" in first
    assert "Returned because of" in first and re.search(r"shared words [+]\d", first)
    assert "chance that a correct memory is among the first five" in words(page)


def test_every_part_of_a_score_is_a_bar(memory, grace):
    memory.store("Anna works as a nurse in Lisbon", speaker="Anna")
    memory.store("Ben met Anna once")
    memory.drain()
    page = post(grace, "/recall", query="Where does Anna work?").content.decode()
    answer = memory.ask("Where does Anna work?", explain=True)["explanation"]["grains"]
    drawn = re.findall(r'<li class="(?:for|against)">.*?class="amount">([+-][\d.]+)</span>', page, re.DOTALL)
    parts = [part["part"] for one in answer for part in one["parts"] if abs(part["part"]) >= 0.005]
    assert drawn == [f"{part:+.2f}" for part in parts] and len(drawn) >= 2


def test_bars_begin_at_a_common_zero_and_what_speaks_against_leads_left():
    def grain(place: int, **parts: float) -> dict[str, Any]:
        shown = [{"name": name, "called": name, "part": part} for name, part in parts.items()]
        nothing = {"source": "words", "says": "", "words": [], "path": [], "same": 0}
        return {"place": place, "grain_id": str(place), "score": 0.5, "parts": shown, **nothing}

    one, two = answer_cards([grain(1, words=3.0, links=-1.0), grain(2, words=1.5, time=0.001)], {}, {}, {})
    drawn = [(bar.called, bar.says, bar.zero, bar.start, bar.width, bar.against) for bar in (*one.bars, *two.bars)]
    assert drawn == [
        ("words", "+3.00", "25.00", "25.00", "75.00", False),
        ("links", "-1.00", "25.00", "0.00", "25.00", True),
        ("words", "+1.50", "25.00", "25.00", "37.50", False),
    ]


def test_the_words_a_question_met_are_marked(memory, grace):
    memory.store("Anna works as a nurse, mostly <b>at night</b>")
    page = post(grace, "/recall", query="nurses working at night").content.decode()
    assert {"works", "nurse"} <= set(re.findall("<mark>([^<]+)</mark>", page))
    assert "<b>at" not in page and "&lt;b&gt;at" in page


def test_the_way_through_the_graph_is_drawn_stop_by_stop(memory, grace):
    for text in ("Anna Keller works in Lisbon", "Anna Keller plays the violin", "Anna Keller owns a red bicycle"):
        memory.store(text)
    memory.drain()
    page = post(grace, "/recall", query="What does Anna Keller do?").content.decode()
    ways = re.findall(r'<details class="way">.*?</details>', page, re.DOTALL)
    assert ways, "no grain came through a link"
    paths = [one["path"] for one in memory.ask("What does Anna Keller do?", explain=True)["explanation"]["grains"]]
    hops = [len(path) for path in paths if path]
    assert [way.count('class="link"') for way in ways] == hops
    assert [way.count("<circle") for way in ways] == [count + 1 for count in hops]
    assert re.search(r"related, weight \d[.]\d\d", ways[0]) and "removed" not in ways[0]


def test_equal_texts_are_one_card_that_says_how_often(memory, grace):
    bob = Memory(agent="bob")
    memory.store("The safe is behind the picture", provenance="ai_inferred", session="one")
    bob.store("The safe is behind the picture", provenance="user_stated", session="two")
    (card,) = cards(post(grace, "/recall", query="where is the safe"))
    assert "stored 2 times by 2 writers" in card


def test_a_long_text_is_shown_from_where_it_was_met_and_can_be_unfolded(memory, grace):
    memory.store("Nothing of note. " * 100 + "The zeppelin landed at noon. " + "Nothing else. " * 100)
    (card,) = cards(post(grace, "/recall", query="zeppelin"))
    shown, whole = card.split("Show full text")
    assert "zeppelin landed" in shown and len(shown) < 1_000
    assert whole.count("Nothing of note.") == 100


def test_a_card_leads_to_the_grains_page_and_the_answer_to_its_receipt(memory, grace):
    memory.store("Anna works as a nurse in Lisbon")
    page = post(grace, "/recall", query="nurse").content.decode()
    address = re.search(r'href="(/admin/grains/grain/\d+/change/)">Open this memory', page).group(1)
    assert "Anna works as a nurse" in words(grace.get(address))
    kept = grace.get(re.search(r'href="(/recall/[0-9a-f-]{36})">Trace of', page).group(1))
    assert kept.status_code == 200 and "Anna works as a nurse in Lisbon" in cards(kept)[0]
    assert "Recalled by you" in words(kept) and "Returned because of" in cards(kept)[0]


def test_bounds_are_those_an_agent_has(memory, grace):
    memory.store("We talked about the harbour", session="one", tags=["sea"], time="2024-03-01T10:00:00Z")
    memory.store(
        "The harbour was closed",
        session="two",
        tags=["sea", "work"],
        time="2025-03-01T10:00:00Z",
        provenance="user_stated",
    )
    for bound in (
        {"sessions": "two, three"},
        {"tags": "sea, work"},
        {"since": "2025-01-01T00:00"},
        {"k": "1", "origin_floor": "user_stated"},
    ):
        (card,) = cards(post(grace, "/recall", query="harbour", **bound))
        assert "The harbour was closed" in card, bound
    (card,) = cards(post(grace, "/recall", query="harbour", until="2024-12-31T00:00:00"))
    assert "We talked" in card
    page = post(grace, "/recall", query="harbour", statuses=["quarantined"])
    assert cards(page) == [] and '<details class="bounds" open>' in page.content.decode()


def test_it_is_the_same_recall_and_leaves_the_same_receipt(memory, grace):
    memory.store("Anna works as a nurse in Lisbon")
    post(grace, "/recall", query="Where is Anna?")
    (kept,) = Trace.objects.all()
    assert (kept.actor, kept.query, kept.space_id) == ("user:grace", "Where is Anna?", memory.principal.space)


# What was asked ------------------------------------------------------------------------------------
def test_ones_own_questions_are_listed_newest_first_and_nobody_elses(memory, grace):
    memory.store("Anna works as a nurse in Lisbon")
    memory.ask("what the agent asked")
    for number in range(12):
        post(grace, "/recall", query=f"question {number}")
    heidi = Person("heidi", administrator=False, roles={"home": "owner"}).sign_in()
    post(heidi, "/recall", query="what heidi asked")
    page = words(grace.get("/recall"))
    assert re.findall(r"(question \d+) \d\d? \w+ \d{4}", page) == [f"question {number}" for number in range(11, 1, -1)]
    assert "the agent asked" not in page and "heidi asked" not in page


def test_a_receipt_is_read_by_who_asked_and_by_who_manages(memory, grace):
    memory.store("Anna works as a nurse in Lisbon")
    post(grace, "/recall", query="nurse in Lisbon")
    address = f"/recall/{Trace.objects.get().uuid}"
    assert grace.get(address).status_code == 200
    assert Person("heidi", administrator=False, roles={"home": "viewer"}).sign_in().get(address).status_code == 404
    ivan = Person("ivan", administrator=False, roles={"home": "operator"}).sign_in()
    other = ivan.get(address)
    assert "Recalled by user:grace" in words(other) and "Recall again" not in words(other)
    assert ivan.get(re.search(r"/admin/grains/trace/\d+/change/", other.content.decode()).group()).status_code == 200
    assert "/admin/grains/trace/" not in grace.get(address).content.decode()
    assert grace.get("/recall/00000000-0000-0000-0000-000000000000").status_code == 404


def test_a_grain_that_is_gone_since_is_not_quoted_by_its_receipt(memory, grace):
    Grain.objects.filter(uuid=memory.store("Anna hides the silver key")).update(status="active")
    post(grace, "/recall", query="silver key")
    Grain.objects.update(status="pending_deletion")
    kept = grace.get(f"/recall/{Trace.objects.get().uuid}")
    assert kept.status_code == 200 and "hides" not in words(kept) and "This memory was removed" in words(kept)


# States --------------------------------------------------------------------------------------------
def test_an_empty_space_says_how_to_begin(grace):
    assert "No memories yet" in words(grace.get("/recall"))
    asked = post(grace, "/recall", query="anything")
    assert asked.status_code == 200 and "No memories yet" in words(asked)


def test_nonsense_says_what_was_looked_for(memory, grace):
    memory.store("Anna works as a nurse")
    page = post(grace, "/recall", query="qwxzv plkjh")
    assert page.status_code == 200 and cards(page) == []
    assert "No results" in words(page) and "Searched for: qwxzv plkjh" in words(page)


@pytest.mark.parametrize(
    ("given", "field", "says"),
    [
        ({"query": " "}, "query", "Enter a question."),
        ({"query": "nul\0"}, "query", "Null characters are not allowed"),
        ({"query": "x", "k": "0"}, "k", "from 1 to 100"),
        ({"query": "x", "k": "many"}, "k", "whole number"),
        ({"query": "x", "tags": "t" * 65}, "tags", "1 to 64 characters"),
        ({"query": "x", "since": "never"}, "since", "valid date"),
        ({"query": "x", "since": "2025-01-02T00:00", "until": "2025-01-01T00:00"}, "since", "before until"),
        ({"query": "x", "as_of": "0001-01-01T00:00"}, "as_of", "1900"),
        ({"query": "x", "origin_floor": "gods"}, "origin_floor", "valid choice"),
        ({"query": "x", "statuses": "lost"}, "statuses", "valid choice"),
    ],
)
def test_a_refusal_stands_at_its_field(grace, given, field, says):
    page = post(grace, "/recall", **given)
    assert page.status_code == 422
    at = page.content.decode().index(f'name="{field}"')
    wrong = page.content.decode().index('class="errorlist"')
    assert at < wrong < at + 21_500 and says in words(page)
    assert page.content.decode().count('class="errorlist"') == 1
    assert Trace.objects.count() == 0


def test_a_question_is_never_in_an_address(memory, grace):
    memory.store("Anna works as a nurse")
    assert cards(grace.get("/recall?query=nurse")) == [] and Trace.objects.count() == 0
    page = grace.get("/recall").content.decode()
    assert re.search(r'<form class="card ask" method="post" action="/recall" autocomplete="off">', page)
    assert grace.post("/recall", {"query": "nurse"}).status_code == 403  # without the form's token


def test_visitors_sign_in_and_people_without_a_role_are_told_whom_to_ask(memory):
    assert browser().get("/recall")["Location"].startswith("/sign-in?")
    nobody = Person("heidi", administrator=False).sign_in()
    assert nobody.get("/recall")["Location"] == "/"
    assert "No space for you yet" in words(nobody.get("/"))


def test_it_asks_only_the_space_the_person_looks_at(memory, grace):
    Memory("elsewhere").store("Anna's secret is the blue door")
    memory.store("Anna works as a nurse")
    assert "secret" not in words(post(grace, "/recall", query="Anna's secret blue door")).replace(
        "Anna's secret blue door", ""
    )


def test_it_costs_few_statements_whatever_there_is(memory, grace):
    for number in range(60):
        memory.store(f"Anna bought {number} apples in Porto on day {number}", session="market")
    post(grace, "/recall", query="apples")
    with CaptureQueriesContext(connection) as statements:
        page = send(grace, "/recall", query="apples of Anna in Porto", k="50")
    assert len(cards(page)) > 20
    made = [one["sql"] for one in statements if not one["sql"].startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]
    assert len(made) <= MOST_STATEMENTS, [sql[:90] for sql in made]


# Marking -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("Nurses, at night!", ["nurs"], ["Nurses"]),
        ("Anna's (new) job", ["anna", "job"], ["Anna's", "job"]),
        ("我喜欢红色的自行车", ["红色"], ["红色"]),
        ("nothing here", ["nurs"], []),
        ("", ["x"], []),
    ],
)
def test_marking_finds_what_the_analysis_found(text, terms, expected):
    pieces = highlight_terms(text, terms)
    assert "".join(part for part, _ in pieces) == text
    assert [part for part, mark in pieces if mark] == expected


def test_an_excerpt_begins_a_little_before_the_first_mark():
    pieces = highlight_terms("word " * 500 + "zeppelin " + "word " * 500, ["zeppelin"])
    shown, is_cut = excerpt(pieces, 200)
    text = "".join(part for part, _ in shown)
    assert is_cut and "zeppelin" in text and len(text) < 220
    assert excerpt([("short", False)], 200) == ([("short", False)], False)


# What is missing -----------------------------------------------------------------------------------
def test_the_page_says_how_many_vectors_are_missing_and_that_a_long_query_was_cut(memory, grace):
    memory.store("Anna works as a nurse in Lisbon")
    memory.drain()
    memory.store("Ben cooks mushroom risotto on Sundays")
    page = post(grace, "/recall", query="Where does Anna work?" + " please" * 700)
    assert "1 vector is missing" in words(page) and "Only its first 4,096 bytes were used" in words(page)
    trace = Trace.objects.get()
    for address in (f"/recall/{trace.uuid}", f"/traces/{trace.uuid}"):
        kept = grace.get(address)
        assert kept.status_code == 200, address
        assert "1 vector is missing" in words(kept) and "Only its first 4,096 bytes were used" in words(kept)


def test_the_pages_of_a_reduced_trace_say_so(memory, grace, configure):
    memory.store("Anna works as a nurse in Lisbon")
    configure(MAX_TRACE_BYTES_PER_HOUR=0)
    post(grace, "/recall", query="Where does Anna work?")
    trace = Trace.objects.get()
    for address in (f"/recall/{trace.uuid}", f"/traces/{trace.uuid}"):
        assert "Only ids and scores were kept" in words(grace.get(address))
