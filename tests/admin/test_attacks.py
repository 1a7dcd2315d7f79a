"""Attacks on the admin that once succeeded."""

from __future__ import annotations

import pytest
from django.db import connection

from accounts import agents, audit, effective_capabilities, grants, people, scopes, tokens
from accounts.audit import chain_status, checkpoints
from accounts.models import Agent, AuditEntry, Membership, User
from accounts.principals import shell
from fluxcore.errors import AboveTrust, Conflict, Invalid
from tests.admin.conftest import words
from tests.dashboard.conftest import Person, post

CHAINS = "/admin/accounts/auditentry/chains/"


@pytest.fixture(autouse=True)
def _nothing_known():
    chain_status._verified.clear()
    yield
    chain_status._verified.clear()


def test_verify_all_sees_the_chain_of_a_space_that_is_gone(house, own_home):
    agents.create_space(shell(), name="gone")
    agents.create_agent(shell(), space="gone", name="helper", capabilities=[])
    agents.switch_agent(shell(), space="gone", name="helper", active=False)
    chain = AuditEntry.objects.get(action="agents.switch", outcome="done").chain
    checkpoints.make_checkpoint()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_agent WHERE name = 'helper'")
        cursor.execute("DELETE FROM accounts_space WHERE name = 'gone'")
    client = house.client("administrator")
    assert "broken" not in words(post(client, CHAINS, chain=""))
    AuditEntry.objects.filter(chain=chain, action="agents.switch").delete()
    page = words(post(client, CHAINS, chain=""))
    assert chain[:8] in page and "entry" in page and checkpoints.verify_chains().sound is False
    AuditEntry.objects.filter(chain=chain).delete()
    assert "missing" in words(post(client, CHAINS, chain=chain))
    assert post(house.client("owner"), CHAINS, chain=chain).status_code == 404


def test_new_capabilities_do_not_undo_a_trust_that_was_lowered_meanwhile(house, monkeypatch):
    agents.set_trust(shell(), space="home", name="alice", trust="trusted")
    really, lowered = effective_capabilities.check, []

    def check(*given):
        really(*given)
        if not lowered:
            lowered.append(agents.set_trust(shell(), space="home", name="alice", trust="untrusted"))

    monkeypatch.setattr(effective_capabilities, "check", check)
    with pytest.raises(AboveTrust):
        agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.read", "grains.write"])
    assert Agent.objects.get(name="alice", space__name="home").trust == "untrusted"


def test_a_form_that_was_open_too_long_restores_nothing(house):
    client = house.client("owner")
    address = house.address("accounts.agent", act="capabilities")
    row = house.row("accounts.agent")
    seen = "\n".join(Agent.objects.get(pk=row.pk).capabilities)
    page = client.get(address)
    assert 'type="hidden" name="instead_of"' in page.content.decode() and "Instead of" not in words(page)
    agents.apply_agent(shell(), space="home", name=row.name, capabilities=["health.read"])
    late = post(client, address, capabilities=seen, instead_of=seen, reason="an hour later")
    assert late.status_code == 409 and "have changed since you opened" in words(late)
    assert Agent.objects.get(pk=row.pk).capabilities == ["health.read"]
    again = post(client, address, capabilities="grains.read", instead_of="health.read", reason="now")
    assert again.status_code == 302 and Agent.objects.get(pk=row.pk).capabilities == ["grains.read"]


def test_patterns_made_to_be_slow_are_compared_like_others():
    slow = ["a*" * 254 + chr(98 + number) for number in range(6)]
    for inner in slow:
        for outer in slow:
            assert scopes.within(inner, outer) == (inner == outer)


def test_holding_capabilities_compares_no_patterns_until_they_are_listed(monkeypatch, make_token):
    token = make_token("parent", capabilities=("memory.read:a*",))
    agents.create_agent(shell(), space="home", name="child", capabilities=["memory.read:a*b"], parent="parent")
    compared = []
    monkeypatch.setattr(scopes, "within", lambda *given: compared.append(given) or True)
    child = tokens.mint(shell(), space="home", agent="child")["token"]
    held = tokens.authenticate(child).capabilities
    assert held.allow("memory.read", "ab") and compared == []
    assert "memory.read:a*b" in held.texts and compared and token


def test_an_owner_makes_no_administrator_a_member_and_learns_nothing_of_how_others_sign_in(house):
    Person("stranger", administrator=False)
    client = house.client("owner")
    refused = post(client, "/admin/accounts/membership/add/", space="home", username="ada", role="viewer", reason="x")
    assert refused.status_code == 409 and "already has all rights" in words(refused)
    added = post(
        client, "/admin/accounts/membership/add/", space="home", username="stranger", role="viewer", reason="x"
    )
    assert added.status_code == 302
    number = User.objects.get(username="stranger").pk
    text = words(client.get(f"/admin/accounts/user/{number}/change/"))
    assert "stranger" in text and "Last sign-in" not in text and "Second factor" not in text
    assert "last sign-in" not in words(client.get("/admin/accounts/user/")).lower()
    full = words(house.client("administrator").get(f"/admin/accounts/user/{number}/change/")).lower()
    assert "last sign-in" in full and "second factor" in full
    with pytest.raises(Conflict):
        people.set_role(shell(), username="ada", space="home", role="owner")
    assert not Membership.objects.filter(user__username="ada").exists()


@pytest.mark.parametrize("letter", ["\u202e", "\u200b", "\u00ad", "\u2066"])
def test_no_agent_hides_or_reorders_words_before_the_person_who_decides(house, letter):
    assert letter not in audit.readable(f"harmless{letter}drawer", 500)


@pytest.mark.parametrize("letter", ["\u202e", "\u3164", "\u00ad", "\ufe0f", "\U000e0041", "\u115f"])
def test_a_capability_has_only_letters_that_can_be_seen(letter):
    with pytest.raises(Invalid):
        grants.check_capability(f"memory.read:notes{letter}/a")


def test_whoever_is_invited_into_a_space_is_on_its_chain(house):
    client = house.client("administrator")
    answer = post(client, "/admin/accounts/user/add/", username="zed", space="home", role="owner", reason="a new owner")
    assert answer.status_code == 200
    entry = AuditEntry.objects.get(action="people.invite", object="user:zed")
    assert entry.chain == house.row("accounts.space").uuid.hex and '"role":"owner"' in entry.details
