"""Capabilities: `<domain>.<action>[:<glob>]`, nothing allowed by default."""

from __future__ import annotations

import pytest

from accounts import capabilities as caps
from accounts.authorise import may
from accounts.capabilities import Capabilities
from accounts.principals import Principal, shell
from fluxcore.errors import Invalid


@pytest.mark.parametrize(
    ("held", "operation", "target", "allowed"),
    [
        # C1: nothing by default; without a scope, unrestricted for that action and no other
        ((), "grains.read", None, False),
        (("grains.read",), "grains.read", None, True),
        (("grains.read",), "grains.write", None, False),
        (("memory.read",), "memory.read", "any/key", True),
        (("memory.read",), "memory.write", "any/key", False),
        # C2: one key, any key
        (("memory.read:config",), "memory.read", "config", True),
        (("memory.read:config",), "memory.read", "config2", False),
        (("memory.read:config",), "memory.read", "config/x", False),
        (("memory.read:*",), "memory.read", "a/b", True),
        (("memory.write:notes",), "memory.read", "notes", False),
        # C3: `*` is one segment inside a pattern, `**` any, a dot is no separator, case counts
        (("memory.read:progress/*",), "memory.read", "progress/a", True),
        (("memory.read:progress/*",), "memory.read", "progress/a/b", False),
        (("memory.read:config/**",), "memory.read", "config/a/b", True),
        (("memory.read:mcp.*",), "memory.read", "mcp.server.tool", True),
        (("memory.read:Config",), "memory.read", "config", False),
        # C4: the same right covers what it names and nothing beside it
        (("bb.write:lock",), "bb.write", "lock", True),
        (("bb.write:lock",), "bb.read", "lock", False),
        # Several scopes add up; a scoped right is not the whole right
        (("memory.read:a", "memory.read:b/*"), "memory.read", "b/x", True),
        (("memory.read:a",), "memory.read", None, False),
        (("memory.read:*",), "memory.read", None, True),
        (("health.read:*",), "health.read", None, True),
    ],
)
def test_the_matrix(held, operation, target, allowed):
    assert Capabilities(held).allow(operation, target) is allowed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "grains",
        "grains.",
        ".read",
        "grains.fly",
        "grains.read:notes",
        "health.read:x",
        "memory.read:",
        "memory.read:a***",
        "memory.read:\\",
        "memory.read:a\0",
        "Memory.read",
        "memory.read ",
        "*",
        "*.*",
        "memory.*",
        "x" * 601,
    ],
)
def test_it_refuses_what_is_no_capability(text):
    with pytest.raises(Invalid) as refusal:
        caps.check([text])
    assert refusal.value.status == 422


@pytest.mark.parametrize("operation", sorted(caps.NEVER_FOR_AGENTS))
def test_what_is_for_people_is_never_for_agents(operation):
    for text in (operation, f"{operation}:*"):
        with pytest.raises(Invalid, match="cannot be given to agents"):
            caps.check([text])


@pytest.mark.parametrize("what", ["purge", "restore", "import", "grant", "policy", "accounts.manage"])
def test_the_dangerous_ones_are_on_that_list(what):
    assert what in caps.NEVER_FOR_AGENTS


@pytest.mark.parametrize("texts", ["grains.read", [["grains.read"]], [1], [None], [{"a": 1}]])
def test_it_takes_a_list_of_texts_only(texts):
    with pytest.raises(Invalid):
        caps.check(texts)


def test_they_are_kept_sorted_and_once():
    assert caps.check(["grains.write", "grains.read", "grains.read"]) == ["grains.read", "grains.write"]


def test_there_is_a_largest_number():
    assert len(caps.check([f"memory.read:k{n}" for n in range(256)])) == 256
    with pytest.raises(Invalid, match="at most 256"):
        caps.check([f"memory.read:k{n}" for n in range(257)])


def test_every_operation_of_the_house_is_known():
    wanted = """
        grains.read grains.write grains.feedback grains.manage memory.read memory.write bb.read bb.write
        artifacts.read artifacts.write artifacts.propose transcript.read transcript.write
        snapshots.create snapshots.read health.read metrics.read graph.export
    """
    assert set(wanted.split()) <= caps.OPERATIONS


def test_an_agent_with_everything_still_administers_nothing():
    everything = Principal(
        kind="agent",
        name="a",
        space=1,
        chain="c",
        capabilities=Capabilities(sorted(caps.OPERATIONS)),
        ceiling="user_stated",
    )
    assert all(may(everything, operation, "x") for operation in caps.OPERATIONS)
    assert not any(may(everything, operation, "x") for operation in caps.NEVER_FOR_AGENTS)


def test_a_person_without_a_role_may_nothing_and_the_shell_everything():
    nobody = Principal(
        kind="user", name="u", space=1, chain="c", capabilities=Capabilities(["grains.read"]), ceiling="user_stated"
    )
    assert not may(nobody, "grains.read")
    assert may(shell(), "accounts.manage")
