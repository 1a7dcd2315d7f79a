"""Each signal of the table: what is healthy, what is not, and what a young space has to fear (nothing)"""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.health.signals import (
    CRITICAL,
    DAY,
    INFO,
    MONTH,
    SETTLED,
    SIGNALS,
    SIGNALS_BY_NAME,
    WARNING,
    WEEK,
    ReadingState,
    SignalCounts,
    calibration_error,
)

OLD = SignalCounts(
    days=60,
    recalls=5000,
    judged=3000,
    levels={"active": 200, "dormant": 20, "conduits": 1000, "weight": 350, "highways": 12, "orphans": 5, "core": 9},
)


def day(**sums: float) -> SignalCounts:
    """An old space in which that happened, today."""
    return replace(OLD, sums=dict.fromkeys((DAY, SETTLED, WEEK, MONTH), sums))


# The seed's fourteen, provenance skew, and what it lacked: a healthy case, a bad one, and how it is bad.
CASES = {
    "retrieval_success_rate": (day(judged=40, hits=30), day(judged=40, hits=15), ReadingState.LOW, WARNING),
    "fallback_trigger_rate": (day(recalls=50, fallbacks=20), day(recalls=50, fallbacks=21), ReadingState.HIGH, WARNING),
    "feedback_compliance_rate": (day(answered=40, judged=20), day(answered=40, judged=19), ReadingState.LOW, WARNING),
    "avg_hops_per_retrieval": (day(recalls=50, hops=200), day(recalls=50, hops=201), ReadingState.HIGH, WARNING),
    "highway_count": (OLD, replace(OLD, levels={**OLD.levels, "highways": 0}), ReadingState.LOW, INFO),
    "highway_growth_rate": (day(formed=100), day(formed=101), ReadingState.HIGH, INFO),
    "shortcut_creation_rate": (day(recalls=100, shortcuts=10), day(recalls=100, shortcuts=11), ReadingState.HIGH, INFO),
    "conduit_dissolution_rate": (day(dissolved=50), day(dissolved=60), ReadingState.HIGH, WARNING),
    "avg_weight_drop_on_failure": (day(dropped=20, drop=2), day(dropped=20, drop=0.05), ReadingState.LOW, INFO),
    "avg_conduit_weight": (OLD, replace(OLD, levels={**OLD.levels, "weight": 800}), ReadingState.HIGH, WARNING),
    "orphan_rate": (OLD, replace(OLD, levels={**OLD.levels, "orphans": 40}), ReadingState.HIGH, WARNING),
    "promotion_events": (day(promoted=40), day(promoted=41), ReadingState.HIGH, INFO),
    "core_grain_count": (OLD, replace(OLD, levels={**OLD.levels, "core": 101}), ReadingState.HIGH, INFO),
    "dormant_grain_rate": (OLD, replace(OLD, levels={**OLD.levels, "dormant": 200}), ReadingState.HIGH, INFO),
    "provenance_skew": (
        replace(OLD, callers={"agent:a": {"stores": 20, "stated": 18}}),
        replace(OLD, callers={"agent:a": {"stores": 20, "stated": 19}, "agent:b": {"stores": 400}}),
        ReadingState.HIGH,
        WARNING,
    ),
    "hit_rate": (day(judged=40, hits=20), day(judged=40, hits=19), ReadingState.LOW, INFO),
    "calibration_error": (
        day(**{"sure7.count": 60, "sure7.sum": 45, "sure7.hits": 44}),
        day(**{"sure9.count": 60, "sure9.sum": 57, "sure9.hits": 30}),
        ReadingState.HIGH,
        INFO,
    ),
    "learning_gain": (replace(OLD, gain=0.05), replace(OLD, gain=-0.03), ReadingState.LOW, WARNING),
}


def test_the_seeds_fourteen_are_there_by_name_and_four_more():
    seed = {
        "highway_count",
        "highway_growth_rate",
        "shortcut_creation_rate",
        "conduit_dissolution_rate",
        "avg_weight_drop_on_failure",
        "promotion_events",
        "avg_hops_per_retrieval",
        "orphan_rate",
        "avg_conduit_weight",
        "retrieval_success_rate",
        "fallback_trigger_rate",
        "feedback_compliance_rate",
        "core_grain_count",
        "dormant_grain_rate",
    }
    assert len(seed) == 14
    assert set(SIGNALS_BY_NAME) == seed | {"provenance_skew", "hit_rate", "calibration_error", "learning_gain"}
    assert set(CASES) == set(SIGNALS_BY_NAME)


@pytest.mark.parametrize("name", SIGNALS_BY_NAME)
def test_it_is_healthy_up_to_its_bound_and_not_beyond(name):
    good, bad, state, severity = CASES[name]
    signal = SIGNALS_BY_NAME[name]
    assert signal.read(good).state is ReadingState.HEALTHY
    assert (signal.read(bad).state, signal.read(bad).severity) == (state, severity)


@pytest.mark.parametrize("name", SIGNALS_BY_NAME)
def test_nothing_of_a_space_that_was_just_made_is_bad(name):
    for counts in (SignalCounts(), SignalCounts(levels={"active": 1}, recalls=1, judged=1)):
        assert not SIGNALS_BY_NAME[name].read(counts).state.bad


@pytest.mark.parametrize("name", SIGNALS_BY_NAME)
def test_it_says_what_to_do(name):
    signal = SIGNALS_BY_NAME[name]
    assert len(signal.suggestion) > 30 and signal.suggestion.endswith(".") and signal.says
    assert signal.low is not None or signal.high is not None


def test_nothing_asks_a_space_to_forget():
    """The seed's store had to lose a twentieth of its grains and a link a day, or it warned."""
    for name in ("dormant_grain_rate", "conduit_dissolution_rate", "promotion_events", "highway_growth_rate"):
        assert SIGNALS_BY_NAME[name].low == 0
        assert SIGNALS_BY_NAME[name].read(OLD).state is not ReadingState.LOW


def test_a_space_that_is_too_young_is_not_judged():
    young = replace(CASES["orphan_rate"][1], days=6.9)
    assert SIGNALS_BY_NAME["orphan_rate"].read(young).state is ReadingState.WARMING
    small = replace(CASES["orphan_rate"][1], levels={"active": 49, "orphans": 49})
    assert SIGNALS_BY_NAME["orphan_rate"].read(small).state is ReadingState.WARMING
    few = replace(CASES["retrieval_success_rate"][1], recalls=99)
    assert SIGNALS_BY_NAME["retrieval_success_rate"].read(few).state is ReadingState.WARMING


def test_where_nothing_happens_nothing_is_said():
    assert SIGNALS_BY_NAME["retrieval_success_rate"].read(day(judged=19, hits=0)).state is ReadingState.IDLE
    assert (
        SIGNALS_BY_NAME["provenance_skew"].read(replace(OLD, callers={"agent:a": {"stores": 19, "stated": 19}})).value
        is None
    )


def test_far_beyond_its_bound_it_is_critical():
    assert SIGNALS_BY_NAME["retrieval_success_rate"].read(day(judged=40, hits=7)).severity == CRITICAL
    assert SIGNALS_BY_NAME["orphan_rate"].read(replace(OLD, levels={"active": 100, "orphans": 51})).severity == CRITICAL
    assert {signal.name for signal in SIGNALS if signal.critical is not None} >= {"retrieval_success_rate"}


def test_calibration_is_the_distance_of_confidence_from_votes_weighted_by_bins():
    sums = {"sure2.count": 75, "sure2.sum": 15, "sure2.hits": 30, "sure9.count": 25, "sure9.sum": 25, "sure9.hits": 20}
    assert calibration_error(sums) == pytest.approx(0.75 * 0.2 + 0.25 * 0.2)
    assert calibration_error({"sure2.count": 49, "sure2.sum": 9, "sure2.hits": 0}) is None
