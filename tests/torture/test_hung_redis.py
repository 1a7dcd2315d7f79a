"""A Redis that hangs, which is worse than one that is away: rows are worked on, sockets speak and close."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.concurrency.worker_pool import WorkerPool
from tests.instances import Instance
from tests.live_feeds import agents_feed, next_event, wait_for_end
from tests.management_shell import Shell
from tests.module_changes import change_modules
from tests.servers import Redis, missing

pytestmark = [pytest.mark.torture, pytest.mark.redis]

SECONDS = 120  # until something counts as not happening
_NOTED = """
_wake = Feed.wake

def _noted(self):
    _wake(self)
    with open({path!r}, "a") as file:
        file.write("announced\\n")

Feed.wake = _noted
"""
_TOKENS = """
import json
from accounts import agents, tokens
from accounts.principals import shell
made = []
for name in ("listener", "revoked"):
    agents.create_agent(shell(), space="main", name=name, capabilities=["grains.read"])
    made.append(tokens.mint(shell(), space="main", agent=name, ceiling="user_stated")["token"])
print(json.dumps(made))
"""
_REVOKE = """
from accounts import tokens
from accounts.principals import shell
tokens.revoke(shell(), prefix={prefix!r})
print("null")
"""


@pytest.fixture
def redis() -> Iterator[Redis]:
    """One that may be restarted: nobody else uses it."""
    try:
        server = Redis()
    except (ImportError, OSError) as error:
        pytest.skip(missing("redis", str(error)))
    yield server
    server.go_on()
    server.stop()


def begun(shop: WorkerPool) -> None:
    """A worker that has worked, and waits."""
    shop.add(effect=1)
    shop.hire()
    shop.wait_until_finished(seconds=SECONDS)


def test_a_worker_whose_redis_hangs_finishes_rows(redis: Redis, tmp_path: Path) -> None:
    shop = WorkerPool(tmp_path, "--sweep", "3", REDIS_URL=redis.url)
    try:
        begun(shop)
        redis.hang()
        for count in (3, 5):
            shop.add(effect=count)
            shop.wait_until_finished(seconds=SECONDS)
        assert shop.states() == {("test.effect", "done", 0): 9}
    finally:
        redis.go_on()
        shop.close()


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "restarts"])
def test_beat_and_the_worker_hear_of_each_other_again(redis: Redis, tmp_path: Path, restarted: bool) -> None:
    shop = WorkerPool(tmp_path, "--sweep", "3", "--by-message-alone", REDIS_URL=redis.url)
    try:
        begun(shop)
        redis.hang()
        shop.add(effect=3)
        time.sleep(10)  # for beat and the worker to come upon it
        redis.restart() if restarted else redis.go_on()
        shop.wait_until_finished(seconds=SECONDS)
        assert shop.states() == {("test.effect", "done", 0): 4}
    finally:
        redis.go_on()
        shop.close()


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "restarts"])
def test_sockets_speak_and_close_while_redis_hangs_and_hear_announcements_afterwards(
    made: Callable[..., Instance], redis: Redis, tmp_path: Path, restarted: bool
) -> None:
    heard = tmp_path / "heard"
    noted = change_modules(tmp_path / "noted", fluxcore__log__live=_NOTED.format(path=str(heard)))
    one = made("hung", REDIS_URL=redis.url, **noted).start()
    python = Shell(one)
    listener, revoked = python(_TOKENS)

    def store(text: str) -> str:
        answer = one.call("POST", "/store", {"content": text})
        assert answer.status == 200, answer.body
        return str(answer.json()["grain_id"])

    def announced_again() -> bool:
        """Whether announcements are heard: stored until one is, as the first may come before the subscription."""
        until, before = time.monotonic() + SECONDS, announcements()
        while announcements() == before and time.monotonic() < until:
            store(f"At {time.monotonic()}")
            time.sleep(0.5)
        return announcements() > before

    def announcements() -> int:
        return heard.read_text().count("\n") if heard.exists() else 0

    with agents_feed(one, listener) as feed, agents_feed(one, revoked) as closing:
        assert announced_again()
        redis.hang()
        grain = store("Said while Redis hangs")
        while next_event(feed, "grain.stored", SECONDS)["subject"] != grain:
            pass
        python(_REVOKE.format(prefix=revoked.split("_")[1]))
        assert wait_for_end(closing, SECONDS)[0] == 4401
        time.sleep(10)  # for everybody to come upon it
        redis.restart() if restarted else redis.go_on()
        assert announced_again()
        grain = store("Said after it")
        while next_event(feed, "grain.stored", SECONDS)["subject"] != grain:
            pass
    python.end()
    assert one.stop() == 0
