"""flux_grant"""

from __future__ import annotations

import pytest

from accounts import grants, tokens
from accounts.models import AuditEntry, Grant
from accounts.principals import shell


@pytest.fixture
def helper(run):
    """An agent's token."""
    run("flux_space", "create", "main")
    run("flux_agent", "create", "helper", "--capability", "grains.write")
    return run("flux_token", "mint", "helper", "--json").json()["token"]


@pytest.fixture
def asked(helper):
    return grants.request(tokens.authenticate(helper), capability="grains.read", reason="to answer questions")


def test_it_gives_and_takes_back_at_once(run, helper, as_agent):
    assert as_agent(helper).get("/grains").status_code == 403
    given = run("flux_grant", "give", "helper", "grains.read", "--hours", "8", "--reason", "month end")
    grant = str(Grant.objects.get().uuid)
    assert f"flux_grant revoke {grant[:8]}" in given.text
    assert as_agent(helper).get("/grains").status_code == 200
    assert "grains.read" in run("flux_grant").text
    assert "Revoked from" in run("flux_grant", "revoke", grant).text
    assert as_agent(helper).get("/grains").status_code == 403
    assert "flux_grant give" in run("flux_grant").text
    assert run("flux_grant", "list", "--all", "--json").json()["grants"][0]["revoked_at"] is not None
    assert AuditEntry.objects.filter(action="capability_granted", reason="month end").exists()


@pytest.mark.parametrize(
    ("option", "hours"),
    [(("--hours", "1.5"), 1.5), (("--days", "2"), 48)],
)
def test_it_holds_as_long_as_it_says(run, helper, option, hours):
    run("flux_grant", "give", "helper", "grains.read", *option)
    row = Grant.objects.get()
    assert (row.expires_at - row.granted_at).total_seconds() == pytest.approx(hours * 3600, abs=5)


@pytest.mark.parametrize(
    ("option", "end"), [(("--until", "2090-01-01T00:00:00Z"), "2090-01-01T00:00:00.000000Z"), ((), None)]
)
def test_it_holds_until_the_moment_named_or_until_revoked(run, helper, option, end):
    assert run("flux_grant", "give", "helper", "grains.read", *option, "--json").json()["expires_at"] == end


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (("--hours=0",), "hours"),
        (("--hours=-1",), "hours"),
        (("--hours=nan",), "hours"),
        (("--days=1e9",), "days"),
        (("--until=tomorrow",), "expires_at"),
        (("--until=2020-01-01T00:00:00Z",), "expires_at"),
    ],
)
def test_it_refuses_an_end_that_is_none(run, helper, options, field):
    refused = run("flux_grant", "give", "helper", "grains.read", *options, "--json")
    assert refused.json()["error"]["details"]["field"] == field
    assert not Grant.objects.exists()


def test_it_names_what_lies_above_the_agent(run, helper):
    error = run("flux_grant", "give", "helper", "graph.export", "--json").json()["error"]
    assert (error["code"], error["details"]["needed"]) == ("above_trust", "privileged")
    run("flux_agent", "trust", "helper", "privileged")
    assert run("flux_grant", "give", "helper", "graph.export").status == 0


def test_it_shows_what_waits_and_what_to_do(run, helper, asked):
    said = run("flux_grant", "requests").text
    assert "to answer" in said
    assert asked["id"][:8] in said
    assert "flux_grant accept" in said
    accepted = run("flux_grant", "accept", asked["id"][:8], "--days", "1")
    assert "flux_grant revoke" in accepted.text
    assert "grains.read" in tokens.authenticate(helper).capabilities.texts
    assert "No open requests" in run("flux_grant", "requests").text
    assert run("flux_grant", "requests", "--all", "--json").json()["requests"][0]["state"] == "accepted"


def test_it_declines_with_words_for_the_agent(run, helper, asked):
    assert "does not get grains.read" in run("flux_grant", "decline", asked["id"], "--reason", "not today").text
    answer = grants.own_requests(tokens.authenticate(helper))["requests"][0]
    assert (answer["state"], answer["answer"]) == ("declined", "not today")


@pytest.mark.parametrize("scope", ["[/]", "[red]x", "[link=x]y", "a\\[b"])
def test_an_agents_words_are_shown_as_they_are(run, helper, scope):
    wanted = grants.request(tokens.authenticate(helper), capability=f"memory.read:{scope}", reason=scope)
    assert run("flux_grant", "requests").text.count(scope) == 2
    assert scope in run("flux_grant", "accept", wanted["id"]).text


def test_lists_can_be_of_one_space(run, helper, asked):
    run("flux_space", "create", "other")
    run("flux_agent", "create", "helper", "--space", "other")
    grants.give(shell(), space="other", agent="helper", capability="metrics.read")
    assert run("flux_grant", "--space", "main", "--json").json()["grants"] == []
    assert len(run("flux_grant", "--space", "other", "--json").json()["grants"]) == 1
    assert run("flux_grant", "requests", "--space", "other", "--json").json()["requests"] == []
    assert run("flux_grant", "--space", "nowhere", "--json").json()["error"]["code"] == "not_found"


def test_the_beginning_of_an_id_is_enough_while_only_one_begins_so(run, helper):
    one, two = (run("flux_grant", "give", "helper", f"memory.read:{n}", "--json").json()["id"] for n in "ab")
    Grant.objects.filter(uuid=one).update(uuid="abcdef12-0000-4000-8000-000000000001")
    Grant.objects.filter(uuid=two).update(uuid="abcd0012-0000-4000-8000-000000000002")
    assert run("flux_grant", "revoke", "abcd", "--json").json()["error"]["code"] == "invalid"
    assert run("flux_grant", "revoke", "dcba", "--json").json()["error"]["code"] == "not_found"
    assert run("flux_grant", "revoke", "abcd0", "--json").json()["capability"] == "memory.read:b"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("give",), "flux_grant give AGENT CAPABILITY"),
        (("give", "helper"), "flux_grant give AGENT CAPABILITY"),
        (("give", "nobody", "grains.read"), "flux_agent list"),
        (("revoke",), "flux_grant list"),
        (("accept",), "flux_grant requests"),
        (("decline", "00000000-0000-4000-8000-000000000000"), "flux_grant requests"),
        (("revoke", "00000000-0000-4000-8000-000000000000"), "flux_grant list"),
    ],
)
def test_a_refusal_says_where_to_look(run, helper, line, says):
    assert says in run("flux_grant", *line, "--json").json()["error"]["message"]
