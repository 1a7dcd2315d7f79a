"""The agents page in a real browser, and a program connected from it, on a desk and on a phone"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from tests.browser.house import House, fit
from tests.instances import Instance
from tests.mcp.driver import over_http

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("agents")]  # one instance serves this file

# A day of three agents, and a model that has been asked.
_PAST = """
import math
from datetime import timedelta
from accounts import agents, grants, tokens
from accounts.models import Space, Token
from accounts.principals import shell
from fluxcore.writes import booth
from fluxcore import clock
from memory.extraction import circuit_breaker, budget
from memory.extraction.models import ModelSpend
from memory.health.models import HourlySum
from memory.health.event_sums import hour_of
space, now = Space.objects.get(name="main"), clock.now()
for name, trust, capabilities in (
    ("research-bot", "trusted", ["grains.read", "grains.write", "grains.feedback", "health.read"]),
    ("night-reader", "untrusted", ["grains.read"]),
    ("retired", "sandboxed", []),
):
    agents.create_agent(shell(), space="main", name=name, capabilities=capabilities, trust=trust)
    tokens.mint(shell(), space="main", agent=name)
agents.switch_agent(shell(), space="main", name="retired", active=False)
Token.objects.filter(agent__name="research-bot").update(last_used_at=now - timedelta(minutes=4))
Token.objects.filter(agent__name="night-reader").update(last_used_at=now - timedelta(hours=9))
hour = hour_of(now.timestamp())
for who, busy in (("research-bot", 40), ("night-reader", 12)):
    for back in range(24):
        wave = max(0, math.sin((back + busy) / 3.5))
        stores = int(busy * wave) if who == "research-bot" else 0
        for name, value in (("stores", stores), ("stated", stores // 5), ("answered", int(busy * wave * .7)),
                            ("judged", int(busy * wave * .5))):
            if value:
                HourlySum.objects.create(space=space, who=f"agent:{who}", hour=hour - back, name=name, value=value)
booth.write(lambda: circuit_breaker.record_failure("no answer within 30 seconds"))
ModelSpend.objects.create(space=space, day=now.date(), calls=1730, failed=12, tokens=1_204_377)
"""


@pytest.fixture(scope="module")
def house(blank, tmp_path_factory):
    """It was used before this start, so that no token is printed."""
    folder = tmp_path_factory.mktemp("agents") / "flux"
    one = Instance(folder)
    shutil.copytree(blank.folder, one.folder)
    file = one.folder / "config.yaml"
    file.write_text(re.sub(r"(?m)^OPERATING_MODE:.*$", "OPERATING_MODE: flux_extracts", file.read_text()))
    one.command("shell", "-v", "0", "-c", _PAST)
    made = House(folder)
    yield made
    made.instance.kill()


def does_what_it_is_told(instance, token: str) -> None:
    """The connected program follows the server's instructions: what its user said is stored as the user's words."""
    program = over_http(instance, token)
    try:
        assert "user_stated for what the user said" in program.client.instructions
        kept = program.call("flux_store", content="Anna takes the night train.", provenance="user_stated")
        assert kept["provenance"] == "user_stated"
    finally:
        program.close()


def test_who_calls_and_a_program_is_connected(house, browser, complaints):
    page = house.open(browser)
    complaints.listen(page)
    house.enter(page)
    page.get_by_role("link", name="Agents", exact=True).click()
    fit(page, "Agents")
    assert page.locator(".caller").count() == 4
    assert page.locator("#agent-research-bot .hours rect.stores").count() > 5
    assert page.locator(".model .mark").inner_text() == "not answering"
    page.locator("#agent-research-bot").get_by_role("link", name="Connect a program").click()
    fit(page, "Connect a program")
    assert page.get_by_label("Yes: what a person tells it").is_checked()
    page.get_by_role("button", name="Mint token").click()
    fit(page, "Token for research-bot")
    token = page.locator("#token").inner_text()
    assert token.startswith("flux_") and token in page.locator("#claude-code").inner_text()
    page.get_by_text("Python and shell").click()
    assert token in page.locator("#shell").inner_text()
    said = house.instance.call("GET", "/me", headers={"Authorization": f"Bearer {token}"})
    assert said.json()["agent"] == "research-bot"
    does_what_it_is_told(house.instance, token)
    page.get_by_role("link", name="Done, I saved it").click()
    assert token not in page.content()
    assert complaints == []


def test_the_example_printed_after_a_restart_runs_as_printed(house):
    """In any terminal: nothing of this process's environment but the path."""
    printed = house.instance.output.read_text().rpartition("Try it")[2]
    lines = re.findall(r"(?m)^  (export FLUX_TOKEN=\$\(.+\)|curl .+ \\\n.+)$", printed)
    assert len(lines) == 2, printed
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)], env={"PATH": os.environ["PATH"]}, cwd="/", capture_output=True, text=True
    )
    assert json.loads(done.stdout)["status"] == "stored", done.stderr
