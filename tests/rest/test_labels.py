"""X-Caller-Id, caller_id, client and role label a caller inside its token's agent; they are never an identity."""

from __future__ import annotations

import pytest

from accounts.labels import check_label
from accounts.models import AuditEntry
from fluxcore.errors import Invalid
from fluxcore.models import LimitWindow
from memory.grains.models import Grain
from tests.rest.routes import refused

LABELS = [
    ({}, {}, ""),
    ({"X-Caller-Id": "desk"}, {}, "desk"),
    ({}, {"caller_id": "desk"}, "desk"),
    ({}, {"client": "cursor"}, "cursor"),
    ({}, {"role": "reviewer"}, "reviewer"),
    ({}, {"client": "cursor", "role": "reviewer"}, "cursor:reviewer"),
    ({}, {"caller_id": "desk", "client": "cursor", "role": "reviewer"}, "desk"),
    ({"X-Caller-Id": "door"}, {"caller_id": "desk", "client": "cursor"}, "door"),
    ({}, {"caller_id": "", "client": "cursor", "role": ""}, "cursor"),
    ({}, {"caller_id": None, "client": None, "role": None}, ""),
    ({}, {"caller_id": "Дéск \U0001f98a"}, "Дéск \U0001f98a"),
    ({}, {"client": "c" * 60, "role": "r" * 60}, "c" * 60 + ":" + "r" * 60),
]


@pytest.mark.parametrize(("headers", "fields", "label"), LABELS)
def test_the_label_is_recorded_beside_the_agent(api, headers, fields, label):
    grain = api.post("/store", {"content": "x", **fields}, headers=headers).json()["grain_id"]
    found = api.get(f"/grains/{grain}").json()
    assert (found["writer"], found["label"]) == ("agent:alice", label)
    entry = AuditEntry.objects.get(action="grains.store")
    assert entry.actor == "agent:alice"
    assert (f'"label":"{label}"' in entry.details) == bool(label)


@pytest.mark.parametrize("label", ["bert", "agent:bert", "shell:root", "south/agent:bert", "admin", "../south"])
def test_naming_another_agent_gives_none_of_its_rights(make_token, as_agent, label):
    make_token("bert", space="south", capabilities=("grains.read", "grains.write", "metrics.read", "health.read"))
    anna = as_agent(make_token("anna", space="north", capabilities=("grains.write",)))
    headers = {"X-Caller-Id": label}
    fields = {"caller_id": label, "client": label, "role": label}
    refused(anna.get("/grains", headers=headers), 403, "forbidden")
    refused(anna.get("/metrics", headers=headers), 403, "forbidden")
    assert anna.get("/health", headers=headers).json() == {"status": "ok"}
    anna.post("/store", {"content": "x", **fields}, headers=headers)
    grain = Grain.objects.get()
    assert (grain.writer, grain.space.name) == ("agent:anna", "north")


@pytest.mark.parametrize("label", ["x" * 129, "two\nlines", "\u202eback", "half \ud800", 7, None])
def test_a_label_nobody_could_read_is_refused(label):
    with pytest.raises(Invalid):
        check_label("caller_id", label)


def test_a_label_without_a_token_is_nobody(db, as_agent):
    nobody = as_agent(None)
    headers = {"X-Caller-Id": "alice", "Cookie": "sessionid=alice", "Remote-User": "alice", "X-Forwarded-User": "alice"}
    refused(nobody.get("/grains", headers=headers), 401, "unauthenticated")
    refused(nobody.post("/store", {"content": "x", "caller_id": "alice"}, headers=headers), 401, "unauthenticated")


def test_every_label_has_a_share_of_its_own(api, configure):
    """As flux-memory limits per caller: header, body and no label at all are three callers of one agent."""
    configure(MAX_GRAINS_PER_MINUTE=2)
    callers = [({"X-Caller-Id": "desk"}, {}), ({}, {"caller_id": "phone"}), ({}, {})]
    codes = [
        [api.post("/store", {"content": f"{at} {n}", **fields}, headers=headers).status_code for n in range(3)]
        for at, (headers, fields) in enumerate(callers)
    ]
    assert codes == [[200, 200, 429]] * 3
    again = api.post("/store", {"content": "x", "caller_id": "desk"})
    assert (again.status_code, again.json()["details"]["limit"]) == (429, 2)  # the same label, said in the body
    assert 0 < int(again.headers["Retry-After"]) <= 61


def test_changing_the_label_does_not_go_around_the_agents_limit(api, configure):
    configure(MAX_GRAINS_PER_MINUTE=2)
    answers = [
        api.post(
            "/store",
            {"content": f"{n}", "caller_id": f"c{n}", "client": f"k{n}", "role": f"r{n}"},
            headers={"X-Caller-Id": f"h{n}", "X-Forwarded-For": f"10.0.0.{n}", "X-Real-IP": f"10.0.0.{n}"},
        )
        for n in range(11)
    ]
    assert [one.status_code for one in answers] == [200] * 8 + [429] * 3
    assert answers[-1].json()["details"]["limit"] == 8
    assert LimitWindow.objects.count() == 1  # labels make no rows


def test_votes_are_counted_for_the_agent_alone(make_token, as_agent, configure):
    configure(MAX_VOTES_PER_MINUTE=1)
    api = as_agent(make_token(capabilities=("grains.read", "grains.write", "grains.feedback")))
    grain = api.post("/store", {"content": "the kettle is blue"}).json()["grain_id"]
    trace = api.post("/retrieve", {"query": "kettle"}).json()["trace_id"]
    vote = {"trace_id": trace, "grain_id": grain, "useful": True}
    codes = [api.post("/feedback", vote, headers={"X-Caller-Id": label}).status_code for label in ("one", "two")]
    assert codes == [200, 429]


def test_carrying_anothers_label_does_not_use_up_its_limit(make_token, as_agent, configure):
    configure(MAX_GRAINS_PER_MINUTE=2)
    anna, bert = as_agent(make_token("anna")), as_agent(make_token("bert"))
    for n in range(3):
        anna.post("/store", {"content": f"{n}", "caller_id": "bert"}, headers={"X-Caller-Id": "agent:bert"})
    assert [bert.post("/store", {"content": f"b{n}"}).status_code for n in range(3)] == [200, 200, 429]


def test_an_agent_of_the_same_name_in_another_space_is_another_agent(make_token, as_agent, configure):
    configure(MAX_GRAINS_PER_MINUTE=1)
    north, south = (as_agent(make_token("alice", space=space)) for space in ("north", "south"))
    headers = {"Idempotency-Key": "same"}
    assert north.post("/store", {"content": "n"}, headers=headers).json()["status"] == "stored"
    assert south.post("/store", {"content": "s"}, headers=headers).json()["status"] == "stored"
    assert [grain["content"] for grain in south.get("/grains").json()["grains"]] == ["s"]


def test_the_label_is_part_of_no_cache_key_or_idempotency_owner(api):
    first = api.post("/store", {"content": "x"}, headers={"Idempotency-Key": "k", "X-Caller-Id": "one"}).json()
    again = api.post("/store", {"content": "x"}, headers={"Idempotency-Key": "k", "X-Caller-Id": "two"}).json()
    assert first == again
