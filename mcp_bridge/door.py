"""The MCP door's frame: what answers on its port before any tool does."""

from __future__ import annotations

import json
import secrets
from typing import Any


async def mcp_door(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """`/health` for supervisors; every other address is not here, in the one error shape."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4404})
        return
    if scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
        await _answer(send, 200, {"status": "ok"})
        return
    identity = secrets.token_hex(8)
    body = {"code": "not_found", "message": "This door has no such address.", "details": {}, "request_id": identity}
    await _answer(send, 404, body)


async def _answer(send: Any, status: int, body: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
