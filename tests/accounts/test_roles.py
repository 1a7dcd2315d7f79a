"""Roles of people: owner, operator and viewer of a space, administrators of the instance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accounts import agents, own_account, people, roles, tokens
from accounts.authorise import authorise, may
from accounts.capabilities import NEED_FRESH_CODE, OPERATIONS
from accounts.models import Agent, AuditEntry, Membership, Space, User
from accounts.principals import shell
from accounts.verbs import REGISTRY
from fluxcore import clock
from fluxcore.errors import Forbidden, NotFound, StepUpRequired


@pytest.fixture
def other(space):
    agents.create_space(shell(), name="other")
    return Space.objects.get(name="other")


def acting(space, role, *, fresh=True):
    user, _ = User.objects.get_or_create(username=f"a-{role}")
    return roles.person_principal(user, fresh=fresh, space=space, role=role)


def test_each_role_may_what_the_one_below_it_may():
    assert roles.ALLOWS["viewer"] < roles.ALLOWS["operator"] < roles.ALLOWS["owner"] < roles.ALLOWS["administrator"]


def test_a_viewer_only_reads():
    assert all(operation.endswith(".read") for operation in roles.ALLOWS["viewer"])


def test_an_owner_may_everything_an_agent_may():
    assert roles.ALLOWS["owner"] >= OPERATIONS


def test_only_administrators_manage_the_instance(space):
    for role in ("viewer", "operator", "owner"):
        assert not may(acting(space, role), "instance.manage")
    assert may(roles.person_principal(User(username="ada", is_superuser=True), fresh=True), "instance.manage")


def test_nobody_without_a_role_may_anything(space):
    nobody = roles.person_principal(User(username="eve"), fresh=True)
    assert own_account.sign_out is not None  # registered with its module
    assert {needs for needs in REGISTRY.values() if may(nobody, needs)} == {"own.sessions", "own.secrets"}


@pytest.mark.parametrize("operation", sorted(NEED_FRESH_CODE - {"instance.manage"}))
def test_what_changes_rights_or_destroys_wants_a_fresh_code(space, operation):
    with pytest.raises(StepUpRequired):
        authorise(acting(space, "owner", fresh=False), operation)
    authorise(acting(space, "owner"), operation)
    assert not AuditEntry.objects.filter(outcome="refused").exists()


def test_who_may_not_is_refused_before_a_code_is_asked_for(space):
    with pytest.raises(Forbidden) as refused:
        authorise(acting(space, "viewer", fresh=False), "accounts.manage")
    assert not isinstance(refused.value, StepUpRequired)
    assert AuditEntry.objects.filter(outcome="refused", actor="user:a-viewer", chain=space.uuid.hex).count() == 1


def test_an_owner_reaches_only_their_own_space(space, other):
    agents.create_agent(shell(), space="other", name="helper", capabilities=[])
    token = tokens.mint(shell(), space="other", agent="helper")
    owner = acting(space, "owner")
    for attempt in (
        lambda: agents.create_agent(owner, space="other", name="mine", capabilities=[]),
        lambda: agents.apply_agent(owner, space="other", name="helper", capabilities=["grains.read"]),
        lambda: agents.switch_agent(owner, space="other", name="helper", active=False),
        lambda: tokens.mint(owner, space="other", agent="helper"),
        lambda: tokens.revoke(owner, prefix=token["prefix"]),
        lambda: people.invite(owner, username="eve", space="other", role="owner"),
        lambda: people.set_role(owner, username="a-owner", space="other", role="owner"),
    ):
        with pytest.raises(NotFound):
            attempt()
    agent = Agent.objects.get()
    assert agent.active and agent.capabilities == [] and not Membership.objects.exists()
    assert tokens.authenticate(token["token"]).name == "helper"


def test_a_foreign_space_is_answered_like_one_that_is_not_there(space, other):
    owner = acting(space, "owner")
    refusals = []
    for name in ("other", "nowhere"):
        with pytest.raises(NotFound) as refused:
            agents.create_agent(owner, space=name, name="mine", capabilities=[])
        refusals.append((refused.value.code, refused.value.message.replace(name, "X")))
    assert refusals[0] == refusals[1]


def test_an_owner_makes_no_administrator(space):
    with pytest.raises(Forbidden):
        people.invite(acting(space, "owner"), username="eve", administrator=True)
    assert not User.objects.filter(username="eve").exists()


def test_roles_are_read_from_the_memberships(space, other):
    user = User.objects.create(username="grace")
    Membership.objects.create(user=user, space=space, role="viewer", created_at=clock.now())
    assert roles.roles_of(user) == {space.pk: "viewer"}
    user.is_superuser = True
    assert roles.roles_of(user) == {space.pk: "owner", other.pk: "owner"}


def test_the_freshness_of_a_code_is_no_right_by_itself(space):
    stale = acting(space, "viewer", fresh=False)
    for needs in set(REGISTRY.values()):
        assert may(stale, needs) == may(replace(stale, fresh=True), needs)
