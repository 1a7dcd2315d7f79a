"""Live feeds for tests: real WebSockets to the doors of a running instance."""

from __future__ import annotations

import json
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.instances import Answer, Instance

# The promise is one second, measured by the torture test; here other tests share the machine.
SOON = 20.0


def open_feed(address: str, **headers: str) -> ClientConnection:
    """Open a socket and read its first message; a refusal raises `InvalidStatus`. Host names are not looked up."""
    origin, host = headers.pop("Origin", None), headers.pop("Host", None)
    source = headers.pop("source", "")  # the address it connects from
    parts = urlsplit(address)
    feed = connect(
        parts._replace(netloc=host or parts.netloc).geturl(),
        additional_headers=headers,
        origin=origin,
        sock=socket.create_connection((parts.hostname, parts.port), source_address=(source, 0) if source else None),
        compression=None,
        max_size=None,
        legacy=True,
    )
    assert next_message(feed)["kind"] == "live.open"
    return feed


def agents_address(instance: Instance, since: str | None = None) -> str:
    return f"ws://127.0.0.1:{instance.state['ports']['mcp']}/live" + (f"?since={since}" if since else "")


def agents_feed(instance: Instance, token: str, since: str | None = None, source: str = "") -> ClientConnection:
    return open_feed(agents_address(instance, since), Authorization=f"Bearer {token}", source=source)


def peoples_address(instance: Instance, space: str = "main", since: str | None = None) -> str:
    address = f"ws://127.0.0.1:{instance.state['ports']['people']}/live?space={space}"
    return address + (f"&since={since}" if since else "")


def peoples_feed(instance: Instance, cookie: str, space: str = "main", since: str | None = None) -> ClientConnection:
    return open_feed(peoples_address(instance, space, since), Origin=instance.state["urls"]["people"], Cookie=cookie)


def handshake_refusal(address: str, **headers: str) -> Answer:
    """What the server says in place of a handshake."""
    try:
        open_feed(address, **headers).close()
    except InvalidStatus as refused:
        answer = refused.response
        return Answer(answer.status_code, {k.lower(): v for k, v in answer.headers.raw_items()}, bytes(answer.body))
    raise AssertionError("the socket was opened")


def next_message(feed: ClientConnection, seconds: float = 20) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(feed.recv(timeout=seconds))
    return said


def next_event(feed: ClientConnection, kind: str, seconds: float = 20) -> dict[str, Any]:
    """The next event of a kind: what the worker tells of its jobs comes in between, whenever it likes."""
    until = time.monotonic() + seconds
    while (said := next_message(feed, max(0, until - time.monotonic())))["kind"] != kind:
        pass
    return said


def wait_for_end(feed: ClientConnection, seconds: float = 20) -> tuple[int, float, list[dict[str, Any]]]:
    """Listen until the server ends the feed: its close code, the moment, and what it said until then."""
    said, until = [], time.monotonic() + seconds
    while True:
        try:
            said.append(json.loads(feed.recv(timeout=max(0, until - time.monotonic()))))
        except ConnectionClosed as closed:
            assert closed.rcvd is not None, "the connection broke without a word"
            return closed.rcvd.code, time.time(), said
