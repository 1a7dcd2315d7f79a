"""Request bodies on the dashboard server are limited, before and after sign-in"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.core.asgi import get_asgi_application

from fluxsite.run.body_limit import limit_body

MOST, CHUNK = 4096, 1024


@pytest.mark.parametrize(
    ("headers", "taken"), [([], 5), ([(b"content-length", b"4097")], 0), ([(b"content-length", b"9" * 40)], 0)]
)
def test_a_body_without_end_is_refused_while_it_comes_in(headers: list[tuple[bytes, bytes]], taken: int) -> None:
    came, said = 0, list[Any]()

    async def receive() -> dict[str, Any]:
        nonlocal came
        came += 1
        assert came < 50, "it would have read for ever"
        return {"type": "http.request", "body": b"x" * CHUNK, "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/import",
        "query_string": b"",
        "http_version": "1.1",
        "headers": [(b"host", b"localhost"), *headers],
    }
    asyncio.run(limit_body(get_asgi_application(), MOST)(scope, receive, send))
    assert [one.get("status") for one in said] == [413, None] and came == taken
    assert b'"too_large"' in said[1]["body"]


def test_a_body_within_the_bound_passes_as_it_is() -> None:
    heard: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        heard.append(await receive())

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * MOST, "more_body": False}

    asyncio.run(limit_body(application, MOST)({"headers": []}, receive, None))
    assert heard == [{"type": "http.request", "body": b"x" * MOST, "more_body": False}]
