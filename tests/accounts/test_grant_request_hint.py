"""Hints in refusals: a request for exactly the missing capability, or none."""

from __future__ import annotations

import pytest

from accounts import grants, roles, tokens
from accounts.authorise import authorise, may
from accounts.grant_request_hint import suggest_grant_request
from accounts.models import User
from accounts.principals import shell
from fluxcore.errors import Forbidden


@pytest.mark.parametrize("target", ["notes/a", "notes/*", "**", "a\\b", "*", "[x]", "é ü", "a:b"])
def test_it_asks_for_one_name_and_no_other(make_token, target):
    token = make_token(capabilities=("memory.write:mine/*",))
    with pytest.raises(Forbidden) as refusal:
        authorise(tokens.authenticate(token), "memory.write", target)
    body = refusal.value.details["ask"]["body"]
    asked = grants.request(tokens.authenticate(token), **body)
    grants.accept(shell(), request=asked["id"])
    principal = tokens.authenticate(token)
    assert may(principal, "memory.write", target)
    assert not any(
        may(principal, "memory.write", other) for other in ("x", target + "x", target.replace("*", "y") + "z")
    )


@pytest.mark.parametrize("target", ["a\nb", "\x1b[2J", "\0", "x" * 600, "*" * 300, "\u202e"])
def test_a_name_nobody_could_read_or_keep_is_not_asked_for(make_token, target):
    principal = tokens.authenticate(make_token(capabilities=()))
    with pytest.raises(Forbidden) as refusal:
        authorise(principal, "memory.write", target)
    assert "ask" not in refusal.value.details


def test_a_right_without_names_is_asked_for_whole(make_token):
    principal = tokens.authenticate(make_token(capabilities=()))
    assert suggest_grant_request(principal, "grains.read", "some/target")["ask"]["body"] == {
        "capability": "grains.read"
    }
    assert suggest_grant_request(principal, "memory.read", None)["ask"]["body"] == {"capability": "memory.read"}


def test_what_is_not_for_agents_and_who_is_no_agent_is_told_nothing(make_token, space):
    assert suggest_grant_request(tokens.authenticate(make_token(capabilities=())), "purge", None) == {}
    person = roles.person_principal(User(username="ada"), fresh=True, space=space, role="viewer")
    assert suggest_grant_request(person, "grains.write", None) == {}
