"""Commits of one process are announced to the sockets of another over Redis.

The feed of these instances looks at the log by itself once an hour: a socket that says something was woken.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.client import ClientConnection

from tests.instances import Instance
from tests.live_feeds import agents_feed, next_event, peoples_feed
from tests.management_shell import Shell
from tests.mcp.driver import over_http
from tests.module_changes import change_modules

pytestmark = [pytest.mark.redis, pytest.mark.xdist_group("announcements")]  # one instance serves both tests

# The feed is begun with an hour between two looks, whatever it is told about announcements afterwards.
HOURLY = "CHECK_SECONDS = 3600.0; BLIND_SECONDS = 7200.0; feed._idle_seconds = 3600.0"
# After a subscription Redis needs a moment; what was announced before it is heard by nobody.
TRIES, TRY_SECONDS = 8, 5.0
_SIGN_IN = """
import json
from django.conf import settings
from tests.dashboard.conftest import Person
settings.PASSWORD_HASHERS = ["tests.hashers.CheapArgon2"]  # whom a socket belongs to is told by the cookie alone
name = settings.SESSION_COOKIE_NAME
print(json.dumps(f"{name}={Person('ada').sign_in().cookies[name].value}"))
"""


@pytest.fixture(scope="module")
def one(blank: Instance, redis_server: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    folder = tmp_path_factory.mktemp("announced")
    hourly = change_modules(folder / "hourly", fluxcore__log__live=HOURLY)
    one = Instance(folder, "announced", REDIS_URL=redis_server.url, **hourly)
    shutil.copytree(blank.folder, one.folder)
    yield one.start()
    one.kill()


def signed_in(one: Instance) -> str:
    """The cookie of a person."""
    python = Shell(one)
    cookie: str = python(_SIGN_IN)
    python.end()
    return cookie


@contextmanager
def stopped(one: Instance, name: str) -> Iterator[None]:
    """While a process is stopped, it announces nothing."""
    pid = one.state["pids"][name]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def told(feed: ClientConnection, store: Callable[[int], object]) -> dict[str, Any]:
    """What the socket says of a stored memory; stored again until it is subscribed."""
    for number in range(TRIES):
        store(number)
        try:
            return next_event(feed, "grain.stored", TRY_SECONDS)
        except TimeoutError:
            continue
    raise AssertionError("nobody announced a commit")


def test_commits_of_rest_and_of_the_worker_are_announced(one: Instance) -> None:
    def store(number: int) -> None:
        assert one.call("POST", "/store", {"content": f"Announced by REST {number}"}).status == 200

    with peoples_feed(one, signed_in(one)) as feed:
        with stopped(one, "worker"):
            told(feed, store)
        # Vectors of what was stored are a commit of the worker, and nobody else has anything to commit by now.
        next_event(feed, "job.done", TRIES * TRY_SECONDS)


def test_commits_over_mcp_are_announced(one: Instance) -> None:
    client = over_http(one)
    try:
        with agents_feed(one, one.token) as feed, stopped(one, "worker"):
            told(feed, lambda number: client.call("flux_store", content=f"Announced over MCP {number}"))
    finally:
        client.close()
