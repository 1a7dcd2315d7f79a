"""The same matrix of rights at every door: REST, MCP and the shell acting as an agent."""

from __future__ import annotations

import io
import json

import jsonschema
import pytest
from django.core.management import call_command

from accounts import agents, grants, tokens
from accounts.capabilities import split
from accounts.models import Agent, Space
from accounts.principals import shell
from fluxcore.errors import AboveTrust, FluxError, Invalid
from mcp_bridge import registry
from memory.keyvalue import verbs
from tests.conftest import Api
from tests.event_log import wait_for_log
from tests.keyvalue.tool_walkthrough import GROUPS, every_tool

pytestmark = pytest.mark.either_database

# Held, and which of reading and writing `notes/a` and `plans/a` that allows, of one's own and of others.
HELD = {
    (): (),
    ("memory.read",): ("read own notes/a", "read own plans/a"),
    ("memory.read:notes/*",): ("read own notes/a",),
    ("memory.write:notes/*",): ("write own notes/a",),
    ("memory.read:*", "memory.write:*"): (
        "read own notes/a",
        "read own plans/a",
        "write own notes/a",
        "write own plans/a",
    ),
    ("memory.read@bob:notes/*",): ("read bob notes/a",),
    ("memory.read@*", "memory.write@bob:plans/a"): ("read bob notes/a", "read bob plans/a", "write bob plans/a"),
    ("bb.read",): ("read board notes/a", "read board plans/a"),
    ("bb.read@main:notes/*", "bb.write@other"): ("read board notes/a",),
    ("bb.write:plans/**",): ("write board plans/a",),
}
TRIED = [
    f"{what} {where} {key}"
    for what in ("read", "write")
    for where in ("own", "bob", "board")
    for key in ("notes/a", "plans/a")
]
_NAMES = {"own": "alice", "bob": "bob"}


@pytest.fixture
def token(make_token):
    def make(held):
        make_token("bob", capabilities=())
        token = make_token("alice", capabilities=held)
        Agent.objects.filter(name="alice").update(tools=["memory", "board"])
        space = Space.objects.get(name="home")
        for where in ("agents/alice", "agents/bob", "boards/main"):
            for key in ("notes/a", "plans/a"):
                verbs.set_key(shell(space), place=where, key=key, value=1)
        return token

    return make


def over_rest(token, what, where, key):
    api = Api(token)
    path = f"/boards/main/kv/{key}" if where == "board" else f"/agents/{_NAMES[where]}/kv/{key}"
    if what == "purge":
        answer = api.delete(f"{path}?history=forget")
    else:
        answer = api.get(path) if what == "read" else api.put(path, {"value": 2})
    return "done" if answer.status_code == 200 else answer.json()["code"]


def over_mcp(token, what, where, key):
    prefix, more = ("board", {}) if where == "board" else ("memory", {} if where == "own" else {"agent": "bob"})
    name = f"{prefix}_{ {'read': 'get', 'write': 'set', 'purge': 'delete'}[what] }"
    given = {"key": key, **more, **{"read": {}, "write": {"value": 2}, "purge": {"history": "forget"}}[what]}
    try:
        principal = tokens.authenticate(token)
        tool = registry.find_for(principal, name)
        arguments, _ = registry.check_arguments(tool, given)
        registry.demand_capabilities(principal, tool, arguments)
        tool.run(principal, arguments)
    except FluxError as refusal:
        return refusal.code
    return "done"


def over_shell(token, what, where, key):
    words = ["flux_board"] if where == "board" else ["flux_kv"]
    words += [
        what,
        *([] if where == "board" else [_NAMES[where]]),
        key,
        *{"read": [], "write": ["2"], "purge": ["--confirm", key]}[what],
    ]
    out = io.StringIO()
    try:
        call_command(*words, "--space", "home", "--as", "alice", "--json", stdout=out)
    except SystemExit:
        return json.loads(out.getvalue())["error"]["code"]
    return "done"


@pytest.mark.parametrize("held", HELD, ids=str)
def test_every_door_decides_alike(token, held):
    made = token(held)
    for tried in TRIED:
        what, where, key = tried.split()
        said = {door.__name__: door(made, what, where, key) for door in (over_rest, over_mcp, over_shell)}
        wanted = "done" if tried in HELD[held] else "forbidden"
        assert set(said.values()) == {wanted}, (held, tried, said)


@pytest.mark.parametrize("held", [("memory.write:notes/*",), ("memory.read", "bb.write", "memory.write@bob")], ids=str)
def test_every_door_decides_alike_who_purges_a_key(token, held):
    """A key of one's own that one may write; elsewhere only what one alone has written."""
    for door in (over_rest, over_mcp, over_shell):
        made = token(held)
        for where, key in (("own", "notes/a"), ("own", "plans/a"), ("bob", "notes/a"), ("board", "plans/a")):
            wanted = "done" if (held[0], where, key) == ("memory.write:notes/*", "own", "notes/a") else "forbidden"
            assert door(made, "purge", where, key) == wanted, (door.__name__, where, key)
    if "bb.write" in held:
        for door in (over_rest, over_mcp, over_shell):
            assert over_rest(made, "write", "board", "mine") == "done"
            assert door(made, "purge", "board", "mine") == "done", door.__name__


def test_a_grant_and_its_end_are_seen_by_the_next_call(token):
    made = token(())
    given = grants.give(shell(), space="home", agent="alice", capability="memory.read@bob:notes/*")
    for door in (over_rest, over_mcp, over_shell):
        assert door(made, "read", "bob", "notes/a") == "done"
    grants.revoke(shell(), grant=given["id"])
    for door in (over_rest, over_mcp, over_shell):
        assert door(made, "read", "bob", "notes/a") == "forbidden"


@pytest.mark.parametrize(
    ("level", "capability", "fine"),
    [
        ("sandboxed", "memory.read@bob", False),
        ("trusted", "memory.read@bob:a/*", True),
        ("trusted", "memory.write@bob", False),
        ("privileged", "memory.write@*", True),
        ("sandboxed", "bb.read@ops:a/*", True),
        ("sandboxed", "bb.write@ops", False),
        ("trusted", "bb.write@ops", True),
    ],
)
def test_trust_bounds_the_memory_of_others(space, level, capability, fine):
    def make():
        return agents.create_agent(shell(), space="home", name="a", capabilities=[capability], trust=level)

    if fine:
        assert make()["trust"] == level
        return
    with pytest.raises(AboveTrust):
        make()


@pytest.mark.parametrize(
    "text",
    ["memory.read@", "memory.read@Bob", "memory.read@a/b", "grains.read@bob", "memory.read@b*", "memory.read@*x"],
)
def test_what_names_no_namespace(text):
    with pytest.raises(Invalid):
        split(text)


@pytest.mark.django_db(transaction=True)
def test_tools_of_both_groups_over_every_verb(token):
    """Each tool once, through what it gives: the schema it promises is the one it keeps."""
    made = token(("memory.read", "memory.write", "bb.read", "bb.write"))

    def call(name, **given):
        principal = tokens.authenticate(made)
        tool = registry.find_for(principal, name)
        arguments, _ = registry.check_arguments(tool, given)
        answer = tool.run(principal, arguments)
        jsonschema.validate(json.loads(json.dumps(answer)), tool.output_schema())
        return answer

    every_tool(call)
    for prefix in GROUPS:
        with pytest.raises(FluxError, match="The expectation is missing"):
            call(f"{prefix}_cas", key="n", value=1)
        with pytest.raises(FluxError, match="The expectation is missing"):
            call(f"{prefix}_cas", key="null", value=1, expected_version=None)
    wait_for_log()
    assert call("board_watch", since="0.0")["changes"]
