"""Limit of incomplete bodies per token: only slow ones count."""

from __future__ import annotations

import asyncio

import pytest

from fluxcore import incoming_bodies
from fluxcore.errors import BodyTooSlow, RateLimited


async def of_one_token() -> int:
    return 7


async def of_another() -> int:
    return 8


def late() -> asyncio.Future[bytes]:
    return asyncio.get_running_loop().create_future()


def there() -> asyncio.Future[bytes]:
    body = late()
    body.set_result(b"whole")
    return body


def test_eight_late_bodies_have_a_place_and_complete_ones_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming_bodies, "AT_ONCE_SECONDS", 0.0)

    async def run() -> None:
        bodies = incoming_bodies.IncompleteBodies()
        futures = [late() for _ in range(incoming_bodies.MAX_PER_TOKEN)]
        waiting = [asyncio.ensure_future(bodies.whole(one, of_one_token)) for one in futures]
        await asyncio.sleep(0.01)
        with pytest.raises(RateLimited) as refused:
            await bodies.whole(late(), of_one_token)
        assert refused.value.retry_after == 1 and refused.value.details["limit"] == incoming_bodies.MAX_PER_TOKEN
        # Complete ones, and those of another token, are not in the way.
        assert set(await asyncio.gather(*(bodies.whole(there(), of_one_token) for _ in range(50)))) == {b"whole"}
        with pytest.raises(BodyTooSlow):
            await bodies.whole(late(), of_another, 0.01)
        # A place that is left is there for the next.
        for one in futures:
            one.set_result(b"at last")
        assert set(await asyncio.gather(*waiting)) == {b"at last"}
        with pytest.raises(BodyTooSlow):
            await bodies.whole(late(), of_one_token, 0.01)

    asyncio.run(run())


def test_a_body_has_more_time_the_larger_it_is() -> None:
    assert incoming_bodies.body_seconds(0) == 10
    assert incoming_bodies.body_seconds(8 * 1024 * 1024) == 10 + 128
