"""The MCP door's frame: what answers on its port before any tool does."""

from __future__ import annotations

import json
import secrets
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from fluxcore.errors import BadHost, BadOrigin, FluxError, NotFound


async def mcp_door(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """`/health` for supervisors; every other address is not here, in the one error shape."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 4404})
        return
    refusal = _hostile(dict(scope["headers"]))
    if refusal is None and scope["path"] == "/health" and scope["method"] in ("GET", "HEAD"):
        await _answer(send, 200, {"status": "ok"})
        return
    refusal = refusal or NotFound("This door has no such address.")
    await _answer(send, refusal.status, {**refusal.body(), "request_id": secrets.token_hex(8)})


def _hostile(headers: dict[bytes, bytes]) -> FluxError | None:
    """A page of another origin, or a name this server does not answer to (DNS rebinding)."""
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return BadHost()
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").lower() not in (f"http://{host}", f"https://{host}"):
        return BadOrigin()
    return None


async def _answer(send: Any, status: int, body: dict[str, Any]) -> None:
    headers = [(b"content-type", b"application/json"), (b"x-content-type-options", b"nosniff")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
