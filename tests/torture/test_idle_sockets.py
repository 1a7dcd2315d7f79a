"""A hundred sockets to which nothing is said take at most a twentieth of a core, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from benchmarks.live import IDLE_GOAL, idle_share
from tests.concurrency.databases import database_with_tables
from tests.instances import Instance
from tests.live_feeds import agents_feed
from tests.management_shell import Shell

pytestmark = pytest.mark.torture

SOCKETS = 100
_TOKENS = f"""
import json
from accounts import agents, tokens
from accounts.principals import shell
made = []
for number in range({SOCKETS}):
    name = f"listener-{{number}}"
    agents.create_agent(shell(), space="main", name=name, capabilities=["grains.read"])
    made.append(tokens.mint(shell(), space="main", agent=name, ceiling="user_stated")["token"])
print(json.dumps(made))
"""


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_a_hundred_idle_sockets_of_as_many_tokens_take_at_most_a_twentieth_of_a_core(
    instance: Callable[..., Instance], request: pytest.FixtureRequest, database: str
) -> None:
    environment = {}
    if database == "postgres":
        environment["DATABASE_URL"] = database_with_tables(request.getfixturevalue("postgres_url"))
    one = instance(**environment).with_tables().start()
    python = Shell(one)
    tokens: list[str] = python(_TOKENS)
    python.end()
    pid = one.state["pids"]["people"]
    with ExitStack() as sockets:
        feeds: list[Any] = [sockets.enter_context(agents_feed(one, token)) for token in tokens]
        share = idle_share(pid)
        for feed in feeds:
            assert feed.ping().wait(20), "the server has closed a socket"
    print(f"\nTORTURE {SOCKETS} idle sockets on {database}: {100 * share:.1f} % of a core")
    assert share <= IDLE_GOAL
