"""Grant requests: an agent requests, a person decides; accepting checks everything again."""

from __future__ import annotations

import json

import pytest

from accounts import agents, grants, roles, tokens
from accounts.models import AuditEntry, Grant, GrantRequest, User
from accounts.principals import shell
from fluxcore.errors import AboveParent, AboveTrust, Conflict, Forbidden, Invalid, NotFound, RateLimited
from fluxcore.models import Event

pytestmark = pytest.mark.storage


@pytest.fixture
def alice(space, make_token):
    token = make_token(capabilities=("grains.write",), trust="trusted")
    return lambda: tokens.authenticate(token)


def ask(principal, capability="grains.read", **more):
    return grants.request(principal, capability=capability, **more)


def test_asking_gives_nothing_and_waits(alice):
    asked = ask(alice(), reason="to answer questions")
    assert (asked["state"], asked["reason"], asked["grant"]) == ("waiting", "to answer questions", None)
    assert not alice().capabilities.allow("grains.read")
    entry = AuditEntry.objects.get(action="grants.request")
    assert (entry.actor, entry.object, entry.outcome) == ("agent:alice", asked["id"], "done")
    assert Event.objects.get(kind="grant.requested").subject == asked["id"]


def test_accepting_gives_it_at_once_and_once(alice, space):
    asked = ask(alice())
    done = grants.accept(shell(), request=asked["id"], expires_at="2090-01-01T00:00:00Z", reason="until new year")
    assert (done["state"], done["answer"]) == ("accepted", "until new year")
    assert alice().capabilities.allow("grains.read")
    grant = Grant.objects.get()
    assert (str(grant.uuid), grant.granted_by) == (done["grant"], shell().actor)
    entry = AuditEntry.objects.get(action="capability_granted")
    assert entry.chain == space.uuid.hex
    assert json.loads(entry.details)["request"] == asked["id"]
    assert json.loads(entry.details)["verb"] == "grants.accept"
    for again in (grants.accept, grants.decline):
        with pytest.raises(Conflict, match="already been answered"):
            again(shell(), request=asked["id"])
    assert Grant.objects.count() == 1


def test_declining_leaves_it_without_and_tells_it_why(alice):
    asked = ask(alice())
    done = grants.decline(shell(), request=asked["id"], reason="ask bob")
    assert (done["state"], done["answer"], done["grant"]) == ("declined", "ask bob", None)
    assert not alice().capabilities.allow("grains.read")
    assert grants.own_requests(alice())["requests"][0]["answer"] == "ask bob"
    with pytest.raises(Conflict):
        grants.accept(shell(), request=asked["id"])
    assert not Grant.objects.exists()


def test_the_same_question_is_asked_once_while_it_waits(alice):
    first = ask(alice(), reason="one")
    assert ask(alice(), reason="two") == first
    assert GrantRequest.objects.count() == 1
    grants.decline(shell(), request=first["id"])
    assert ask(alice())["id"] != first["id"]


def test_only_so_many_wait_at_a_time(alice, monkeypatch):
    monkeypatch.setattr(grants, "MAX_REQUESTS_PER_MINUTE", 1000)
    asked = [ask(alice(), f"memory.read:k{n}") for n in range(grants.MAX_WAITING)]
    with pytest.raises(Conflict) as refusal:
        ask(alice(), "memory.read:one-more")
    assert refusal.value.details == {"limit": 20}
    assert ask(alice(), "memory.read:k0") == asked[0]
    grants.decline(shell(), request=asked[0]["id"])
    ask(alice(), "memory.read:one-more")


def test_asking_is_limited_by_the_minute(alice):
    asked = ask(alice())
    for _ in range(grants.MAX_REQUESTS_PER_MINUTE - 1):
        ask(alice())
    with pytest.raises(RateLimited):
        ask(alice())
    assert GrantRequest.objects.get().uuid.hex == asked["id"].replace("-", "")


def test_what_can_never_be_is_refused_at_once(alice, make_token):
    with pytest.raises(AboveTrust):
        ask(alice(), "graph.export")
    child = tokens.authenticate(make_token("child", capabilities=(), parent="alice", trust="trusted"))
    with pytest.raises(AboveParent, match="capability escalation denied"):
        ask(child, "grains.read")
    assert not GrantRequest.objects.exists()
    assert AuditEntry.objects.filter(action="grants.request", outcome="refused").count() == 2


@pytest.mark.parametrize("capability", ["grains.write", "grains.write:*"])
def test_what_it_holds_it_need_not_ask_for(alice, capability):
    with pytest.raises(Conflict, match="already has that"):
        ask(alice(), capability)


@pytest.mark.parametrize("capability", ["purge", "grant", "x", "", None, 7, {}, "memory.read:\x1b[2J"])
def test_nonsense_is_refused(alice, capability):
    with pytest.raises(Invalid):
        ask(alice(), capability)
    assert not GrantRequest.objects.exists()


def test_its_words_cannot_drive_a_terminal(alice):
    ask(alice(), reason="\x1b[2Jplease\r\nyes")
    assert GrantRequest.objects.get().reason == "\\u001b[2Jplease\\u000d\\u000ayes"


def test_only_an_agent_asks(space):
    with pytest.raises(Invalid):
        ask(shell())
    user = User.objects.create(username="ada")
    with pytest.raises(Forbidden):
        ask(roles.person_principal(user, fresh=True, space=space, role="owner"))


# Everything is checked again ------------------------------------------------------------------------


def test_trust_lowered_since_is_seen(alice):
    asked = ask(alice(), "bb.write:board/*")
    agents.set_trust(shell(), space="home", name="alice", trust="sandboxed")
    with pytest.raises(AboveTrust):
        grants.accept(shell(), request=asked["id"])
    assert GrantRequest.objects.get().state == "waiting"


def test_a_parent_narrowed_since_is_seen(alice, make_token):
    token = make_token("child", capabilities=(), parent="alice", trust="trusted")
    asked = ask(tokens.authenticate(token), "grains.write")
    agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.read"])
    with pytest.raises(AboveParent):
        grants.accept(shell(), request=asked["id"])
    assert not Grant.objects.exists()


def test_the_right_of_whoever_accepts_is_seen(make_token, space):
    token = make_token("big", capabilities=(), trust="privileged")
    asked = ask(tokens.authenticate(token), "snapshots.create")
    user = User.objects.create(username="ada")
    with pytest.raises(Forbidden, match="do not have yourself"):
        grants.accept(roles.person_principal(user, fresh=True, space=space, role="operator"), request=asked["id"])
    assert GrantRequest.objects.get().state == "waiting"
    grants.accept(roles.person_principal(user, fresh=True, space=space, role="owner"), request=asked["id"])


def test_an_end_in_the_past_leaves_it_waiting(alice):
    asked = ask(alice())
    with pytest.raises(Invalid):
        grants.accept(shell(), request=asked["id"], expires_at="2020-01-01T00:00:00Z")
    assert GrantRequest.objects.get().state == "waiting"


def test_another_spaces_requests_are_not_there(alice, make_token):
    asked = ask(alice())
    make_token(space="elsewhere")
    user = User.objects.create(username="ada")
    from accounts.models import Space

    stranger = roles.person_principal(user, fresh=True, space=Space.objects.get(name="elsewhere"), role="owner")
    for answer in (grants.accept, grants.decline):
        with pytest.raises(NotFound):
            answer(stranger, request=asked["id"])
    assert GrantRequest.objects.get().state == "waiting"


def test_stopping_the_agent_answers_what_waits(alice):
    asked = ask(alice())
    agents.switch_agent(shell(), space="home", name="alice", active=False)
    assert GrantRequest.objects.get().state == "declined"
    with pytest.raises(Conflict):
        grants.accept(shell(), request=asked["id"])


def test_an_agent_answers_nobody_not_even_itself(alice):
    asked = ask(alice())
    for answer in (grants.accept, grants.decline):
        with pytest.raises(Forbidden):
            answer(alice(), request=asked["id"])
    assert GrantRequest.objects.get().state == "waiting"
