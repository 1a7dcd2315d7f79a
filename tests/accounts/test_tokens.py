"""Tokens: shown once, stored as a digest, one error for all invalid ones, revoked at once."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import time_machine
from django.apps import apps
from django.db import connection

from accounts import agents, tokens
from accounts.models import AuditEntry, Token
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid, NotFound, Unauthenticated
from fluxcore.models import IdempotencyKey

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def test_its_shape_is_a_visible_prefix_and_256_random_bits():
    prefix, token = tokens.generate()
    shape = re.fullmatch(r"flux_([A-Za-z0-9]{8})_([A-Za-z0-9_-]{43})", token)
    assert shape.group(1) == prefix
    assert len(base64.urlsafe_b64decode(shape.group(2) + "=")) * 8 >= 160


def test_no_two_are_alike():
    made = {tokens.generate() for _ in range(2000)}
    assert len({prefix for prefix, _ in made}) == len({token for _, token in made}) == 2000


def test_it_makes_its_agents_principal(make_token):
    principal = tokens.authenticate(make_token("alice", capabilities=("grains.read",), ceiling="ai_inferred"))
    assert (principal.kind, principal.name, principal.ceiling) == ("agent", "alice", "ai_inferred")
    assert principal.capabilities.texts == ("grains.read",)
    assert principal.actor == "agent:alice"


def test_only_its_digest_is_at_rest(make_token):
    token = make_token()
    row = Token.objects.get()
    assert row.digest == hashlib.sha256(token.encode()).hexdigest()
    secret = token.split("_", 2)[2]
    for model in apps.get_models():
        for values in model.objects.values_list():
            assert secret not in repr(values), model


@pytest.mark.sqlite_only
@pytest.mark.django_db(transaction=True)
def test_it_is_not_in_the_bytes_of_the_database(make_token):
    secrets = [make_token(f"a{n}").split("_", 2)[2].encode() for n in range(50)]
    for token in Token.objects.all():
        assert len(token.digest) == 64
    file = Path(connection.settings_dict["NAME"])
    found = b"".join(path.read_bytes() for path in file.parent.glob(file.name + "*"))
    assert b"agent:" in found or b"tokens.mint" in found  # the right files were searched
    assert [secret for secret in secrets if secret in found] == []


def test_a_minted_token_cannot_be_asked_for_again_under_a_key(make_token):
    make_token()
    with pytest.raises(Invalid, match="takes no idempotency key"):
        tokens.mint(shell(), space="home", agent="alice", idempotency_key="k")
    assert not IdempotencyKey.objects.exists()
    assert Token.objects.count() == 1


@pytest.fixture
def wrong(make_token):
    """Every way of being wrong."""
    good = make_token()
    revoked, expired, sleeping = make_token("bob"), make_token("carol", expires_at="2090-01-01T00:00:00Z"), None
    tokens.revoke(shell(), prefix=revoked.split("_")[1])
    Token.objects.filter(prefix=expired.split("_")[1]).update(expires_at=clock.now() - timedelta(seconds=1))
    sleeping = make_token("dora")
    agents.switch_agent(shell(), space="home", name="dora", active=False)
    return {
        "unknown": tokens.generate()[1],
        "wrong secret": good[:-1] + ("A" if good[-1] != "A" else "B"),
        "revoked": revoked,
        "expired": expired,
        "agent switched off": sleeping,
        "too short": good[:-1],
        "too long": good + "A",
        "other case": good.upper(),
        "empty": "",
        "words": "please",
        "not ascii": "flux_ääääääää_" + "ä" * 43,
        "NUL": good + "\0",
        "newline": good + "\n",
    }


def test_all_ways_of_being_wrong_look_the_same(wrong, as_agent):
    answers = {}
    for how, token in wrong.items():
        with pytest.raises(Unauthenticated) as refusal:
            tokens.authenticate(token)
        assert refusal.value.details == {}
        if token.isascii() and token.isprintable() and token:
            answer = as_agent(token).get("/grains")
            body = answer.json()
            body.pop("request_id")
            answers[how] = (answer.status_code, str(body), answer["WWW-Authenticate"])
    assert len(answers) >= 8
    assert len(set(answers.values())) == 1
    assert next(iter(answers.values()))[0] == 401


def test_a_revocation_holds_for_the_next_request(api, token):
    assert api.get("/grains").status_code == 200
    tokens.revoke(shell(), prefix=token.split("_")[1])
    assert api.get("/grains").status_code == 401


def test_it_can_be_revoked_once_by_prefix_or_by_its_visible_part(make_token):
    one, two = make_token("one"), make_token("two")
    tokens.revoke(shell(), prefix=one.split("_")[1])
    tokens.revoke(shell(), prefix="_".join(two.split("_")[:2]))
    with pytest.raises(Conflict):
        tokens.revoke(shell(), prefix=one.split("_")[1])
    with pytest.raises(NotFound):
        tokens.revoke(shell(), prefix="absent00")


def test_switching_the_agent_off_and_on_stops_and_resumes_it(api):
    agents.switch_agent(shell(), space="home", name="alice", active=False)
    assert api.get("/grains").status_code == 401
    agents.switch_agent(shell(), space="home", name="alice", active=True)
    assert api.get("/grains").status_code == 200


def test_a_change_of_capabilities_holds_for_the_next_request(api):
    agents.apply_agent(shell(), space="home", name="alice", capabilities=["grains.write"])
    assert api.get("/grains").status_code == 403


def test_it_ends_exactly_when_it_says(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token(expires_at="2026-11-16T13:00:00+00:00")
        moved.shift(timedelta(minutes=59, seconds=59))
        assert tokens.authenticate(token).name == "alice"
        moved.shift(1)
        with pytest.raises(Unauthenticated):
            tokens.authenticate(token)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"ceiling": "user_confirmed"}, "ceiling"),
        ({"ceiling": "unknown"}, "ceiling"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2090-01-01T00:00:00"}, "expires_at"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"note": "x" * 201}, "note"),
        ({"note": "two\nlines"}, "note"),
        ({"note": "a\0"}, "note"),
    ],
)
def test_minting_refuses(make_token, arguments, field):
    make_token()
    with pytest.raises(Invalid) as refusal:
        tokens.mint(shell(), space="home", agent="alice", **arguments)
    assert refusal.value.details["field"] == field
    assert Token.objects.count() == 1


def test_an_agent_of_its_owner_may_pass_on_what_the_user_said(space):
    """Not one that works for another agent, nor one that is trusted less."""
    for name, more in (("own", {}), ("child", {"parent": "own"}), ("boxed", {"trust": "sandboxed"})):
        agents.create_agent(shell(), space=space.name, name=name, capabilities=[], **more)
    made = {name: tokens.mint(shell(), space="home", agent=name)["ceiling"] for name in ("own", "child", "boxed")}
    assert made == {"own": "user_stated", "child": "ai_stated", "boxed": "ai_stated"}


def test_minting_tells_the_chain_without_the_secret(make_token):
    make_token()
    minted = tokens.mint(shell(), space="home", agent="alice", reason="for the notebook")
    entry = AuditEntry.objects.filter(action="tokens.mint").order_by("-id")[0]
    assert minted["prefix"].removeprefix("flux_") in entry.details
    assert minted["token"] not in entry.details
    assert entry.reason == "for the notebook"


def test_an_absent_agent_has_no_token(space):
    with pytest.raises(NotFound):
        tokens.mint(shell(), space="home", agent="nobody")


def test_last_use_is_written_at_most_once_a_minute(make_token, django_assert_num_queries):
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token()
        tokens.authenticate(token)
        assert Token.objects.get().last_used_at == NOON
        for _ in range(3):
            moved.shift(19)
            with django_assert_num_queries(1):
                tokens.authenticate(token)
        assert Token.objects.get().last_used_at == NOON
        moved.shift(3)
        tokens.authenticate(token)
        assert Token.objects.get().last_used_at == NOON + timedelta(seconds=60)


def test_a_clock_set_back_neither_revives_nor_breaks(make_token):
    with time_machine.travel(NOON, tick=False) as moved:
        token = make_token(expires_at="2026-11-16T13:00:00Z")
        tokens.authenticate(token)
        tokens.revoke(shell(), prefix=token.split("_")[1])
        moved.shift(timedelta(days=-365))
        with pytest.raises(Unauthenticated):
            tokens.authenticate(token)
