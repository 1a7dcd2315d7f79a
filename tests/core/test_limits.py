"""Rate limits in the database that runs these tests, and in Redis."""

from __future__ import annotations

import time

import pytest
import redis
import time_machine

from fluxcore.errors import Invalid, RateLimited
from fluxcore.models import LimitWindow
from fluxcore.writes import booth, limit_windows, limits, redis_limits
from tests.core.threads import together

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["database", pytest.param("redis", marks=pytest.mark.redis)])
def back_end(request, settings):
    if request.param == "redis":
        server = request.getfixturevalue("redis_server")
        settings.REDIS_URL = server.url
        redis.Redis.from_url(server.url).flushall()
    redis_limits._by_url.clear()
    yield request.param
    redis_limits._by_url.clear()


def use(key="k", cost=1, limit=5, fail=False, **labelled):
    """A write under the limit, as a verb makes it."""
    ticket = limits.ask(key, cost=cost, limit=limit, **labelled)

    def work():
        ticket.take()
        if fail:
            raise Invalid
        return "written"

    try:
        return booth.write(work)
    except BaseException:
        ticket.give_back()
        raise


def test_exactly_the_limit_is_allowed(back_end):
    assert [use() for _ in range(5)] == ["written"] * 5
    with pytest.raises(RateLimited) as refusal:
        use()
    assert 0 < refusal.value.retry_after <= 61
    assert refusal.value.details == {"limit": 5, "per_seconds": 60, "what": "calls"}


def test_a_call_may_cost_more_than_one(back_end):
    use(cost=3)
    with pytest.raises(RateLimited):
        use(cost=3)
    assert use(cost=2) == "written"


def test_a_cost_above_the_limit_can_never_pass_and_says_so(back_end):
    with pytest.raises(Invalid):
        limits.ask("k", cost=6, limit=5)


def test_keys_are_counted_separately(back_end):
    for _ in range(5):
        use("one")
    assert use("two") == "written"


def test_labels_have_shares_inside_the_total(back_end):
    for label in ("", "a", "b"):
        assert [use(limit=2, total=7, label=label) for _ in range(2)] == ["written"] * 2
        with pytest.raises(RateLimited) as refusal:
            use(limit=2, total=7, label=label)
        assert refusal.value.details["limit"] == 2
    with pytest.raises(RateLimited) as refusal:
        use(cost=2, limit=2, total=7, label="c")
    assert refusal.value.details["limit"] == 7
    assert use(limit=2, total=7, label="c") == "written"
    assert limits.read_use(["k"]) == {"k": (7, 2)}


def test_over_both_limits_the_longer_wait_is_reported(back_end):
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        use(limit=1, total=2, label="a")
        clock.shift(20)
        use(limit=1, total=2, label="b")
        clock.shift(10)
        with pytest.raises(RateLimited) as refusal:
            use(limit=1, total=2, label="b")  # the whole has room again in 31 seconds, the label in 51
        assert refusal.value.retry_after == pytest.approx(51)
        assert refusal.value.details["limit"] == 1


def test_a_flood_of_labels_shares_one_place_and_one_row(back_end, monkeypatch):
    monkeypatch.setattr(limit_windows, "MOST_LABELS", 3)
    passed = 0
    for number in range(40):
        try:
            use(limit=2, total=30, label=f"invented {number}")
            passed += 1
        except RateLimited:
            pass
    assert passed == 3 + 2  # three with a share each, all others together one share of two
    assert use(limit=2, total=30, label="invented 0") == "written"  # who was there keeps its own
    assert use(limit=2, total=30) == "written"
    with pytest.raises(RateLimited):
        use(limit=2, total=30, label="invented 9")
    assert LimitWindow.objects.count() == (back_end == "database")


def test_who_counted_with_the_others_gets_no_second_share_in_the_same_minute(back_end, monkeypatch):
    monkeypatch.setattr(limit_windows, "MOST_LABELS", 1)
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        use(limit=1, total=9, label="first")
        clock.shift(30)
        assert use(limit=1, total=9, label="late") == "written"
        clock.shift(32)  # the first has left the window, the others' share has not
        with pytest.raises(RateLimited):
            use(limit=1, total=9, label="late")
        clock.shift(30)
        assert use(limit=1, total=9, label="late") == "written"


def test_a_failed_write_of_a_label_is_not_charged(back_end):
    for _ in range(9):
        with pytest.raises(Invalid):
            use(limit=2, total=8, label="a", fail=True)
    assert [use(limit=2, total=8, label="a") for _ in range(2)] == ["written"] * 2


@pytest.mark.django_db(transaction=True)
def test_shares_and_total_are_exact_over_threads(back_end):
    found = together(30, lambda number: use(limit=4, total=10, label="abc"[number % 3]))
    assert found.count("written") == 10
    assert sum(isinstance(answer, RateLimited) for answer in found) == 20


def test_after_retry_after_the_call_is_allowed(back_end):
    with time_machine.travel(1_800_000_000.25, tick=False) as clock:
        for _ in range(5):
            use()
        with pytest.raises(RateLimited) as refusal:
            use()
        wait = refusal.value.retry_after
        clock.shift(wait - 1.01)
        with pytest.raises(RateLimited):
            use()
        clock.shift(1.02)
        assert use() == "written"


def test_a_failed_write_is_not_charged(back_end):
    for _ in range(20):
        with pytest.raises(Invalid):
            use(fail=True)
    assert [use() for _ in range(5)] == ["written"] * 5


def test_a_count_given_back_late_does_not_raise_the_limit_later(back_end):
    """The count leaves the second it was made in; a credit in a later second would outlive it."""
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        ticket = limits.ask("k", cost=5, limit=5)
        clock.shift(30)
        ticket.give_back()
        ticket.give_back()
        for _ in range(5):
            use()
        clock.shift(32)
        with pytest.raises(RateLimited):
            use()


@pytest.mark.django_db(transaction=True)
def test_the_limit_is_exact_over_threads(back_end):
    found = together(24, lambda number: use(limit=10))
    assert found.count("written") == 10
    assert sum(isinstance(answer, RateLimited) for answer in found) == 14


def test_the_limit_is_exact_over_threads_that_share_commits(back_end, threaded):
    found = together(24, lambda number: use(limit=10))
    assert found.count("written") == 10
    assert sum(isinstance(answer, RateLimited) for answer in found) == 14


def test_a_clock_set_back_within_the_minute_does_not_raise_the_limit(back_end):
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        for _ in range(5):
            use()
        clock.shift(-50)
        with pytest.raises(RateLimited):
            use()


def test_windows_without_counts_are_deleted():
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        use("old")
        clock.shift(62)
        use("young")
        assert booth.write(limits.forget_old) == 1
    assert list(LimitWindow.objects.values_list("key", flat=True)) == ["young"]


@pytest.mark.django_db(transaction=True)
def test_deleting_windows_never_loses_a_count_made_meanwhile(settings):
    """A sweep that looked before somebody counted must look again before it deletes."""
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        use(limit=1)
        clock.shift(62)
        looked = LimitWindow.objects.values_list("key", "counts")
        assert list(looked)
        together(2, lambda number: use(limit=1) if number else booth.write(limits.forget_old))
        with pytest.raises(RateLimited):
            use(limit=1)


@pytest.mark.redis
def test_a_window_expires_in_redis(standing_clock, settings, redis_server):
    settings.REDIS_URL = redis_server.url
    redis_limits._by_url.clear()
    client = redis.Redis.from_url(redis_server.url)
    client.flushall()
    use("k")
    (key,) = client.keys("*")
    assert b":limit:" in key
    assert 60 < client.ttl(key) <= 130
    assert int(next(iter(client.hgetall(key)))) == time.time()
    redis_limits._by_url.clear()
