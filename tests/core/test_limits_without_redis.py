"""Rate limits when Redis is killed, hangs or is flushed: the database counts instead."""

from __future__ import annotations

import pytest
import redis

from fluxcore.errors import RateLimited
from fluxcore.models import LimitWindow
from fluxcore.writes import limit_windows, redis_limits
from tests.core.test_limits import use
from tests.servers import Redis, missing

pytestmark = [pytest.mark.django_db, pytest.mark.redis]


class Clock:
    """Monotonic seconds that the test moves; wall time stays as it is, so that windows do not expire."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    moved = Clock()
    monkeypatch.setattr(redis_limits.time, "monotonic", moved)
    return moved


@pytest.fixture
def server(settings):
    """A Redis of this test's own, because it will suffer."""
    try:
        own = Redis()
    except (ImportError, OSError) as error:
        pytest.skip(missing("redis", str(error)))
    settings.REDIS_URL = own.url
    redis_limits._by_url.clear()
    yield own
    own.go_on()
    own.stop()
    redis_limits._by_url.clear()


def allowed(tries=20, limit=5) -> int:
    count = 0
    for _ in range(tries):
        try:
            use(limit=limit)
            count += 1
        except RateLimited:
            pass
    return count


def test_when_redis_is_killed_the_database_counts(server, clock):
    server.stop()
    assert allowed() == 5
    assert sum(LimitWindow.objects.get().counts.values()) == 5


def test_when_redis_hangs_one_call_waits_shortly_and_the_next_do_not(server, clock):
    server.hang()
    assert use() == "written"
    asked = []
    redis_limits.current().take = lambda *args, **more: asked.append(args)
    assert allowed(tries=10) == 4
    assert asked == []  # it is not asked again until the pause is over


def test_redis_is_used_again_after_the_pause(server, clock):
    server.hang()
    use()
    server.go_on()
    clock.now += redis_limits.PAUSE + 1
    use()
    assert redis.Redis.from_url(server.url).keys("*")


def test_repeated_outages_of_redis_never_raise_the_limit(server, clock):
    """Five outages within one minute, its memory lost each time: the database has counted all along."""
    server.hang()
    total = allowed()
    for _ in range(5):
        server.go_on()
        redis.Redis.from_url(server.url).flushall()
        clock.now += redis_limits.PAUSE + 1
        total += allowed()
        server.hang()
        total += allowed(tries=3)
    assert total == 5


def test_an_outage_allows_at_most_the_limit_once_more(server, clock):
    before = allowed()
    server.stop()
    assert (before, allowed()) == (5, 5)
    clock.now += redis_limits.PAUSE + 1
    assert allowed() == 0


def test_a_flush_allows_at_most_the_limit_once_more(server):
    before = allowed()
    redis.Redis.from_url(server.url).flushall()
    assert (before, allowed()) == (5, 5)


def test_when_redis_has_answered_for_a_whole_window_the_database_stops_counting(server, clock):
    server.hang()
    use()
    server.go_on()
    clock.now += redis_limits.PAUSE + 1
    use()
    assert sum(LimitWindow.objects.get().counts.values()) == 2
    clock.now += limit_windows.WINDOW + 2
    use()
    assert sum(LimitWindow.objects.get().counts.values()) == 2
