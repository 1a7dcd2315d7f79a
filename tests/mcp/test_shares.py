"""MCP over HTTP: an agent that uses its whole share of the threads is refused with busy, until a call ends"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from accounts import tokens
from mcp_bridge import http


def sent(token: str, body: bytes = b"{}") -> tuple[int, dict[bytes, bytes], Any]:
    """One message to the server's own function; status, headers and body of the answer."""
    found: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "client": ("127.0.0.1", 1),
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {token}".encode()), (b"host", b"localhost")],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"} if not body else {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        found.append(message)

    asyncio.run(http.serve(scope, receive, send))
    return found[0]["status"], dict(found[0]["headers"]), json.loads(found[1]["body"])


def test_one_agents_calls_leave_threads_for_others(transactional_db: None, make_token: Callable[..., str]) -> None:
    mine, other = make_token("alice"), make_token("bob", space="elsewhere")
    who = tokens.authenticate(mine)
    taken = 0
    while http._shares.take(who.space, who.actor):
        taken += 1
    assert taken == http.AT_ONCE // 2
    status, headers, body = sent(mine)
    assert (status, headers[b"retry-after"]) == (503, b"1") and "Too many calls" in body["error"]["message"]
    assert sent(other, b"")[0] == 400  # it got further: its message was not sent to its end
    for _ in range(taken):
        http._shares.leave(who.space, who.actor)
    assert sent(mine, b"")[0] == 400
    assert not http._shares._held
