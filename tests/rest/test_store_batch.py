"""POST /store/batch"""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry
from memory.grains.models import Grain
from tests.rest.routes import refused


def items(count: int, start: int = 0) -> list[dict[str, str]]:
    return [{"content": f"fact number {n}"} for n in range(start, start + count)]


def test_it_stores_up_to_a_hundred_in_order(api):
    answer = api.post("/store/batch", {"items": items(100)})
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["count"], body["refused"]) == (100, 0)
    assert [result["index"] for result in body["results"]] == list(range(100))
    assert body["grain_ids"] == [result["grain_id"] for result in body["results"]]
    stored = {str(grain.uuid): grain.text for grain in Grain.objects.all()}
    assert [stored[found] for found in body["grain_ids"]] == [f"fact number {n}" for n in range(100)]


@pytest.mark.parametrize("wrong", [[], items(101), None, {}, "text", 7])
def test_it_refuses_anything_but_one_to_a_hundred(api, wrong):
    assert refused(api.post("/store/batch", {"items": wrong}), 422, "invalid") == {"field": "items", "limit": 100}
    assert not Grain.objects.exists()


def test_the_number_of_items_is_a_key_of_the_configuration(api, configure):
    configure(MAX_GRAINS_PER_CALL=2)
    assert refused(api.post("/store/batch", {"items": items(3)}), 422, "invalid")["limit"] == 2
    assert api.post("/store/batch", {"items": items(2)}).status_code == 200


def test_each_item_is_stored_or_refused_on_its_own(make_token, as_agent):
    api = as_agent(make_token(ceiling="ai_stated"))
    mixed = [
        {"content": "good"},
        {"content": ""},
        {"content": "nul \0 inside"},
        {"content": "claims too much", "provenance": "user_stated"},
        "not an object",
        {"content": "unknown", "colour": "red"},
        {"content": 7},
        {},
        None,
        {"content": "x" * 16_385},
        {"content": "  good "},
        {"content": "good", "provenance": "ai_inferred"},
    ]
    body = api.post("/store/batch", {"items": mixed}).json()
    assert [result["status"] for result in body["results"]] == ["stored", *["refused"] * 9, "corroborated", "stored"]
    assert [result["error"] and result["error"]["code"] for result in body["results"]] == [
        None,
        "invalid",
        "invalid",
        "origin_above_ceiling",
        *["invalid"] * 6,
        None,
        None,
    ]
    assert (body["count"], body["refused"]) == (3, 9)
    assert body["grain_ids"][10] == body["grain_ids"][0] and body["grain_ids"][1] is None
    assert Grain.objects.count() == 2


def test_a_batch_of_nothing_good_stores_nothing_and_says_so(api):
    body = api.post("/store/batch", {"items": [{"content": ""}, {"content": None}]}).json()
    assert (body["count"], body["refused"], body["grain_ids"]) == (0, 2, [None, None])
    assert not Grain.objects.exists()


def test_the_limit_holds_for_the_whole_batch(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=10)
    assert api.post("/store/batch", {"items": items(7)}).status_code == 200
    refused(api.post("/store/batch", {"items": items(4, start=50)}), 429, "rate_limited")
    assert Grain.objects.count() == 7  # nothing of the second one
    assert api.post("/store/batch", {"items": items(3, start=50)}).status_code == 200
    refused(api.post("/store", {"content": "one more"}), 429, "rate_limited")


def test_a_batch_larger_than_the_limit_could_never_pass_and_is_told_so(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=5)
    details = refused(api.post("/store/batch", {"items": items(6)}), 422, "invalid")
    assert (details["limit"], details["raised_by"], details["without_limit"]) == (
        5,
        "MAX_GRAINS_PER_MINUTE",
        "flux import",
    )


def test_refused_items_do_not_count_under_the_limit(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=2)
    body = api.post("/store/batch", {"items": [{"content": ""}] * 50 + items(2)}).json()
    assert (body["count"], body["refused"]) == (2, 50)


def test_a_retry_with_the_same_key_gets_the_same_answer(api):
    body = {"items": [*items(3), {"content": ""}]}
    first = api.post("/store/batch", body, headers={"Idempotency-Key": "b-1"}).json()
    again = api.post("/store/batch", body, headers={"Idempotency-Key": "b-1"}).json()
    assert first == again
    assert set(Grain.objects.values_list("corroborations", flat=True)) == {0}
    other = {"items": items(4)}
    refused(api.post("/store/batch", other, headers={"Idempotency-Key": "b-1"}), 409, "idempotency_key_reused")


def test_a_key_of_one_call_is_taken_for_another(api):
    api.post("/store", {"content": "x"}, headers={"Idempotency-Key": "k"})
    answer = api.post("/store/batch", {"items": items(1)}, headers={"Idempotency-Key": "k"})
    refused(answer, 409, "idempotency_key_reused")


def test_the_label_and_reason_of_the_batch_hold_for_all_items(api):
    api.post("/store/batch", {"items": items(2), "caller_id": "nightly", "reason": "import"})
    assert set(Grain.objects.values_list("label", flat=True)) == {"nightly"}


def test_an_item_above_the_ceiling_is_refused_on_the_chain(as_agent, make_token):
    agent = as_agent(make_token("humble", ceiling="ai_stated"))
    items = [{"content": "mine"}, {"content": "the user's", "provenance": "user_stated"}]
    answer = agent.post("/store/batch", {"items": items}).json()
    assert [result["status"] for result in answer["results"]] == ["stored", "refused"]
    entry = AuditEntry.objects.get(actor="agent:humble", outcome="refused")
    assert (entry.action, "origin_above_ceiling" in entry.details) == ("grains.store_batch", True)
