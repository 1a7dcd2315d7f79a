"""Windows of rate limits, without a store: never more than the limit in any 60 seconds, and a right wait."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fluxcore.writes import limits
from fluxcore.writes.limit_windows import WINDOW, add_count, wait_for
from tests.core.threads import together

STEPS = st.lists(
    st.tuples(st.floats(0, 40, allow_nan=False).map(lambda pause: round(pause, 3)), st.integers(1, 4)), max_size=60
)


def play(steps, limit, start=1_800_000_000.0):
    """Callers who come one after the other; the moments and costs of those let in."""
    counts, now, taken = {}, start, []
    for pause, cost in steps:
        now += pause
        if cost <= limit and wait_for(counts, now, cost, limit) <= 0:
            counts = add_count(counts, now, cost)
            taken.append((now, cost))
    return counts, now, taken


@given(STEPS, st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_in_any_sixty_seconds_at_most_the_limit_is_counted(steps, limit):
    _, _, taken = play(steps, limit)
    for begin, _ in taken:
        assert sum(cost for moment, cost in taken if begin <= moment < begin + WINDOW) <= limit


@given(STEPS, st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=200, deadline=None)
def test_after_the_wait_the_caller_is_let_in_and_not_much_before(steps, limit, cost):
    counts, now, _ = play(steps, limit)
    cost = min(cost, limit)
    wait = wait_for(counts, now, cost, limit)
    assert 0 <= wait <= WINDOW + 1
    assert wait_for(counts, now + wait + 1e-6, cost, limit) == 0
    if wait > 1:
        # Nor is it longer than it must be, but for the second in which counts are kept.
        assert wait_for(counts, now + wait - 1 - 1e-6, cost, limit) > 0


@given(STEPS, st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_only_a_minute_of_seconds_is_kept(steps, limit):
    counts, now, _ = play(steps, limit)
    assert len(add_count(counts, now, 1)) <= WINDOW + 2


@given(st.integers(1, 20), st.floats(0, 59))
def test_a_clock_set_back_a_little_does_not_open_the_limit(limit, back):
    now = 1_800_000_000.0
    counts = add_count({}, now, limit)
    assert wait_for(counts, now - back, 1, limit) > 0


def test_a_clock_set_back_far_does_not_lock_anybody_out():
    now = 1_800_000_000.0
    counts = add_count({}, now, 10)
    assert wait_for(counts, now - 3600, 1, 10) == 0
    assert add_count(counts, now - 3600, 1) == {str(int(now) - 3600): 1}


def test_a_clock_set_forward_lets_callers_in_again():
    now = 1_800_000_000.0
    assert wait_for(add_count({}, now, 10), now + 3600, 10, 10) == 0


def test_an_empty_window_has_no_wait():
    assert wait_for({}, 0.0, 1, 1) == 0


def test_counts_in_memory_are_exact_over_threads_and_removed_later():
    found = together(32, lambda _: [limits.count("recalls:1", limit=50) for _ in range(4)])
    waits = [wait for one in found for wait in one]
    assert waits.count(0) == 50 and all(0 < wait <= WINDOW + 1 for wait in waits if wait)
    assert limits.count("recalls:2", limit=50) == 0
    limits._counted["recalls:1"] = {"1000": 50}
    assert limits.count("recalls:1", limit=50) == 0
    limits._counted.update({f"recalls:old{number}": {"1000": 1} for number in range(limits._MANY)})
    limits.count("recalls:1", limit=50)
    assert set(limits._counted) == {"recalls:1", "recalls:2"}
