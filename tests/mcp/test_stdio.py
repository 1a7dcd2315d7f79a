"""MCP over standard input with `manage.py flux_mcp`: the SDK's client, both protocol revisions."""

from __future__ import annotations

import pytest

from tests.instances import Instance
from tests.mcp.driver import Driver, over_stdio

USUAL = [
    "flux_onboard",
    "flux_retrieve",
    "flux_store",
    "flux_feedback",
    "flux_health",
    "flux_list_grains",
    "flux_pending_feedback",
]


def test_the_loop(stdio: Driver) -> None:
    onboard = stdio.call("flux_onboard")
    assert onboard["operating_mode"] == "caller_extracts"
    assert "flux_retrieve" in onboard["instructions"] and "flux_feedback" in onboard["instructions"]

    stored = stdio.call("flux_store", content="Ada takes her tea without sugar.", provenance="user_stated")
    assert (stored["status"], stored["provenance"]) == ("stored", "user_stated")

    answer = stdio.call("flux_retrieve", query="How does Ada take her tea?")
    assert [one["id"] for one in answer["grains"]] == [stored["grain_id"]]

    vote = stdio.call("flux_feedback", trace_id=answer["trace_id"], grain_id=stored["grain_id"], useful=True)
    assert (vote["status"], vote["changed"]) == ("recorded", True)


def test_many_at_once(stdio: Driver) -> None:
    answer = stdio.call(
        "flux_store", items=[{"content": "Grace keeps bees."}, {"content": " "}, {"content": "Grace sails."}]
    )
    assert (answer["count"], answer["refused"]) == (2, 1)
    assert answer["results"][1]["error"]["code"] == "invalid"

    found = stdio.call("flux_retrieve", query="What does Grace do?")
    votes = [{"trace_id": found["trace_id"], "grain_id": one["id"], "useful": True} for one in found["grains"]]
    rated = stdio.call("flux_feedback", items=votes)
    assert rated["count"] == len(votes) >= 2


def test_the_other_usual_tools(stdio: Driver) -> None:
    assert stdio.call("flux_health")["status"] == "healthy"
    assert "signals" in stdio.call("flux_health", explain=True)
    stdio.call("flux_store", items=[{"content": "The first of two."}, {"content": "The second of two."}])
    page = stdio.call("flux_list_grains", limit=1)
    assert page["count"] == 1 and stdio.call("flux_list_grains", limit=1, cursor=page["next_cursor"])["count"] == 1
    assert stdio.call("flux_pending_feedback") == {"pending": [], "more": False}


def test_the_list_is_the_usual_seven_described_in_full(stdio: Driver) -> None:
    tools = stdio.tools()
    assert list(tools) == USUAL
    for tool in tools.values():
        assert tool.title and tool.description and tool.output_schema
        assert tool.input_schema["additionalProperties"] is False
        hints = tool.annotations
        assert None not in (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
    assert tools["flux_retrieve"].annotations.read_only_hint
    assert not tools["flux_store"].annotations.read_only_hint


def test_resources_and_prompts(stdio: Driver) -> None:
    stored = stdio.call("flux_store", content="Edsger wrote with a fountain pen.")
    trace = stdio.call("flux_retrieve", query="fountain pen")["trace_id"]
    grain = stdio.ask(lambda client: client.read_resource(f"flux://grains/{stored['grain_id']}"))
    assert "fountain pen" in grain.contents[0].text
    why = stdio.ask(lambda client: client.read_resource(f"flux://traces/{trace}"))
    assert '"query": "fountain pen"' in why.contents[0].text
    text = stdio.ask(lambda client: client.read_resource("flux://onboarding"))
    assert "flux_retrieve" in text.contents[0].text

    prompts = stdio.ask(lambda client: client.list_prompts()).prompts
    assert {prompt.name for prompt in prompts} == {"remember", "what_do_you_know"}
    prompt = stdio.ask(lambda client: client.get_prompt("what_do_you_know", {"subject": "Ada {0} %s"}))
    assert "Ada {0} %s" in prompt.messages[0].content.text


def test_the_handshake_of_the_older_revision(home: Instance) -> None:
    driver = over_stdio(home, "--agent", "assistant", "--space", "main", "--ceiling", "ai_stated", mode="legacy")
    try:
        assert driver.client.protocol_version == "2025-11-25"
        assert list(driver.tools()) == USUAL
        assert driver.call("flux_store", content="Two revisions, one memory.")["status"] == "stored"
        refused = driver.refused("flux_store", content="I vouch for this.", provenance="user_stated")
        assert refused[0] == "origin_above_ceiling"
    finally:
        driver.close()


@pytest.mark.parametrize(
    "uri", ["flux://grains/banana", "flux://grains/00000000-0000-0000-0000-000000000000", "flux://x"]
)
def test_a_resource_that_is_not_there(stdio: Driver, uri: str) -> None:
    with pytest.raises(Exception, match="not_found: "):
        stdio.ask(lambda client: client.read_resource(uri))
