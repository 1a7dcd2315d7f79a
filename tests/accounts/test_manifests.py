"""Agent manifests: YAML with a name and `spec.capabilities`, refused with its line if it is wrong."""

from __future__ import annotations

import pytest

from accounts import manifests
from fluxcore.errors import AboveTrust, Invalid, NotFound


def read(tmp_path, text, agent=None):
    path = tmp_path / "agents.yaml"
    path.write_text(text)
    return manifests.read(path, agent)


def test_both_shapes_are_read(tmp_path):
    found = read(
        tmp_path,
        "apiVersion: v1\nkind: AgentManifest\nmetadata:\n  name: alice\n  space: home\n"
        "spec:\n  capabilities:\n    - memory.read:*\n    - grains.read\n"
        "---\nname: bob\nspec:\n  capabilities: []\n---\n",
    )
    assert [(one.name, one.space, one.capabilities) for one in found] == [
        ("alice", "home", ["memory.read:*", "grains.read"]),
        ("bob", None, []),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "contains no manifest"),
        ("# nothing\n", "contains no manifest"),
        ("- a\n", "line 1: expected `key: value` lines"),
        ("name: a\nspec: [x]\n", "line 2: expected `key: value` lines"),
        ("name: a\ncolour: red\nspec:\n  capabilities: []\n", "line 2: unknown key 'colour'"),
        ("name: a\nspec:\n  capabilities: []\n  powers: all\n", "line 4: unknown key 'powers'"),
        ("name: a\nname: b\nspec:\n  capabilities: []\n", "line 2: name is set twice"),
        ("spec:\n  capabilities: []\n", "has no name"),
        ("name: a\n", "has no spec"),
        ("name: a\nspec:\n  capabilities: grains.read\n", "line 3: spec.capabilities must be a list"),
        ("name: a\nspec:\n  capabilities:\n    - [grains.read]\n", "line 3: spec.capabilities must be a list"),
        ("name: a\nspec: {}\n", "line 2: spec.capabilities must be a list"),
        ("name: [a]\nspec:\n  capabilities: []\n", "line 1: name must be a text"),
        ("name: a\nspec:\n  capabilities:\n    - grains.read\n    - grains.fly\n", "line 5: Unknown capability"),
        ("name: a\nspec:\n  capabilities:\n    - purge\n", "line 4: purge cannot be given"),
        ("name: a\nspec:\n  capabilities:\n    - 7\n", "line 4: Unknown capability '7'"),
        ("name: a\nspec:\n  trust: root\n  capabilities: []\n", "line 3: Unknown trust level"),
        ("name: a\nspec:\n  trust: [trusted]\n  capabilities: []\n", "line 3: spec.trust must be a text"),
        ("name: a\nspec:\n  capabilities: []\n  parent: Boss!\n", "line 4: "),
        ("name: a\nspec:\n  capabilities: []\n  parent: {a: b}\n", "line 4: spec.parent must be a text"),
        ("name: a\n b: [\n", "line 2: not valid YAML"),
        ("? [a]\n: 1\n", "line 1: a key must be a text"),
        ("name: a\nspec:\n  capabilities: []\n---\nname: b\n", "has no spec"),
    ],
)
def test_it_is_refused_with_its_line(tmp_path, text, says):
    with pytest.raises(Invalid) as refusal:
        read(tmp_path, text)
    assert says in refusal.value.message


def test_metadata_may_say_more_about_an_agent(tmp_path):
    text = (
        "apiVersion: scarab/v1\nkind: AgentManifest\nmetadata:\n  name: alice\n  version: 1.0.0\n"
        "  description: Notes.\n  labels: {team: a}\nspec:\n  capabilities:\n    - memory.read:*\n"
    )
    (found,) = read(tmp_path, text)
    assert (found.name, found.capabilities) == ("alice", ["memory.read:*"])


FRAGMENT = "spec:\n  capabilities:\n    - memory.read:config\n    - memory.write:notes\n"


def test_a_bare_fragment_is_for_the_agent_that_is_named(tmp_path):
    (found,) = read(tmp_path, FRAGMENT, "alice")
    assert (found.name, found.capabilities) == ("alice", ["memory.read:config", "memory.write:notes"])


@pytest.mark.parametrize(
    ("text", "agent", "says"),
    [
        (FRAGMENT, None, "Name the agent with --agent"),
        (FRAGMENT, "Al ice", "The name of an agent"),
        ("name: bob\n" + FRAGMENT, "alice", "for 'bob', not for 'alice'"),
        (FRAGMENT + "---\n" + FRAGMENT, "alice", "with one only"),
    ],
)
def test_a_name_that_does_not_fit_the_file(tmp_path, text, agent, says):
    with pytest.raises(Invalid, match=says):
        read(tmp_path, text, agent)


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(NotFound, match="absent"):
        manifests.read(tmp_path / "absent.yaml")
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(NotFound, match=r"binary\.yaml"):
        manifests.read(path)


def test_trust_and_parent_are_read_and_may_be_left_out(tmp_path):
    text = "name: a\nspec:\n  trust: sandboxed\n  parent: boss\n  capabilities: [grains.read]\n"
    (found,) = read(tmp_path, text)
    assert (found.trust, found.parent) == ("sandboxed", "boss")
    (bare,) = read(tmp_path, "name: a\nspec:\n  capabilities: []\n")
    assert (bare.trust, bare.parent) == (None, None)


def test_what_lies_above_its_own_trust_is_refused_with_its_line(tmp_path):
    text = "name: a\nspec:\n  trust: untrusted\n  capabilities:\n    - grains.read\n    - grains.write\n"
    with pytest.raises(AboveTrust, match=r"line 6: grains\.write needs the trust level trusted"):
        read(tmp_path, text)
