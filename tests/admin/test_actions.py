"""Actions of the admin: with a reason, for the lowest role that may run them, with an audit entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from accounts.capabilities import NEED_FRESH_CODE, NEVER_FOR_AGENTS, OPERATIONS
from accounts.models import Agent, AuditEntry, Grant, Membership, Session, Space, Token, User
from accounts.principals import shell
from fluxcore import clock
from fluxcore.models import Job
from memory.artifacts import transcripts
from memory.artifacts.models import File, Message, Store
from memory.grains.models import Grain
from memory.health.models import Warning
from memory.keyvalue.models import Item, Lock, Namespace
from memory.review.admin import described
from memory.review.models import ReviewItem
from tests.admin.conftest import ROLES, AdminSpaces, details, entries, list_of, pages, stale, words
from tests.dashboard.conftest import post, send

NEW = "add"


@dataclass
class Doing:
    """One act: who may at least, what is filled in, and how one sees that it happened."""

    role: str
    verb: str
    done: Callable[[AdminSpaces], bool]
    fields: dict[str, Any] = field(default_factory=dict)
    before: Callable[[AdminSpaces], Any] = lambda house: None
    chain: str = "home"  # or "instance"


def user(house: AdminSpaces) -> User:
    return User.objects.get(pk=house.row("accounts.user").pk)


def agent() -> Agent:
    return Agent.objects.get(name="alice")


def warning(house: AdminSpaces) -> Warning:
    return Warning.objects.get(pk=house.row("health.warning").pk)


def own_store() -> Store:
    return Store.objects.get(key="home-store")


def own_file() -> File:
    return File.objects.get(store=own_store())


def own_message() -> Message:
    return Message.objects.get(store=own_store())


def remove_message() -> None:
    transcripts.pop_messages(shell(own_store().space), store="home-store")


def item(house: AdminSpaces) -> Item:
    return Item.objects.get(pk=house.row("keyvalue.item").pk)


def parked() -> bool:
    return Job.objects.get(kind="home.tidy").state == "parked"


def status(house: AdminSpaces) -> str:
    return str(Grain.objects.get(pk=house.row("grains.grain").pk).status)


SEEN: dict[str, str] = {}  # the state of the proposal as its page shows it
EDITED = {"text": "Mine\r\n"}  # with the same; as a browser sends it


def proposal(house: AdminSpaces) -> ReviewItem:
    return ReviewItem.objects.get(pk=house.row("review.reviewitem").pk)


DOINGS: dict[tuple[str, str], Doing] = {
    ("accounts.space", NEW): Doing(
        "administrator",
        "spaces.create",
        lambda house: Space.objects.filter(name="attic").exists(),
        {"name": "attic"},
        chain="instance",
    ),
    ("accounts.agent", NEW): Doing(
        "owner",
        "agents.create",
        lambda house: Agent.objects.filter(name="carol", parent__name="alice").exists(),
        {"space": "home", "name": "carol", "trust": "sandboxed", "parent": "alice", "capabilities": "grains.read"},
    ),
    ("accounts.agent", "mint"): Doing(
        "owner",
        "tokens.mint",
        lambda house: Token.objects.filter(agent__name="alice").count() == 2,
        {"ceiling": "ai_stated", "expires_at": "7d", "note": "for the test"},
    ),
    ("accounts.agent", "grant"): Doing(
        "operator",
        "capability_granted",
        lambda house: Grant.objects.filter(capability="memory.read:a/*").exists(),
        {"capability": "memory.read:a/*", "expires_at": "1h"},
    ),
    ("accounts.agent", "capabilities"): Doing(
        "owner",
        "agents.apply",
        lambda house: agent().capabilities == ["grains.read", "memory.read:x/*"],
        {"capabilities": "memory.read:x/*\r\n\r\n grains.read "},
    ),
    ("accounts.agent", "trust"): Doing(
        "owner", "agents.set_trust", lambda house: agent().trust == "untrusted", {"trust": "untrusted"}
    ),
    ("accounts.agent", "require-votes"): Doing("owner", "agents.set_must_rate", lambda house: agent().must_rate),
    ("accounts.agent", "only-remind"): Doing(
        "owner",
        "agents.set_must_rate",
        lambda house: not agent().must_rate,
        before=lambda house: Agent.objects.update(must_rate=True),
    ),
    ("accounts.agent", "tools"): Doing(
        "owner", "agents.set_tools", lambda house: agent().tools == ["extraction"], {"tools": ["extraction"]}
    ),
    ("health.warning", "acknowledge"): Doing(
        "operator",
        "health.acknowledge",
        lambda house: warning(house).acknowledged_by != "",
        before=lambda house: Warning.objects.filter(pk=warning(house).pk).update(signal="orphan_rate"),
    ),
    ("review.reviewitem", "accept"): Doing(
        "operator",
        "reviews.accept",
        lambda house: proposal(house).state == "accepted" and File.objects.filter(path="key.md").exists(),
        SEEN,
        before=lambda house: SEEN.update(seen=described(proposal(house))["seen"]),
    ),
    ("review.reviewitem", "edit"): Doing(
        "operator",
        "reviews.accept",
        lambda house: proposal(house).state == "accepted" and File.objects.get(path="key.md").size == len("Mine\n"),
        EDITED,
        before=lambda house: EDITED.update(seen=described(proposal(house))["seen"]),
    ),
    ("review.reviewitem", "deny"): Doing("operator", "reviews.deny", lambda house: proposal(house).state == "denied"),
    ("keyvalue.namespace", NEW): Doing(
        "operator",
        "boards.make",
        lambda house: Namespace.objects.filter(name="ops", ephemeral=True).exists(),
        {"space": "home", "board": "ops", "ephemeral": "on"},
    ),
    ("keyvalue.namespace", "delete"): Doing(
        "operator",
        "boards.delete",
        lambda house: not Namespace.objects.filter(name="spare").exists(),
        before=lambda house: Namespace.objects.filter(pk=house.row("keyvalue.namespace").pk).update(name="spare"),
    ),
    ("keyvalue.namespace", "make-recallable"): Doing(
        "operator",
        "kv.make_recallable",
        lambda house: Namespace.objects.get(pk=house.row("keyvalue.namespace").pk).recalled == "notes/",
        {"keys": "notes/"},
    ),
    ("keyvalue.namespace", "end-recallable"): Doing(
        "operator",
        "kv.end_recallable",
        lambda house: Namespace.objects.get(pk=house.row("keyvalue.namespace").pk).recalled is None,
        before=lambda house: Namespace.objects.filter(pk=house.row("keyvalue.namespace").pk).update(recalled=""),
    ),
    ("keyvalue.item", "restore"): Doing(
        "operator",
        "kv.restore",
        lambda house: (item(house).value, item(house).version) == ('"first of home"', 3),
        {"version": "1"},
    ),
    ("keyvalue.item", "delete"): Doing("operator", "kv.delete", lambda house: item(house).value is None),
    ("keyvalue.item", "purge"): Doing(
        "owner", "kv.forget", lambda house: item(house).value is None and not item(house).revisions.exists()
    ),
    ("artifacts.store", NEW): Doing(
        "operator",
        "stores.create",
        lambda house: Store.objects.filter(key="new", recallable=True).exists(),
        {"space": "home", "key": "new", "recallable": "on"},
    ),
    ("artifacts.store", "policy"): Doing(
        "owner",
        "stores.policy",
        lambda house: (own_store().recallable, own_store().read_only) == (True, "memory\nrules"),
        {"recallable": "on", "read_only_prefixes": "rules\r\n\r\nmemory"},
    ),
    ("artifacts.store", "delete"): Doing("operator", "stores.delete", lambda house: own_store().deleted_at is not None),
    ("artifacts.store", "restore"): Doing(
        "operator",
        "stores.undelete",
        lambda house: own_store().deleted_at is None,
        before=lambda house: Store.objects.filter(pk=own_store().pk).update(deleted_at=clock.now()),
    ),
    ("artifacts.file", "restore"): Doing(
        "operator", "files.restore", lambda house: own_file().version == 3, {"version": "1"}
    ),
    ("artifacts.file", "delete"): Doing("operator", "files.delete", lambda house: own_file().sha == ""),
    ("artifacts.message", "remove"): Doing("operator", "transcript.pop", lambda house: own_message().removal != ""),
    ("artifacts.message", "restore"): Doing(
        "operator",
        "transcript.restore",
        lambda house: own_message().removal == "",
        before=lambda house: remove_message(),
    ),
    ("keyvalue.lock", "break"): Doing(
        "operator", "locks.break", lambda house: Lock.objects.get(pk=house.row("keyvalue.lock").pk).holder == ""
    ),
    ("accounts.agent", "stop"): Doing("owner", "agents.switch", lambda house: not agent().active),
    ("accounts.agent", "resume"): Doing(
        "owner", "agents.switch", lambda house: agent().active, before=lambda house: Agent.objects.update(active=False)
    ),
    ("accounts.token", "revoke"): Doing(
        "owner", "tokens.revoke", lambda house: Token.objects.get(agent__name="alice").revoked_at is not None
    ),
    ("accounts.grant", NEW): Doing(
        "operator",
        "capability_granted",
        lambda house: Grant.objects.filter(capability="memory.read:b/*").exists(),
        {"space": "home", "agent": "alice", "capability": "memory.read:b/*", "expires_at": ""},
    ),
    ("accounts.grant", "revoke"): Doing(
        "operator", "capability_revoked", lambda house: Grant.objects.get(agent__name="alice").revoked_at is not None
    ),
    ("accounts.grantrequest", "accept"): Doing(
        "operator",
        "capability_granted",
        lambda house: Grant.objects.filter(capability="memory.write:home/*").exists(),
        {"expires_at": "8h"},
    ),
    ("accounts.grantrequest", "decline"): Doing(
        "operator",
        "grants.decline",
        lambda house: type(row := house.row("accounts.grantrequest")).objects.get(pk=row.pk).state == "declined",
    ),
    ("accounts.membership", NEW): Doing(
        "owner",
        "people.set_role",
        lambda house: Membership.objects.filter(user__username="olaf", role="operator").exists(),
        {"space": "home", "username": "olaf", "role": "operator"},
    ),
    ("accounts.membership", "role"): Doing(
        "owner",
        "people.set_role",
        lambda house: Membership.objects.get(pk=house.row("accounts.membership").pk).role == "operator",
        {"role": "operator"},
    ),
    ("accounts.membership", "remove"): Doing(
        "owner",
        "people.set_role",
        lambda house: not Membership.objects.filter(pk=house.row("accounts.membership").pk).exists(),
    ),
    ("accounts.user", NEW): Doing(
        "owner",
        "people.invite",
        lambda house: Membership.objects.filter(user__username="emmy", role="viewer").exists(),
        {"username": "emmy", "space": "home", "role": "viewer"},
    ),
    ("accounts.user", "role"): Doing(
        "administrator",
        "people.set_role",
        lambda house: Membership.objects.filter(user=user(house)).count() == 2,
        {"space": "office", "role": "viewer"},
        chain="office",
    ),
    ("accounts.user", "unlock"): Doing(
        "administrator",
        "people.unlock",
        lambda house: user(house).enrolments.filter(purpose="unlock").exists(),
        chain="instance",
    ),
    ("accounts.user", "reset"): Doing(
        "administrator",
        "people.reset",
        lambda house: user(house).enrolments.filter(purpose="factor").exists(),
        chain="instance",
    ),
    ("accounts.user", "sign-out"): Doing(
        "administrator",
        "people.end_sessions",
        lambda house: not Session.objects.filter(user=user(house)).exists(),
        chain="instance",
    ),
    ("accounts.user", "stop"): Doing(
        "administrator", "people.switch", lambda house: not user(house).is_active, chain="instance"
    ),
    ("accounts.user", "resume"): Doing(
        "administrator",
        "people.switch",
        lambda house: user(house).is_active,
        chain="instance",
        before=lambda house: User.objects.filter(pk=user(house).pk).update(is_active=False),
    ),
    ("accounts.session", "end"): Doing(
        "administrator",
        "people.end_sessions",
        lambda house: not Session.objects.filter(pk="f" * 64).exists(),
        chain="instance",
    ),
    ("accounts.guesscount", "unlock"): Doing(
        "administrator",
        "people.unlock",
        lambda house: not type(row := house.row("accounts.guesscount")).objects.filter(pk=row.pk).exists(),
        chain="instance",
    ),
    ("accounts.auditentry", "grant"): Doing(
        "operator",
        "capability_granted",
        lambda house: Grant.objects.filter(agent__name="alice", capability="memory.write:notes/today").exists(),
        {"capability": "memory.write:notes/today", "expires_at": "1d"},
    ),
    ("fluxcore.job", "run"): Doing("operator", "jobs.run", lambda house: not parked()),
    ("fluxcore.job", "park"): Doing(
        "operator", "jobs.park", lambda house: parked(), before=lambda house: Job.objects.update(state="queued")
    ),
    ("grains.grain", "pin"): Doing(
        "operator", "grains.pin", lambda house: Grain.objects.get(pk=house.row("grains.grain").pk).pinned
    ),
    ("grains.grain", "unpin"): Doing(
        "operator",
        "grains.pin",
        lambda house: not Grain.objects.get(pk=house.row("grains.grain").pk).pinned,
        before=lambda house: Grain.objects.update(pinned=True),
    ),
    ("grains.grain", "close"): Doing(
        "operator",
        "grains.close",
        lambda house: str(Grain.objects.get(pk=house.row("grains.grain").pk).valid_to) == "2026-03-02 09:00:30+00:00",
        {"at": "2026-03-02T09:00:30"},
    ),
    **{
        ("grains.grain", act): Doing(
            "operator",
            f"grains.{act}",
            lambda house, there=there: status(house) == there,
            before=lambda house, where=where: Grain.objects.update(status=where),
        )
        for act, where, there in (
            ("archive", "active", "archived"),
            ("restore", "dormant", "active"),
            ("quarantine", "archived", "quarantined"),
            ("release", "quarantined", "active"),
            ("delete", "active", "pending_deletion"),
            ("undelete", "pending_deletion", "active"),
        )
    },
    **{
        ("grains.grain", act): Doing(
            "operator",
            f"grains.{act}",
            lambda house, to=to: Grain.objects.get(pk=house.row("grains.grain").pk).decay_class == to,
            before=lambda house, to=to: Grain.objects.update(decay_class=1 - to),
        )
        for act, to in (("promote", 1), ("demote", 0))
    },
    ("grains.grain", "purge"): Doing(
        "owner", "grains.purge", lambda house: not Grain.objects.filter(pk=house.row("grains.grain").pk).exists()
    ),
}
EVERY = pytest.mark.parametrize(("page", "act"), DOINGS, ids=lambda found: str(found))


def address(house: AdminSpaces, page: str, act: str) -> str:
    return f"{list_of(page)}add/" if act == NEW else house.address(page, act=act)


def needs(house: AdminSpaces, page: str, act: str) -> str:
    found = pages()[page]
    if act == NEW:
        return found.adds.needs
    action = next(one for one in found.row_actions if one.name == act)
    return found.operation(action, house.row(page))


def chain_of(house: AdminSpaces, name: str) -> str:
    return "instance" if name == "instance" else house.row("accounts.space", name).uuid.hex


def test_every_act_is_in_the_table():
    there = {(page, act.name) for page, found in pages().items() for act in found.row_actions}
    assert there | {(page, NEW) for page, found in pages().items() if found.adds} == set(DOINGS)


def test_every_act_names_an_operation_there_is(house):
    assert {needs(house, page, act) for page, act in DOINGS} <= OPERATIONS | NEVER_FOR_AGENTS


@EVERY
def test_it_is_for_those_whose_role_allows_it_and_happens_with_a_reason_on_the_chain(house, page, act):
    doing = DOINGS[page, act]
    doing.before(house)
    assert not doing.done(house)
    where = address(house, page, act)
    for role in ROLES:
        if ROLES.index(role) < ROLES.index(doing.role):
            client = house.client(role)
            assert client.get(where).status_code == 403
            answer = send(client, where, reason="because I try", **doing.fields)
            assert answer.status_code == 403, role
            assert entries("admin.open", outcome="refused", actor=f"user:{role}-of-home")
    assert not doing.done(house)
    client = house.client(doing.role)
    if act != NEW:
        assert where in client.get(house.address(page)).content.decode(), "the row offers it"
    for reason in ("", "   ", "x" * 501, "two\nlines"):
        assert send(client, where, reason=reason, **doing.fields).status_code == 422
    assert not doing.done(house)
    answer = post(client, where, reason="because the test says so", **doing.fields)
    assert answer.status_code in (200, 302), words(answer)
    assert doing.done(house)
    entry = entries(doing.verb, reason="because the test says so")[-1]
    who = "ada" if doing.role == "administrator" else f"{doing.role}-of-home"
    assert (entry.actor, entry.outcome, entry.chain) == (f"user:{who}", "done", chain_of(house, doing.chain))


@pytest.mark.either_database
@EVERY
def test_without_a_fresh_code_it_asks_for_one_and_nothing_happens_before_it_is_right(house, page, act):
    doing = DOINGS[page, act]
    doing.before(house)
    client = stale(house.client(doing.role))
    where = address(house, page, act)
    wants = needs(house, page, act) in NEED_FRESH_CODE
    assert ('name="code"' in client.get(where).content.decode()) == wants
    if not wants:
        return
    given = {"reason": "with a code", **doing.fields}
    known = AuditEntry.objects.exclude(action="step_up").count()
    assert send(client, where, **given).status_code == 422
    for code in ("", "nonsense", "000000" if "000000" not in house.people[doing.role].codes else "1" * 6, "x" * 9000):
        answer = send(client, where, code=code, **given)
        assert answer.status_code in (401, 422), code
        assert not doing.done(house)
        assert not code or f'value="{code}"' not in answer.content.decode(), "a code is never put back into the page"
    assert AuditEntry.objects.exclude(action="step_up").count() == known
    answer = post(client, where, code=house.people[doing.role].codes.pop(), **given)
    assert answer.status_code in (200, 302), words(answer)
    assert doing.done(house)


def test_a_code_that_was_right_is_not_asked_for_again_when_the_verb_refuses(house):
    client = stale(house.client("operator"))
    where = house.address("accounts.agent", act="grant")
    answer = post(client, where, code=house.people["operator"].codes.pop(), reason="why", capability="no such thing")
    assert answer.status_code == 422 and "Unknown capability" in words(answer)
    assert 'name="code"' not in answer.content.decode()


def test_an_act_whose_time_has_passed_says_so_and_does_nothing(house):
    client = house.client("owner")
    Token.objects.update(revoked_at="2026-01-01T00:00:00Z")
    where = house.address("accounts.token", act="revoke")
    answer = client.get(where, follow=True)
    assert "no longer possible" in answer.content.decode() and where not in answer.content.decode()


def test_unknown_acts_and_rows_are_not_there(house):
    client = house.client("administrator")
    assert client.get(house.address("accounts.agent", act="explode")).status_code == 404
    for number in ("0", "-1", "999999999", "9" * 40, "x", "%00", "1%00"):
        assert client.get(f"/admin/accounts/agent/{number}/do/stop/").status_code == 404, number


def test_a_token_is_shown_once_and_is_nowhere_else(house):
    from accounts import tokens

    client = house.client("owner")
    answer = post(
        client, house.address("accounts.agent", act="mint"), reason="new", ceiling="ai_stated", expires_at="1h"
    )
    text = tokens._SHAPE.search(answer.content.decode()).group()
    caller = tokens.authenticate(text)
    assert caller.name == "alice" and caller.ceiling == "ai_stated"
    row = Token.objects.get(pk=caller.token)
    assert row.expires_at is not None and "no-store" in answer["Cache-Control"]
    for path in (list_of("accounts.token"), f"/admin/accounts/token/{row.pk}/change/", house.address("accounts.agent")):
        page = client.get(path).content.decode()
        assert row.prefix in page and text not in page and row.digest not in page
    assert text.split("_", 2)[2] not in "".join(AuditEntry.objects.values_list("details", flat=True))


@pytest.mark.parametrize("act", ["invite", "reset", "unlock"])
def test_a_link_is_shown_once_and_opens(house, people_client, act):
    import re

    where = f"{list_of('accounts.user')}add/" if act == "invite" else house.address("accounts.user", act=act)
    given = {"username": "emmy", "space": "office", "role": "owner"} if act == "invite" else {}
    answer = post(house.client("administrator"), where, reason="they asked", **given)
    (link,) = set(re.findall(r"http://localhost(/enrol/[\w-]+)", answer.content.decode()))
    assert people_client.get(link).status_code == (302 if act == "unlock" else 200)
    assert link.split("/")[-1] not in "".join(AuditEntry.objects.values_list("details", flat=True))


def test_an_administrator_invites_another_one_and_nobody_else_does(house):
    where = f"{list_of('accounts.user')}add/"
    given = {"username": "emmy", "space": "", "role": "viewer", "administrator": "on", "reason": "help"}
    assert 'name="administrator"' not in house.client("owner").get(where).content.decode()
    answer = post(house.client("owner"), where, **given)
    assert answer.status_code == 422 and not User.objects.filter(username="emmy").exists()
    post(house.client("owner"), where, **{**given, "space": "home"})
    assert not User.objects.get(username="emmy").is_superuser
    assert post(house.client("administrator"), where, **{**given, "username": "hedy"}).status_code == 200
    assert User.objects.get(username="hedy").is_superuser


def test_an_owner_cannot_act_in_a_space_that_is_not_theirs(house):
    client = house.client("owner")
    for page, given in {
        "accounts.agent": {"name": "mole", "capabilities": ""},
        "accounts.membership": {"username": "owner-of-home", "role": "owner"},
        "accounts.grant": {"agent": "bob", "capability": "grains.feedback"},
        "accounts.user": {"username": "mole", "role": "owner"},
    }.items():
        answer = post(client, f"{list_of(page)}add/", space="office", reason="let me in", **given)
        assert answer.status_code == 422 and "Select a valid choice" in words(answer), page
    assert not Agent.objects.filter(name="mole").exists() and not User.objects.filter(username="mole").exists()


@pytest.mark.parametrize("act", ["stop", "reset", "sign-out"])
def test_nobody_shuts_themselves_out_by_mistake(house, act):
    me = house.people["administrator"].user
    answer = post(house.client("administrator"), f"/admin/accounts/user/{me.pk}/do/{act}/", reason="oops")
    assert answer.status_code == 409 and "your own account" in words(answer)
    assert house.client("administrator").get("/admin/").status_code == 200


def test_a_refused_entry_becomes_the_grant_that_was_missing(house):
    where = house.address("accounts.auditentry", act="grant")
    form = house.client("operator").get(where).content.decode()
    assert 'value="memory.write:notes/today"' in form
    for row in AuditEntry.objects.exclude(outcome="refused", actor__startswith="agent:"):
        assert post(house.client("administrator"), f"/admin/accounts/auditentry/{row.pk}/do/grant/").status_code == 302


def test_what_a_grant_may_not_reach_is_refused_in_the_form(house):
    where = house.address("accounts.agent", act="grant")
    answer = post(house.client("operator"), where, reason="too much", capability="graph.export", expires_at="")
    assert answer.status_code == 403 and "You cannot grant a capability that you do not have yourself" in words(answer)
    answer = post(house.client("owner"), where, reason="too much", capability="graph.export", expires_at="")
    assert answer.status_code == 403 and "Raise its trust level first" in words(answer)
    assert not Grant.objects.filter(capability="graph.export").exists()
    assert details(entries("grants.give", outcome="refused")[0])["missing"] == "graph.export"
