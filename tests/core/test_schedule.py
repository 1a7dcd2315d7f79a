"""Recurring jobs: enqueued once a period, with several workers and whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from fluxcore import events, uptime
from fluxcore.models import Event, Job, ScheduleState, UptimeClock
from fluxcore.work import jobs, kinds, schedule
from fluxcore.work.sweep import sweep_and_run
from fluxcore.writes import booth

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def recurring(monkeypatch):
    """Only what the test registers comes round."""
    monkeypatch.setattr(schedule, "_recurring", {})
    return schedule.every


def tick():
    events.append("test.tick", space=None, actor="test", subject="")


def ticks():
    return Event.objects.filter(kind="test.tick").count()


def look(moment):
    with time_machine.travel(moment, tick=False):
        return schedule.ask_for_what_is_due()


def test_a_job_is_requested_at_once_and_then_once_a_period(recurring):
    recurring("test", 3600, tick)
    assert [look(NOON + minutes * HOUR / 60) for minutes in range(181)].count(["test"]) == 4
    assert ticks() == 4
    assert ScheduleState.objects.get().count == 4


def test_a_configurable_period_is_read_each_time(recurring):
    period = [3600.0]
    recurring("test", lambda: period[0], tick)
    assert look(NOON) == ["test"]
    assert look(NOON + HOUR / 2) == []
    period[0] = 600.0
    assert look(NOON + HOUR / 2) == ["test"]
    period[0] = 0.0
    assert look(NOON + 100 * HOUR) == []


def test_a_failed_request_is_repeated_and_does_not_delay_other_jobs(recurring):
    def broken():
        tick()
        raise ValueError

    recurring("a broken one", 3600, broken)
    recurring("test", 3600, tick)
    assert look(NOON) == ["test"]
    assert look(NOON + HOUR / 60) == []
    assert ticks() == 1  # what the broken one wrote was rolled back with its turn
    recurring("a broken one", 3600, tick)
    assert look(NOON + HOUR / 30) == ["a broken one"]


def test_of_two_workers_that_saw_a_job_due_one_requests_it(recurring):
    recurring("test", 3600, tick)
    (one,) = schedule.recurring()
    assert [booth.write(schedule._asking(one, None)) for _ in range(2)] == [True, False]
    seen = ScheduleState.objects.get()
    assert [booth.write(schedule._asking(one, seen)) for _ in range(2)] == [True, False]
    assert ticks() == 2


def test_a_clock_set_ahead_and_back_neither_stops_nor_repeats_a_job(recurring):
    recurring("test", 3600, tick)
    look(NOON)
    assert look(NOON + timedelta(days=3650)) == ["test"]
    assert look(NOON + timedelta(days=3650, minutes=10)) == []
    assert look(NOON + HOUR / 4) == ["test"]
    assert look(NOON + HOUR / 2) == []


def test_the_job_of_each_minute_requests_and_runs_due_jobs(recurring):
    kinds.job("test.came_round", lambda run: tick)
    try:
        recurring("test", 3600, lambda: jobs.enqueue("test.came_round", once_key="one"))
        with time_machine.travel(NOON):
            assert sweep_and_run() == 1
            assert sweep_and_run() == 0
    finally:
        kinds.withdraw("test.came_round")
    assert ticks() == 1
    assert Job.objects.get().state == "done"


def beat(moment):
    with time_machine.travel(moment, tick=False):
        booth.write(uptime.count_minute)
        return uptime.now()


def test_uptime_is_counted_minute_by_minute():
    for minutes in range(61):
        last = beat(NOON + timedelta(minutes=minutes))
    assert last == uptime.Uptime(3600.0)


@pytest.mark.either_database
def test_a_clock_jump_of_ten_years_counts_as_two_minutes_and_is_doubted_for_a_day():
    beat(NOON)
    later = beat(NOON + timedelta(days=3650))
    assert later.seconds == uptime.MOST_AT_ONCE
    assert "+3650.0 days" in later.doubt
    assert beat(NOON + timedelta(minutes=1)).doubt  # and back: again a jump
    assert beat(NOON + timedelta(minutes=2)).seconds == uptime.MOST_AT_ONCE + 60
    for minutes in range(3, 24 * 60 + 5, 2):
        last = beat(NOON + timedelta(minutes=minutes))
    assert last.doubt == ""


def test_a_clock_jump_not_yet_counted_is_doubted_too():
    beat(NOON)
    with time_machine.travel(NOON + timedelta(days=4), tick=False):
        assert uptime.now().doubt
    with time_machine.travel(NOON + timedelta(days=2), tick=False):
        assert uptime.now().doubt == ""
    assert UptimeClock.objects.get().lived == 0
