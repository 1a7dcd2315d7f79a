"""Request bodies on the dashboard server are limited, before and after sign-in"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.core.asgi import get_asgi_application

from fluxsite.run import body_limit
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


def test_one_address_sends_a_few_large_bodies_at_a_time_and_others_theirs() -> None:
    """What bodies of nobody in particular hold on the disk is bounded. The place is free when the request has ended."""
    large = body_limit.FORM_BYTES + 1
    statuses: list[tuple[str, int]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if (await receive())["type"] == "http.request":
            begun.release()
            await over.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

    async def upload(source: str, size: int) -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"x" * size, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            if "status" in message:
                statuses.append((source, message["status"]))

        await limited({"headers": [], "client": (source, 1)}, receive, send)

    async def run() -> None:
        most = body_limit.LARGE_AT_ONCE
        first = [asyncio.create_task(upload("10.0.0.1", large)) for _ in range(most)]
        for _ in range(most):
            await begun.acquire()
        await upload("10.0.0.1", large)
        assert statuses == [("10.0.0.1", 429)]
        others = [asyncio.create_task(upload("10.0.0.1", 100)), asyncio.create_task(upload("10.0.0.2", large))]
        over.set()
        await asyncio.gather(*first, *others)
        await upload("10.0.0.1", large)
        assert [status for _, status in statuses[1:]] == [200] * (most + 3)

    begun, over = asyncio.Semaphore(0), asyncio.Event()
    limited = limit_body(application, 2 * large)
    asyncio.run(run())
