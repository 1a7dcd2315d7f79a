"""What comes round is asked for once a period, whoever looks and whatever the clock does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from fluxcore import events, jobs, schedule, uptime
from fluxcore.models import Event, Job, ScheduleState, UptimeClock
from fluxcore.sweep import sweep
from fluxcore.writes import booth

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def chores(monkeypatch):
    """Only what the test registers comes round."""
    monkeypatch.setattr(schedule, "_chores", {})
    return schedule.every


def tick():
    events.append("test.tick", space=None, actor="test", subject="")


def ticks():
    return Event.objects.filter(kind="test.tick").count()


def look(moment):
    with time_machine.travel(moment, tick=False):
        return schedule.ask_for_what_is_due()


def test_it_is_asked_for_at_once_and_then_once_a_period(chores):
    chores("test", 3600, tick)
    assert [look(NOON + minutes * HOUR / 60) for minutes in range(181)].count(["test"]) == 4
    assert ticks() == 4
    assert ScheduleState.objects.get().count == 4


def test_a_period_that_can_change_is_looked_up_each_time(chores):
    period = [3600.0]
    chores("test", lambda: period[0], tick)
    assert look(NOON) == ["test"]
    assert look(NOON + HOUR / 2) == []
    period[0] = 600.0
    assert look(NOON + HOUR / 2) == ["test"]
    period[0] = 0.0
    assert look(NOON + 100 * HOUR) == []


def test_what_fails_is_asked_for_again_and_keeps_nobody_else_from_their_turn(chores):
    def broken():
        tick()
        raise ValueError

    chores("a broken one", 3600, broken)
    chores("test", 3600, tick)
    assert look(NOON) == ["test"]
    assert look(NOON + HOUR / 60) == []
    assert ticks() == 1  # what the broken one wrote was rolled back with its turn
    chores("a broken one", 3600, tick)
    assert look(NOON + HOUR / 30) == ["a broken one"]


def test_of_two_who_saw_the_same_turn_one_asks(chores):
    chores("test", 3600, tick)
    (chore,) = schedule.chores()
    assert [booth.write(schedule._turn(chore, None)) for _ in range(2)] == [True, False]
    seen = ScheduleState.objects.get()
    assert [booth.write(schedule._turn(chore, seen)) for _ in range(2)] == [True, False]
    assert ticks() == 2


def test_a_clock_set_ahead_and_back_neither_silences_nor_repeats_it(chores):
    chores("test", 3600, tick)
    look(NOON)
    assert look(NOON + timedelta(days=3650)) == ["test"]
    assert look(NOON + timedelta(days=3650, minutes=10)) == []
    assert look(NOON + HOUR / 4) == ["test"]
    assert look(NOON + HOUR / 2) == []


def test_the_minute_asks_and_then_runs_what_was_asked_for(chores):
    jobs.handler("test.came_round")(lambda run: tick)
    try:
        chores("test", 3600, lambda: jobs.enqueue("test.came_round", once_key="one"))
        with time_machine.travel(NOON):
            assert sweep() == 1
            assert sweep() == 0
    finally:
        jobs._handlers.pop("test.came_round")
    assert ticks() == 1
    assert Job.objects.get().state == "done"


def beat(moment):
    with time_machine.travel(moment, tick=False):
        booth.write(uptime.count_minute)
        return uptime.now()


def test_time_is_lived_minute_by_minute():
    for minutes in range(61):
        last = beat(NOON + timedelta(minutes=minutes))
    assert last == uptime.Uptime(3600.0)


def test_ten_years_by_the_clock_are_two_minutes_lived_and_doubted_for_a_day():
    beat(NOON)
    later = beat(NOON + timedelta(days=3650))
    assert later.seconds == uptime.MAX_STEP_SECONDS
    assert "+3650.0 days" in later.doubt
    assert beat(NOON + timedelta(minutes=1)).doubt  # and back: again a jump
    assert beat(NOON + timedelta(minutes=2)).seconds == uptime.MAX_STEP_SECONDS + 60
    for minutes in range(3, 24 * 60 + 5, 2):
        last = beat(NOON + timedelta(minutes=minutes))
    assert last.doubt == ""


def test_a_jump_that_nobody_has_counted_yet_is_doubted_too():
    beat(NOON)
    with time_machine.travel(NOON + timedelta(days=4), tick=False):
        assert uptime.now().doubt
    with time_machine.travel(NOON + timedelta(days=2), tick=False):
        assert uptime.now().doubt == ""
    assert UptimeClock.objects.get().lived == 0
