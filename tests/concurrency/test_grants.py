"""Grants when several people act at the same moment."""

from __future__ import annotations

from collections import Counter

import pytest

from accounts import agents, effective_capabilities, grants, roles, tokens
from accounts.models import Agent, AuditEntry, Grant, GrantRequest, User
from accounts.principals import shell
from fluxcore.errors import Conflict, FluxError

pytestmark = pytest.mark.usefixtures("transactional_db")
PEOPLE = 8


@pytest.fixture
def outcomes(in_threads):
    """What became of the same act, done by all at once."""

    def run(act):
        found: list[str] = []

        def one(number):
            try:
                act(number)
            except FluxError as error:
                found.append(error.code)
            else:
                found.append("done")

        in_threads(PEOPLE, one)
        return Counter(found)

    return run


@pytest.fixture
def who(space):
    """Somebody for each thread, by turns at the shell and in the browser: their writes run side by side."""
    user = User.objects.create(username="ada")
    person = roles.person_principal(user, fresh=True, space=space, role="owner")
    return lambda number: person if number % 2 else shell()


def give(principal, capability="grains.read"):
    return grants.give(principal, space="home", agent="alice", capability=capability)


def test_of_several_answers_to_a_grant_request_one_counts(make_token, outcomes, who):
    principal = tokens.authenticate(make_token(capabilities=()))
    asked = grants.request(principal, capability="grains.read")["id"]

    def answer(number):
        (grants.accept if number % 4 < 2 else grants.decline)(who(number), request=asked)

    assert outcomes(answer) == {"done": 1, "conflict": PEOPLE - 1}
    assert Grant.objects.count() == (GrantRequest.objects.get().state == "accepted")


def test_a_grant_is_given_once_and_revoked_once(make_token, outcomes, who):
    make_token(capabilities=())
    assert outcomes(lambda number: give(who(number))) == {"done": 1, "conflict": PEOPLE - 1}
    grant = str(Grant.objects.get().uuid)
    assert outcomes(lambda number: grants.revoke(who(number), grant=grant)) == {"done": 1, "conflict": PEOPLE - 1}
    assert AuditEntry.objects.filter(action="capability_revoked").count() == 1


def test_equal_grant_requests_at_the_same_moment_are_one(make_token, outcomes):
    principal = tokens.authenticate(make_token(capabilities=()))
    assert outcomes(lambda _: grants.request(principal, capability="grains.read")) == {"done": PEOPLE}
    assert GrantRequest.objects.count() == 1


def test_a_suspended_agent_has_no_open_grant(make_token, in_threads, who):
    make_token(capabilities=())
    for round_number in range(5):
        agents.switch_agent(shell(), space="home", name="alice", active=True)

        def act(number, round_number=round_number):
            try:
                if number == 0:
                    agents.switch_agent(shell(), space="home", name="alice", active=False)
                else:
                    give(who(number), f"memory.read:{round_number}-{number}")
            except Conflict:
                pass  # it was stopped first

        in_threads(PEOPLE, act)
        assert not Agent.objects.get(name="alice").active
        assert not effective_capabilities.open_grants().exists()
