"""flux_agent"""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry

MANIFEST = """\
name: researcher
spec:
  capabilities:
    - grains.read
    - memory.write:notes/*
"""


@pytest.fixture(autouse=True)
def _main_space(run):
    run("flux_space", "create", "main")


def test_it_makes_an_agent_for_everyday_use(run):
    made = run("flux_agent", "create", "helper", "--json").json()
    assert "grains.write" in made["capabilities"]
    assert "metrics.read" not in made["capabilities"]
    assert "helper" in run("flux_agent").text


def test_it_makes_an_agent_with_exactly_the_capabilities_named(run):
    made = run("flux_agent", "create", "reader", "--capability", "grains.read", "--json").json()
    assert made["capabilities"] == ["grains.read"]


def test_it_applies_a_manifest_once(run, tmp_path):
    file = tmp_path / "researcher.yaml"
    file.write_text(MANIFEST)
    first = run("flux_agent", "apply", str(file), "--json").json()["agents"][0]
    again = run("flux_agent", "apply", str(file), "--json").json()["agents"][0]
    assert (first["created"], first["changed"]) == (True, True)
    assert (again["created"], again["changed"]) == (False, False)
    assert again["capabilities"] == ["grains.read", "memory.write:notes/*"]


def test_a_changed_manifest_takes_capabilities_away(run, tmp_path):
    file = tmp_path / "researcher.yaml"
    file.write_text(MANIFEST)
    run("flux_agent", "apply", str(file))
    file.write_text("name: researcher\nspec:\n  capabilities: [grains.read]\n")
    assert run("flux_agent", "apply", str(file), "--json").json()["agents"][0]["capabilities"] == ["grains.read"]


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("name: other\nspec:\n  capabilites: [grains.read]\n", "line 9"),
        ("name: Other!\nspec:\n  capabilities: [grains.read]\n", "line 7"),
        ("name: other\nspace: nowhere\nspec:\n  capabilities: [grains.read]\n", "nowhere"),
    ],
)
def test_a_bad_manifest_is_refused_by_name_and_applies_nothing(run, tmp_path, second, said):
    file = tmp_path / "two.yaml"
    file.write_text(MANIFEST + "---\n" + second)
    refused = run("flux_agent", "apply", str(file), "--json")
    assert said in refused.json()["error"]["message"]
    assert run("flux_agent", "--json").json()["agents"] == []


def test_a_stopped_agent_has_no_working_token(run, as_agent):
    run("flux_agent", "create", "helper")
    token = run("flux_token", "mint", "helper", "--json").json()["token"]
    assert as_agent(token).get("/grains").status_code == 200
    run("flux_agent", "stop", "helper", "--reason", "on holiday")
    assert as_agent(token).get("/grains").status_code == 401
    run("flux_agent", "resume", "helper")
    assert as_agent(token).get("/grains").status_code == 200
    assert AuditEntry.objects.filter(action="agents.switch", reason="on holiday").exists()


def test_it_names_what_it_cannot_find(run):
    assert "flux_agent list" in run("flux_agent", "show", "nobody", "--json").json()["error"]["message"]


def test_it_makes_an_agent_for_another_and_shows_what_it_holds_now(run):
    run("flux_agent", "create", "boss", "--capability", "grains.read", "--capability", "grains.write")
    made = run("flux_agent", "create", "kid", "--parent", "boss", "--capability", "grains.write", "--json").json()
    assert (made["parent"], made["trust"]) == ("boss", "trusted")
    assert run("flux_agent", "show", "kid", "--json").json()["holds_now"] == ["grains.write"]
    run("flux_agent", "trust", "boss", "sandboxed", "--reason", "odd answers")
    shown = run("flux_agent", "show", "kid", "--json").json()
    assert (shown["capabilities"], shown["holds_now"]) == (["grains.write"], [])
    assert "boss" in run("flux_agent").text
    assert AuditEntry.objects.filter(action="agents.set_trust", reason="odd answers").exists()


def test_votes_are_required_of_one_agent_and_no_longer(run):
    run("flux_agent", "create", "rater")
    assert "before it can recall again" in run("flux_agent", "rating", "rater", "required").text
    assert run("flux_agent", "show", "rater", "--json").json()["must_rate"] is True
    assert "only reminded" in run("flux_agent", "rating", "rater", "optional").text
    assert run("flux_agent", "rating", "rater", "often", "--json").json()["error"]["code"] == "invalid"


def test_it_refuses_more_than_trust_or_parent_allow(run):
    low = run("flux_agent", "create", "low", "--trust", "untrusted", "--capability", "grains.write", "--json")
    assert low.json()["error"]["code"] == "above_trust"
    run("flux_agent", "create", "boss", "--capability", "grains.read")
    kid = run("flux_agent", "create", "kid", "--parent", "boss", "--capability", "grains.write", "--json")
    assert kid.json()["error"]["code"] == "above_parent"
    assert "capability escalation denied" in kid.json()["error"]["message"]


def test_a_manifest_sets_trust_and_parent(run, tmp_path):
    file = tmp_path / "family.yaml"
    file.write_text(
        "name: boss\nspec:\n  trust: sandboxed\n  capabilities: [grains.read]\n"
        "---\nname: kid\nspec:\n  parent: boss\n  capabilities: [grains.read]\n"
    )
    boss, kid = run("flux_agent", "apply", str(file), "--json").json()["agents"]
    assert (boss["trust"], boss["parent"]) == ("sandboxed", None)
    assert (kid["trust"], kid["parent"]) == ("sandboxed", "boss")
    again = run("flux_agent", "apply", str(file), "--json").json()["agents"]
    assert [one["changed"] for one in again] == [False, False]


def test_stopping_says_that_grants_were_taken_back(run):
    run("flux_agent", "create", "helper")
    run("flux_grant", "give", "helper", "metrics.read")
    assert "Grants revoked: 1" in run("flux_agent", "stop", "helper").text
