"""POST /store"""

from __future__ import annotations

import io
import json
import time

import jsonschema
import pytest
from django.core.management import call_command

from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.models import Event
from mcp_bridge import registry
from memory.grains.lifecycle import verbs
from memory.grains.models import Grain
from tests.rest.routes import refused


@pytest.mark.parametrize("path", ["/store", "/api/v1/store"])
def test_it_stores_and_reads_back(api, path):
    answer = api.post(path, {"content": "Paris is the capital of France", "provenance": "user_stated"})
    assert answer.status_code == 200, answer.content
    stored = answer.json()
    assert stored["status"] == "stored"
    grain = api.get(f"/grains/{stored['grain_id']}").json()
    assert grain["content"] == "Paris is the capital of France"
    assert grain["provenance"] == "user_stated"
    assert grain["writer"] == "agent:alice"


def test_an_equal_text_of_the_same_origin_is_corroboration(api):
    first = api.post("/store", {"content": "The  cat sleeps"}).json()
    second = api.post("/store", {"content": "The cat sleeps "}).json()
    assert second == {
        "grain_id": first["grain_id"],
        "status": "corroborated",
        "action": "duplicate",
        "provenance": "ai_stated",
    }
    assert Grain.objects.get().corroborations == 1


def test_another_origin_is_a_grain_of_its_own(api):
    first = api.post("/store", {"content": "x", "provenance": "ai_inferred"}).json()
    second = api.post("/store", {"content": "x", "provenance": "user_stated"}).json()
    assert first["grain_id"] != second["grain_id"]


def test_a_missing_provenance_is_what_the_agent_itself_states(api):
    for provenance in ({}, {"provenance": None}):
        assert api.post("/store", {"content": "x", **provenance}).json()["provenance"] == "ai_stated"


def test_a_missing_provenance_is_lowered_to_the_ceiling(make_token, as_agent):
    low = as_agent(make_token("reader", ceiling="external_source"))
    assert low.post("/store", {"content": "x"}).json()["provenance"] == "external_source"


@pytest.mark.parametrize("claimed", ["user_stated", "ai_stated", "ai_inferred"])
def test_it_refuses_a_provenance_above_the_ceiling_and_stores_nothing(make_token, as_agent, claimed):
    low = as_agent(make_token("reader", ceiling="external_source"))
    details = refused(low.post("/store", {"content": "x", "provenance": claimed}), 403, "origin_above_ceiling")
    assert details == {"ceiling": "external_source"}
    assert not Grain.objects.exists()


@pytest.mark.parametrize("claimed", ["user_confirmed", "unknown", "USER_STATED", ""])
def test_no_body_may_claim_what_only_people_and_imports_give(api, claimed):
    assert refused(api.post("/store", {"content": "x", "provenance": claimed}), 422, "invalid") == {
        "field": "provenance"
    }
    assert not Grain.objects.exists()


def test_a_retry_with_the_same_key_gets_the_same_answer_and_counts_once(api):
    body = {"content": "Buy milk"}
    first = api.post("/store", body, headers={"Idempotency-Key": "k-1"})
    again = api.post("/store", body, headers={"Idempotency-Key": "k-1"})
    in_body = api.post("/store", {**body, "idempotency_key": "k-1"})
    assert first.json() == again.json() == in_body.json()
    assert first.json()["status"] == "stored"
    assert Grain.objects.get().corroborations == 0


def test_a_key_used_for_another_body_is_a_conflict(api):
    api.post("/store", {"content": "one"}, headers={"Idempotency-Key": "k"})
    answer = api.post("/store", {"content": "two"}, headers={"Idempotency-Key": "k"})
    assert refused(answer, 409, "idempotency_key_reused") == {"key": "k"}
    assert Grain.objects.count() == 1


def test_the_header_wins_over_a_key_in_the_body(api):
    api.post("/store", {"content": "one", "idempotency_key": "inner"}, headers={"Idempotency-Key": "outer"})
    refused(api.post("/store", {"content": "two"}, headers={"Idempotency-Key": "outer"}), 409, "idempotency_key_reused")
    assert api.post("/store", {"content": "two"}, headers={"Idempotency-Key": "inner"}).status_code == 200


def test_two_agents_may_use_the_same_key(make_token, as_agent):
    answers = [
        as_agent(make_token(name)).post("/store", {"content": name}, headers={"Idempotency-Key": "same"})
        for name in ("anna", "bert")
    ]
    assert [answer.json()["status"] for answer in answers] == ["stored", "stored"]


def test_the_reason_and_the_digest_are_on_the_chain_and_the_text_is_not(api):
    grain = api.post("/store", {"content": "a secret wish", "reason": "asked in chat"}).json()["grain_id"]
    entry = AuditEntry.objects.get(action="grains.store")
    assert (entry.object, entry.reason, entry.outcome) == (grain, "asked in chat", "done")
    assert "secret wish" not in str(list(AuditEntry.objects.values())) + str(list(Event.objects.values()))


def test_a_refused_body_leaves_no_trace_in_the_graph(api):
    api.post("/store", {"content": ""})
    assert not Grain.objects.exists()
    assert not Event.objects.filter(kind__startswith="grain").exists()


def test_the_limit_is_exact_and_retry_after_is_true(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=3)
    answers = [api.post("/store", {"content": f"number {n}"}) for n in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    details = refused(answers[-1], 429, "rate_limited")
    assert details == {
        "limit": 3,
        "per_seconds": 60,
        "what": "memories stored by one caller",
        "raised_by": "MAX_GRAINS_PER_MINUTE",
        "without_limit": "flux import",
    }
    assert answers[-1].json()["message"] == (
        "The limit is reached: 3 memories stored by one caller in 60 seconds. Wait for the seconds in Retry-After. "
        "MAX_GRAINS_PER_MINUTE in config.yaml raises it. To load many at once without this limit: "
        "`flux import FILE` (in a checkout `manage.py flux_import FILE`)."
    )
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 61
    assert Grain.objects.count() == 3


def test_after_retry_after_the_next_grain_passes(api, configure, time_machine):
    moment = time.time()
    time_machine.move_to(moment, tick=False)
    configure(MAX_GRAINS_PER_MINUTE=1)
    assert api.post("/store", {"content": "one"}).status_code == 200
    wait = int(api.post("/store", {"content": "two"}).headers["Retry-After"])
    time_machine.move_to(moment + wait - 1.01, tick=False)
    assert api.post("/store", {"content": "two"}).status_code == 429
    time_machine.move_to(moment + wait, tick=False)
    assert api.post("/store", {"content": "two"}).status_code == 200


def test_refused_bodies_do_not_count_under_the_limit(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=1)
    for _ in range(3):
        assert api.post("/store", {"content": " "}).status_code == 422
    assert api.post("/store", {"content": "at last"}).status_code == 200


def test_one_agents_limit_is_not_anothers(make_token, as_agent, configure):
    configure(MAX_GRAINS_PER_MINUTE=1)
    anna, bert = as_agent(make_token("anna")), as_agent(make_token("bert"))
    assert [anna.post("/store", {"content": "a"}).status_code for _ in range(2)] == [200, 429]
    assert bert.post("/store", {"content": "b"}).status_code == 200


def test_two_tokens_of_an_agent_share_its_limit(make_token, as_agent, configure):
    configure(MAX_GRAINS_PER_MINUTE=1)
    first, second = as_agent(make_token("anna")), as_agent(make_token("anna"))
    assert first.post("/store", {"content": "a"}).status_code == 200
    assert second.post("/store", {"content": "b"}).status_code == 429


@pytest.mark.parametrize(
    ("before", "after"), [("pending_deletion", "active"), ("archived", "active"), ("quarantined", "quarantined")]
)
def test_a_text_said_again_comes_back_from_its_way_out(api, before, after):
    grain = api.post("/store", {"content": "still true"}).json()["grain_id"]
    Grain.objects.update(status=before)
    answer = api.post("/store", {"content": "still true"}).json()
    assert (answer["grain_id"], answer["provenance"]) == (grain, "ai_stated")
    # What is not recalled is not answered as if it were.
    assert (answer["status"], "reason" in answer) == (
        ("quarantined", True) if after == "quarantined" else ("corroborated", False)
    )
    assert Grain.objects.get().status == after


def test_every_way_in_says_that_a_removed_text_is_not_recalled(api, principal):
    """REST, MCP and the shell, one text or many; in a program it is the same verb."""
    text = "the vault opens at nine"
    verbs.quarantine(shell(), grain=api.post("/store", {"content": text}).json()["grain_id"])

    def over_mcp(name, **given):
        tool = registry.find_for(principal, name)
        answer = tool.run(principal, registry.check_arguments(tool, given)[0])
        jsonschema.validate(json.loads(json.dumps(answer)), tool.output_schema())
        return answer

    def at_the_shell(*words):
        out = io.StringIO()
        call_command("flux_store", text, "--space", "home", *words, stdout=out)
        return out.getvalue()

    answers = [
        api.post("/store", {"content": text, "session": "rest"}).json(),
        api.post("/store/batch", {"items": [{"content": text, "session": "batch"}]}).json()["results"][0],
        api.post("/extract", {"content": text, "session": "extract"}).json(),
        over_mcp("flux_store", content=text, session="mcp"),
        over_mcp("flux_store", items=[{"content": text, "session": "mcp batch"}])["results"][0],
        json.loads(at_the_shell("--provenance", "ai_stated", "--session", "shell", "--json")),
    ]
    assert [(one["status"], "not recalled" in one["reason"]) for one in answers] == [("quarantined", True)] * 6
    assert "not recalled" in at_the_shell("--provenance", "ai_stated")
    assert api.post("/retrieve", {"query": text}).json()["grains"] == []
