"""The consumer of /live: independent of the thread that synchronous pages share"""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from asgiref.sync import sync_to_async

from dashboard import live
from fluxcore import events
from fluxcore.log.live import feed
from fluxcore.writes import booth
from tests.dashboard.test_live import handshake

pytestmark = pytest.mark.django_db(transaction=True)


class Client:
    """The server's side of a WebSocket, as uvicorn hands it to the application."""

    def __init__(self, scope):
        self.scope, self.sent, self.incoming = scope, asyncio.Queue(), asyncio.Queue()
        self.incoming.put_nowait({"type": "websocket.connect"})

    def open(self):
        return asyncio.create_task(live.websockets(self.scope, self.incoming.get, self.sent.put))

    async def said(self):
        return await asyncio.wait_for(self.sent.get(), 30)


def test_a_socket_opens_speaks_and_ends_while_the_thread_of_synchronous_pages_is_taken(person, space):
    scope = handshake(person("vera", administrator=False, roles={"home": "viewer"}).sign_in())
    over = threading.Event()

    async def scene():
        page = asyncio.create_task(sync_to_async(over.wait, thread_sensitive=True)(60))
        await asyncio.sleep(0)
        client = Client(scope)
        consumer = client.open()
        try:
            assert (await client.said())["type"] == "websocket.accept"
            assert json.loads((await client.said())["text"])["kind"] == "live.open"
            news = lambda: events.append("test.news", space=space.pk, actor="test", subject="s")  # noqa: E731
            await asyncio.to_thread(booth.write, news)
            assert json.loads((await client.said())["text"])["kind"] == "test.news"
            client.incoming.put_nowait({"type": "websocket.receive", "text": "hello"})
            closed = await client.said()
            assert (closed["type"], closed["code"]) == ("websocket.close", 4400)
            await asyncio.wait_for(consumer, 30)
            assert not page.done()
        finally:
            over.set()
            await page

    asyncio.run(scene())


def test_a_client_that_hangs_up_leaves_nothing_behind(person, space):
    scope = handshake(person("vera", administrator=False, roles={"home": "viewer"}).sign_in())

    async def scene():
        before = len(feed.sockets)
        client = Client(scope)
        consumer = client.open()
        await client.said()
        await client.said()
        assert len(feed.sockets) == before + 1
        client.incoming.put_nowait({"type": "websocket.disconnect", "code": 1006})
        await asyncio.wait_for(consumer, 30)
        assert len(feed.sockets) == before

    asyncio.run(scene())
