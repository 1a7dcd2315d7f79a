"""flux_extract: a tool of agents for which people have switched it on, over the verb of POST /extract"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from accounts.tool_groups import registered_groups
from fluxcore.errors import FluxError, NotFound
from mcp_bridge import registry
from memory.extraction.models import Extraction
from memory.grains.models import Grain
from tests.instances import Instance
from tests.mcp.driver import Driver, over_http, over_stdio


@pytest.fixture
def caller(principal):
    return replace(principal, tools=("extraction",))


def call(principal, **given):
    tool = registry.find_for(principal, "flux_extract")
    checked, _ = registry.check_arguments(tool, given)
    return tool.run(principal, checked)


def test_it_is_shown_where_people_switched_it_on(principal, caller):
    assert "extraction" in registered_groups()
    assert "flux_extract" not in [tool.name for tool in registry.visible_tools(principal)]
    assert "flux_extract" in [tool.name for tool in registry.visible_tools(caller)]
    with pytest.raises(NotFound):
        call(principal, content="a")


def test_it_stores_and_says_what_becomes_of_the_text(caller, configure):
    answer = call(caller, content="I moved to Lisbon.", speaker="Anna", provenance="user_stated")
    assert (answer["status"], answer["extraction"]) == ("stored", "off")
    configure(OPERATING_MODE="flux_extracts")
    answer = call(caller, content="It rained.")
    assert set(answer) == set(registry.find_tool("flux_extract").gives["required"])
    assert answer["extraction"] == "waiting"
    assert (Grain.objects.count(), Extraction.objects.count()) == (2, 1)


@pytest.mark.parametrize(
    "given",
    [
        {"content": ""},
        {"content": 7},
        {"content": "a", "reason": 7},
        {"content": "a", "idempotency_key": 7},
        {"content": "a", "idempotency_key": "\0"},
        {"content": "a", "url": "http://x"},
        {"content": "a", "tags": "b"},
    ],
)
def test_bad_input_is_refused_with_a_code(caller, given):
    with pytest.raises(FluxError) as refused:
        call(caller, **given)
    assert refused.value.status == 422
    assert Grain.objects.count() == 0


@pytest.mark.xdist_group("mcp-server")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("door", ["stdio", "http"])
def test_it_is_called_over_the_wire(home: Instance, server: Instance, door: str, mode: str) -> None:
    instance = home if door == "stdio" else server
    instance.commands(f"flux_agent create teller-{mode}", f"flux_agent tools teller-{mode} extraction")
    driver: Driver
    if door == "stdio":
        driver = over_stdio(instance, "--agent", f"teller-{mode}", mode=mode)
    else:
        (minted,) = instance.commands(f"flux_token mint teller-{mode} --json")
        driver = over_http(instance, json.loads(minted)["token"], mode)
    try:
        assert "flux_extract" in driver.tools()
        stored = driver.call("flux_extract", content=f"I moved to Lisbon, says {door} {mode}.", speaker="Anna")
        assert (stored["status"], stored["extraction"]) == ("stored", "off")
        assert driver.refused("flux_extract", content="")[0] == "invalid"
    finally:
        driver.close()
