"""Retention: copies expire by number and age; tiers, protection and the last verified copy are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxcore.errors import Invalid
from fluxcore.retention import RetentionPolicy, expired

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@dataclass(frozen=True)
class DatedCopy:
    at: datetime
    protected: bool = False
    verified: bool = True


def hours_ago(*hours, **more):
    return [DatedCopy(NOW - timedelta(hours=hour), **more) for hour in hours]


def left(copies, **rules):
    gone = expired(copies, RetentionPolicy(**rules), NOW)
    return [copy for copy in copies if copy not in gone]


def test_without_a_rule_nothing_expires():
    assert expired(hours_ago(*range(5000)), RetentionPolicy(), NOW) == []


def test_copies_beyond_the_number_expire_oldest_first():
    copies = hours_ago(3, 1, 4, 2)
    assert expired(copies, RetentionPolicy(keep_count=2), NOW) == hours_ago(4, 3)


def test_copies_older_than_the_age_expire_whatever_their_number():
    assert left(hours_ago(1, 25, 47, 49, 500), keep_count=30, max_age_days=2) == hours_ago(1, 25, 47)


@pytest.mark.parametrize("rules", [{"keep_count": 1}, {"max_age_days": 1}, {"keep_count": 3, "max_age_days": 0.001}])
def test_the_newest_copy_is_kept_however_old_it_is(rules):
    assert left(hours_ago(9000), **rules) == hours_ago(9000)


def test_the_newest_verified_copy_is_kept_beside_newer_unverified_ones():
    copies = [*hours_ago(1, 2, 3, verified=False), *hours_ago(4, 5)]
    assert left(copies, keep_count=1) == [copies[0], copies[3]]


def test_protected_copies_are_kept_and_counted():
    copies = [*hours_ago(1), *hours_ago(2, protected=True), *hours_ago(3), *hours_ago(9999, protected=True)]
    assert left(copies, keep_count=2, max_age_days=1) == [copies[0], copies[1], copies[3]]


def test_tiers_keep_the_newest_of_each_period_beyond_count_and_age():
    copies = hours_ago(*range(0, 24 * 70, 6))
    kept = left(copies, keep_count=4, daily=7, weekly=4, monthly=2)
    assert kept[:4] == hours_ago(0, 6, 12, 18)
    days = {copy.at.date() for copy in kept}
    assert {NOW.date() - timedelta(days=day) for day in range(7)} <= days
    assert len({copy.at.strftime("%G-%V") for copy in kept}) >= 4
    assert len({copy.at.strftime("%Y-%m") for copy in kept}) == 2
    assert len(kept) < 18


def test_a_tier_counts_periods_that_have_a_copy():
    copies = hours_ago(0, 24 * 10, 24 * 10 + 1, 24 * 30, 24 * 60)
    assert left(copies, max_age_days=1, daily=3) == [copies[0], copies[1], copies[3]]


def test_periods_are_those_of_utc_whatever_the_zone_of_a_copy():
    zone = timezone(timedelta(hours=5))
    one, same_day = DatedCopy(datetime(2026, 11, 18, 3, tzinfo=zone)), DatedCopy(datetime(2026, 11, 17, 9, tzinfo=UTC))
    assert left([one, same_day], keep_count=1, daily=5) == [one]


def test_a_copy_dated_in_the_future_does_not_expire():
    copies = [DatedCopy(NOW + timedelta(days=4000)), *hours_ago(1)]
    assert left(copies, max_age_days=1) == copies


@pytest.mark.parametrize("rules", [{"keep_count": -1}, {"max_age_days": float("nan")}, {"daily": float("inf")}])
def test_an_invalid_number_is_refused(rules):
    with pytest.raises(Invalid):
        RetentionPolicy(**rules)


@given(
    st.lists(st.tuples(st.integers(-100, 100_000), st.booleans(), st.booleans()), max_size=40),
    st.builds(RetentionPolicy, *[st.integers(0, 5)] * 7),
)
def test_the_rules_hold_for_any_copies_and_policies(drawn, policy):
    copies = [
        DatedCopy(NOW - timedelta(hours=age, seconds=number), *flags) for number, (age, *flags) in enumerate(drawn)
    ]
    gone = expired(copies, policy, NOW)
    stays = [copy for copy in copies if copy not in gone]
    assert not any(copy.protected for copy in gone)
    assert not copies or max(copies, key=lambda copy: copy.at) in stays
    assert any(copy.verified for copy in stays) or not any(copy.verified for copy in copies)
    assert gone == sorted(gone, key=lambda copy: copy.at)
    assert expired(stays, policy, NOW) == []  # what was looked at once and kept is kept the second time
