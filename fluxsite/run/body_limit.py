"""Limit of request bodies on the dashboard server. Django writes a whole body to disk before it authenticates."""

from __future__ import annotations

import json
import secrets
from typing import Any

from fluxcore.writes import limit_messages

FORM_BYTES = 1024 * 1024  # bytes allowed for form fields and the multipart frame around files


def limit_body(application: Any, most: int) -> Any:
    """The application with a limit of so many bytes; a longer body is refused while it arrives."""

    async def call(scope: dict[str, Any], receive: Any, send: Any) -> None:
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and (len(declared) > 15 or int(declared) > most):
            await _refuse(send, most)
            return
        size, refused = 0, False

        async def counted() -> Any:
            nonlocal size, refused
            message = await receive()
            size += len(message.get("body", b""))
            if size > most and not refused:
                refused = True
                await _refuse(send, most)
            return {"type": "http.disconnect"} if refused else message

        async def send_unless_refused(message: Any) -> None:
            if not refused:
                await send(message)

        await application(scope, counted, send_unless_refused)

    return call


async def _refuse(send: Any, most: int) -> None:
    refusal = limit_messages.body_too_large("A request", most, raised_by=None)
    body = json.dumps({**refusal.body(), "request_id": secrets.token_hex(8)}).encode()
    # Without `connection: close`: run/http_connections.py first discards the rest of the body, within limits.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
