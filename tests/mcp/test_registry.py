"""Which tools are shown to whom: the default group, switched groups, and only with the needed capabilities"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import jsonschema
import pytest

from accounts import agents, local_agent, tokens
from accounts.capabilities import NEVER_FOR_AGENTS
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore.errors import BadJSON, Forbidden, Invalid, NotFound
from mcp_bridge import registry
from memory.keyvalue.models import Item

GROUPS = [registry.DEFAULT_GROUP, *registry.SWITCHED_GROUPS]
TOOLS = [tool for name in GROUPS for tool in registry.load_group(name).tools]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_described_in_valid_schemas(tool: registry.Tool) -> None:
    for schema in (tool.input_schema(), tool.output_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object" and schema["additionalProperties"] is False
    assert set(tool.required) <= set(tool.takes)
    assert tool.title and tool.says.endswith(".") and tool.needs
    assert not (tool.reads and tool.destroys)


def test_names_are_unique_and_what_people_alone_may_do_is_no_tool() -> None:
    names = [tool.name for tool in TOOLS]
    assert len(names) == len(set(names))
    assert not [tool.name for tool in TOOLS if set(tool.needs) & NEVER_FOR_AGENTS]
    for word in ("purge", "restore", "grant", "policy", "import"):
        assert not [name for name in names if word in name]


def test_groups_say_what_they_are_for() -> None:
    for name in registry.SWITCHED_GROUPS:
        assert import_module(f"mcp_bridge.tools.{name}").GROUP.name == name


def test_the_usual_seven_for_an_everyday_agent(make_token: Callable[..., str]) -> None:
    who = tokens.authenticate(make_token(capabilities=agents.EVERYDAY_CAPABILITIES))
    assert len(registry.visible_tools(who)) == 7


def test_only_what_is_held(make_token: Callable[..., str]) -> None:
    who = tokens.authenticate(make_token(capabilities=("grains.write",)))
    assert [tool.name for tool in registry.visible_tools(who)] == ["flux_onboard", "flux_store"]


def test_a_group_is_switched_on_for_one_agent(make_token: Callable[..., str]) -> None:
    token, other = make_token(), make_token("bob")
    with pytest.raises(NotFound):
        registry.find_for(tokens.authenticate(token), "flux_extract")
    changed = agents.set_tools(shell(), space="home", name="alice", tools=["extraction"], reason="trial")
    assert changed["tools"] == ["extraction"] and changed["changed"]
    assert registry.find_for(tokens.authenticate(token), "flux_extract").name == "flux_extract"
    assert registry.find_for(local_agent.find_local_agent("home", "alice"), "flux_extract")
    assert "flux_extract" not in [tool.name for tool in registry.visible_tools(tokens.authenticate(other))]
    assert AuditEntry.objects.filter(action="agents.set_tools", reason="trial").count() == 1


def test_a_group_lets_nobody_do_more(make_token: Callable[..., str]) -> None:
    token = make_token(capabilities=("grains.read",))
    agents.set_tools(shell(), space="home", name="alice", tools=["extraction"])
    who = tokens.authenticate(token)
    assert "flux_extract" not in [tool.name for tool in registry.visible_tools(who)]
    with pytest.raises(Forbidden):
        registry.demand_capabilities(who, registry.find_for(who, "flux_extract"), {})
    assert AuditEntry.objects.filter(action="tools.flux_extract", outcome="refused").count() == 1


@pytest.mark.parametrize("tools", [["banana"], "extraction", [5], None])
def test_a_group_that_is_none(make_token: Callable[..., str], tools: Any) -> None:
    make_token()
    with pytest.raises(Invalid):
        agents.set_tools(shell(), space="home", name="alice", tools=tools)


def test_a_local_agent_is_who_its_token_is(make_token: Callable[..., str]) -> None:
    from dataclasses import replace

    make_token("parent", capabilities=("grains.read", "grains.write"))
    token = make_token("child", capabilities=("grains.read", "grains.write"), parent="parent", trust="trusted")
    by_token = tokens.authenticate(token)
    by_name = local_agent.find_local_agent("home", "child", "user_stated")
    assert by_name.capabilities.texts == by_token.capabilities.texts
    assert replace(by_name, token=by_token.token, capabilities=by_token.capabilities) == by_token
    agents.switch_agent(shell(), space="home", name="parent", active=False)
    with pytest.raises(Forbidden):
        local_agent.find_local_agent("home", "child")


def test_a_local_agent_nobody_made_and_a_ceiling_that_is_none(make_token: Callable[..., str]) -> None:
    make_token()
    with pytest.raises(NotFound):
        local_agent.find_local_agent("home", "nobody")
    with pytest.raises(NotFound):
        local_agent.find_local_agent("elsewhere", "alice")
    with pytest.raises(Invalid):
        local_agent.find_local_agent("home", "alice", "user_confirmed")


NESTED: list[Any] = []
for _ in range(40):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "value", [2**53, [{"n": -(10**30)}], NESTED, [0] * 100_010], ids=["big", "inside", "deep", "many"]
)
def test_no_value_is_kept_that_could_not_be_read_again(make_token: Callable[..., str], value: Any) -> None:
    """REST refuses them while it reads the body; a board's list with one of them could be read by nobody."""
    who = tokens.authenticate(make_token(capabilities=agents.EVERYDAY_CAPABILITIES))
    get, put = (one for one in registry.load_group("memory").tools if one.name in ("memory_set", "memory_get"))
    with pytest.raises(BadJSON):
        given, _ = registry.check_arguments(put, {"key": "a", "value": value})
        put.run(who, given)
        get.run(who, {"key": "a"})
        pytest.fail("it was kept and read")
    assert not Item.objects.exists()
