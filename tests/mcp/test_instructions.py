"""Instructions fit the token's maximum provenance: none is advised that would be refused"""

from __future__ import annotations

import json
import re

import pytest

from accounts import origins
from mcp_bridge import prompts
from mcp_bridge.instructions import instructions, instructions_block
from tests.instances import Instance
from tests.mcp.driver import over_http, over_stdio

pytestmark = pytest.mark.xdist_group("mcp-server")


def named(text: str) -> set[str]:
    return set(re.findall("|".join(origins.AUTHORITY), text))


@pytest.mark.parametrize("ceiling", origins.CEILINGS)
def test_nothing_above_the_ceiling_is_named(ceiling: str) -> None:
    remember = prompts.get("remember", {"text": "Ada was born in 1815."}, ceiling).messages[0].content.text
    for text in (instructions(ceiling), instructions_block(ceiling), remember):
        assert ceiling in named(text)
        for claim in named(text):
            assert origins.bind(claim, ceiling=ceiling) == claim


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http_each_token_is_told_its_own(server: Instance, mode: str) -> None:
    own = over_http(server, mode=mode)
    lesser = json.loads(server.command("flux_token", "mint", "assistant", "--no-user-words", "--json").stdout)["token"]
    other = over_http(server, lesser, mode=mode)
    try:
        for driver, ceiling in ((own, "user_stated"), (other, "ai_stated")):
            assert driver.client.instructions == instructions(ceiling)
            assert driver.call("flux_onboard")["instructions"].startswith(instructions(ceiling))
            prompt = driver.ask(lambda client: client.get_prompt("remember", {"text": "Ada was born in 1815."}))
            assert f"provenance {ceiling}," in prompt.messages[0].content.text
            kept = driver.call("flux_store", content=f"The user has said so {mode} {ceiling}.", provenance=ceiling)
            assert kept["provenance"] == ceiling
    finally:
        own.close()
        other.close()


def test_over_standard_output_as_the_command_line_says(home: Instance) -> None:
    driver = over_stdio(home, "--ceiling", "ai_inferred")
    try:
        assert driver.client.instructions == instructions("ai_inferred")
    finally:
        driver.close()
