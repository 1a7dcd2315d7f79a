"""POST /extract: takes the fields of /store and stores the text at once"""

from __future__ import annotations

import pytest

from fluxcore.models import Job
from memory.extraction.models import Extraction
from memory.grains.models import Grain
from tests.rest.routes import refused


@pytest.fixture
def extracting(configure):
    configure(OPERATING_MODE="flux_extracts")


def test_it_stores_and_says_that_a_model_will_look(api, extracting):
    answer = api.post("/extract", {"content": "I moved to Lisbon.", "speaker": "Anna", "provenance": "user_stated"})
    assert answer.status_code == 200
    body = answer.json()
    assert {name: body[name] for name in ("status", "provenance", "extraction")} == {
        "status": "stored",
        "provenance": "user_stated",
        "extraction": "waiting",
    }
    assert Grain.objects.get(uuid=body["grain_id"]).text == "I moved to Lisbon."
    assert Extraction.objects.get().ceiling == 1
    assert Job.objects.filter(kind="extraction.extract").count() == 1


def test_without_a_model_it_is_a_store(api):
    assert api.post("/extract", {"content": "I moved to Lisbon."}).json()["extraction"] == "off"
    assert (Grain.objects.count(), Extraction.objects.count()) == (1, 0)


def test_a_repeated_call_under_one_key_is_one_call(api, extracting):
    said = [api.post("/extract", {"content": "once"}, {"Idempotency-Key": "k"}).json() for _ in range(2)]
    assert said[0] == said[1]
    assert Grain.objects.get().corroborations == 0


def test_above_the_ceiling_nothing_is_stored(make_token, as_agent, extracting):
    api = as_agent(make_token(ceiling="ai_stated"))
    refused(api.post("/extract", {"content": "a", "provenance": "user_stated"}), 403, "origin_above_ceiling")
    assert (Grain.objects.count(), Extraction.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content": ""},
        {"content": 7},
        {"content": "a\0b"},
        {"content": "a" * 20_000},
        {"content": "a", "url": "http://x"},
        {"content": "a", "model": "x"},
        {"content": "a", "session": ""},
        {"content": "a", "provenance": "user_confirmed"},
    ],
)
def test_bad_input_is_told_what_is_wrong_with_it(api, extracting, body):
    refused(api.post("/extract", body), 422, "invalid")
    assert Grain.objects.count() == 0


def test_it_counts_against_the_agents_minute(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=1, OPERATING_MODE="flux_extracts")
    assert api.post("/extract", {"content": "one"}).status_code == 200
    refused(api.post("/extract", {"content": "two"}), 429, "rate_limited")
    assert Extraction.objects.count() == 1


def test_health_tells_holders_of_the_model(make_token, as_agent, extracting):
    holder = as_agent(make_token(capabilities=("grains.write", "health.read")))
    holder.post("/extract", {"content": "one"})
    found = holder.get("/health").json()["model"]
    assert (found["state"], found["waiting"], found["today"]["calls"]) == ("not asked yet", 1, 0)
    assert "model" not in as_agent(make_token("plain")).get("/health").json()


def test_what_became_of_it_is_asked_for_by_its_id(api, make_token, as_agent, extracting):
    grain = api.post("/extract", {"content": "one"}).json()["grain_id"]
    told = api.get(f"/extract/{grain}").json()
    assert told == {"grain_id": grain, "extraction": "waiting", "problem": None, "statements": [], "rests_on": []}
    stranger = as_agent(make_token("mallory", space="elsewhere"))
    for unknown in (grain, "banana", "00000000-0000-0000-0000-000000000000"):
        refused(stranger.get(f"/extract/{unknown}"), 404, "not_found")
    refused(api.get(f"/extract/{grain}", more=1), 422, "invalid")
