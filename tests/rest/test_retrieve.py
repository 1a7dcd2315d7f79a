"""POST /retrieve: recall of grains, with a trace that explains it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory.api import views

pytestmark = pytest.mark.storage

FACTS = [
    "Anna moved to Lisbon in March 2024 and works as a nurse.",
    "Ben's favourite dish is mushroom risotto.",
    "The server room key hangs behind the blue door.",
    "Anna's salary is 5000 euro.",
    "Anna's salary is 6000 euro.",
]


@pytest.fixture
def asked(transactional_db: None, api: Any) -> Any:
    for fact in FACTS:
        assert api.post("/store", {"content": fact}).status_code == 200

    def ask(query: Any, **given: Any) -> dict[str, Any]:
        answer = api.post("/retrieve", {"query": query, **given})
        assert answer.status_code == 200, answer.content
        return dict(json.loads(answer.content))

    return ask


def texts(answer: dict[str, Any]) -> list[str]:
    return [grain["content"] for grain in answer["grains"]]


@pytest.mark.parametrize("size", [20_000, 1_000_000])
def test_of_a_query_of_any_length_the_beginning_counts(asked: Any, size: int) -> None:
    answer = asked("mushroom risotto ".ljust(size, "ä"), k=1)
    assert answer["query_truncated"] is True and texts(answer) == ["Ben's favourite dish is mushroom risotto."]


def test_the_right_grain_comes_first(asked: Any) -> None:
    assert texts(asked("Where does Anna live, in which city?"))[0].startswith("Anna")
    assert texts(asked("What does Ben like to eat, which dish?"))[0] == FACTS[1]
    assert texts(asked("where is the key of the server room"))[0] == FACTS[2]


def test_updates_are_both_there(asked: Any) -> None:
    assert set(texts(asked("What is Anna's salary?"))[:2]) == {FACTS[3], FACTS[4]}


def test_every_answer_has_a_trace_that_explains_it(asked: Any, api: Any) -> None:
    answer = asked("server room key")
    trace = json.loads(api.get(f"/traces/{answer['trace_id']}").content)
    assert trace["query"] == "server room key"
    assert trace["grains"][0]["grain_id"] == answer["grains"][0]["id"]
    assert {"server", "room", "key"} <= {word["term"] for word in trace["grains"][0]["words"]}
    assert "shared words" in trace["grains"][0]["says"]
    assert trace["texts"][answer["grains"][0]["id"]] == FACTS[2]


def test_nonsense_and_an_empty_space_answer_with_nothing_and_no_confidence(api: Any, transactional_db: None) -> None:
    answer = json.loads(api.post("/retrieve", {"query": "anything at all"}).content)
    assert (answer["grains"], answer["confidence"]) == ([], 0)


def test_a_recall_beyond_the_limit_is_refused_with_the_wait(asked: Any, api: Any, configure: Any) -> None:
    configure(MAX_RECALLS_PER_MINUTE=1)
    asked("server room key")
    refusal = api.post("/retrieve", {"query": "server room key"})
    body = json.loads(refusal.content)
    assert (refusal.status_code, body["code"], body["details"]["limit"]) == (429, "rate_limited", 1)
    assert 0 < int(refusal.headers["Retry-After"]) <= 61 and "MAX_RECALLS_PER_MINUTE" in body["message"]
    assert api.get("/me").status_code == 200


def test_an_agent_with_its_share_of_the_threads_is_refused_and_others_are_not(
    asked: Any, api: Any, principal: Any, make_token: Any, as_agent: Any
) -> None:
    taken = 0
    while views._threads.take(principal.space, principal.actor):
        taken += 1
    try:
        refusal = api.get("/me")
        assert refusal.status_code == 503 and json.loads(refusal.content)["code"] == "busy"
        assert refusal.headers["Retry-After"] == "1"
        other = as_agent(make_token("bob", space="elsewhere"))
        assert {call.status_code for call in (other.get("/me"), other.post("/retrieve", {"query": "key"}))} == {200}
    finally:
        for _ in range(taken):
            views._threads.leave(principal.space, principal.actor)
    assert taken == views._threads.places // 2 and api.get("/me").status_code == 200
    assert not views._threads._held
