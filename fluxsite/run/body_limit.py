"""Limits of request bodies on the dashboard server. Django writes a whole body to disk before it authenticates."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from typing import Any

from fluxcore.errors import FluxError
from fluxcore.writes import limit_messages
from fluxsite.run.http_connections import source_of

FORM_BYTES = 1024 * 1024  # bytes allowed for form fields and the multipart frame around files
LARGE_AT_ONCE = 4  # bodies above FORM_BYTES that one source may send at a time: bounds what they use of the disk


def limit_body(application: Any, most: int) -> Any:
    """The application with a limit of so many bytes; a longer body is refused while it arrives."""
    sending = Counter[str]()

    async def call(scope: dict[str, Any], receive: Any, send: Any) -> None:
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and (len(declared) > 15 or int(declared) > most):
            await _refuse(send, limit_messages.body_too_large("A request", most, raised_by=None))
            return
        source = source_of((scope.get("client") or ("",))[0])
        size, large, refused = 0, False, False

        def refusal() -> FluxError | None:
            """Why what came so far is not taken."""
            nonlocal large
            if size > most:
                return limit_messages.body_too_large("A request", most, raised_by=None)
            if size > FORM_BYTES and not large:
                if sending[source] >= LARGE_AT_ONCE:
                    return limit_messages.at_once_reached(
                        "large uploads of one address",
                        limit=LARGE_AT_ONCE,
                        raised_by=None,
                        wait=5,
                        do="Wait for one to end",
                    )
                large = True
                sending[source] += 1
            return None

        async def counted() -> Any:
            nonlocal size, refused
            message = await receive()
            size += len(message.get("body", b""))
            problem = None if refused else refusal()
            if problem is not None:
                refused = True
                await _refuse(send, problem)
            return {"type": "http.disconnect"} if refused else message

        async def send_unless_refused(message: Any) -> None:
            if not refused:
                await send(message)

        try:
            await application(scope, counted, send_unless_refused)
        finally:
            if large:
                sending[source] -= 1
                if not sending[source]:
                    del sending[source]

    return call


async def _refuse(send: Any, refusal: FluxError) -> None:
    body = json.dumps({**refusal.body(), "request_id": secrets.token_hex(8)}).encode()
    # Without `connection: close`: run/http_connections.py first discards the rest of the body, within limits.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(round(refusal.retry_after)).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
