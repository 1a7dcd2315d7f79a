"""ASGI application of the MCP server: routes `/mcp` and `/health`."""

from __future__ import annotations

import json
import secrets
from typing import Any

from fluxcore.errors import NotFound
from mcp_bridge import http, oauth_metadata
from mcp_bridge.origin_check import HEADERS, hostile_request_error


async def mcp_app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer `/mcp` for agents and `/health` for supervisors; others get 404. WebSockets: `mcp_bridge/live.py`."""
    refusal = hostile_request_error(scope)
    if refusal is None and scope["path"] == "/mcp":
        await http.serve(scope, receive, send)
        return
    if refusal is None and scope["method"] in ("GET", "HEAD"):
        if scope["path"] == "/health":
            await _answer(send, 200, {"status": "ok"})
            return
        if scope["path"] in oauth_metadata.ADDRESSES:
            await _answer(send, 200, oauth_metadata.metadata(scope))
            return
    refusal = refusal or NotFound("No such address on this server.")
    await _answer(send, refusal.status, {**refusal.body(), "request_id": secrets.token_hex(8)})


async def _answer(send: Any, status: int, body: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
