"""Announcements of commits: followers read the log at once, in one process and over Redis."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from channels.layers import get_channel_layer

from fluxcore import events
from fluxcore.log import live
from fluxcore.log.live import Feed, LiveSubscriber
from fluxcore.writes import booth
from fluxsite import announcements
from fluxsite.announcements import Announcer
from tests.core.test_booth import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
SPACE = 1


@pytest.fixture
def announced():
    yield events.announce_with
    events.announce_with(None)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def layer(request: pytest.FixtureRequest, settings: Any) -> None:
    backend: dict[str, Any] = {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if request.param == "redis":
        url = request.getfixturevalue("redis_server").url
        backend = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [url]}}
    settings.CHANNEL_LAYERS = {"default": backend}


def happen(subject: str) -> None:
    booth.write(lambda: events.append("test.news", space=SPACE, actor="test", subject=subject))


def everything(change: Any) -> bool:
    return True


@pytest.mark.usefixtures("layer")
def test_a_commit_of_another_thread_wakes_a_follower_that_would_not_look_for_an_hour(monkeypatch, announced):
    monkeypatch.setattr(live, "CHECK_SECONDS", 3600.0)
    monkeypatch.setattr(live, "BLIND_SECONDS", 7200.0)

    async def follow() -> str:
        feed = Feed()
        feed.use(announcements.listen, from_everywhere=True)
        announced(Announcer(asyncio.get_running_loop()).announce)
        socket = feed.join(
            LiveSubscriber("one", "one", SPACE, "agent:a", "home", lambda: everything), events.Position()
        )
        while "found" not in heard:  # until it hears announcements: with Redis that takes a moment
            await asyncio.to_thread(happen, "news")
            try:
                async with asyncio.timeout(1):
                    await socket.arrived.wait()
                    heard["found"] = socket.page[0]
            except TimeoutError:
                pass
        feed.leave(socket)
        feed.wake()
        await asyncio.wait_for(feed._follower, 10)
        return heard["found"]

    heard: dict[str, str] = {}
    assert '"subject":"news"' in asyncio.run(asyncio.wait_for(follow(), 60))


@pytest.mark.redis
def test_a_process_of_threads_announces_over_redis_and_a_hung_one_holds_up_no_commit(
    redis_server: Any, settings: Any, announced: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = redis_server.url
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [redis_server.url]},
        }
    }
    monkeypatch.setattr(announcements, "GIVE_UP_SECONDS", 0.2)
    monkeypatch.setattr(announcements, "_announcer", None)
    announcements.from_a_thread()
    heard = threading.Event()

    async def listen() -> None:
        await announcements.listen(heard.set)

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    listening = asyncio.run_coroutine_threadsafe(listen(), loop)
    try:
        for _ in range(100):
            happen("news")
            if heard.wait(0.3):
                break
        assert heard.is_set()
        redis_server.hang()
        for number in range(20):
            happen(f"while it hangs {number}")
        wait_until(lambda: "commits cannot be announced" in caplog.text)
        assert caplog.text.count("commits cannot be announced") == 1, "said once, not at every commit"
    finally:
        redis_server.go_on()
        listening.cancel()
        loop.call_soon_threadsafe(loop.stop)


def test_without_redis_a_process_of_threads_announces_nothing(settings: Any) -> None:
    settings.REDIS_URL = ""
    announcements.from_a_thread()
    assert events._announce is None
    assert get_channel_layer() is not None
