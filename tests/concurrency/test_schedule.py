"""What comes round under several workers: asked for once a period, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from fluxcore import uptime
from fluxcore.models import Job, ScheduleState, UptimeClock
from fluxcore.work import jobs, schedule
from fluxcore.writes import booth

WORKERS, PERIODS = 8, 6
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def recurring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_recurring", {})
    for name in ("one", "other"):
        schedule.every(name, 3600, lambda name=name: jobs.enqueue(f"test.{name}"))


@pytest.mark.usefixtures("transactional_db", "recurring")
def test_of_eight_workers_one_requests_a_job_in_each_period(in_threads: Callable[..., None]) -> None:
    for period in range(PERIODS):
        with time_machine.travel(NOON + timedelta(hours=period), tick=False):
            in_threads(WORKERS, lambda _: schedule.ask_for_what_is_due())
        for name in ("one", "other"):
            assert Job.objects.filter(kind=f"test.{name}").count() == period + 1
    assert set(ScheduleState.objects.values_list("name", "count")) == {("one", PERIODS), ("other", PERIODS)}


@pytest.mark.usefixtures("transactional_db")
def test_a_minute_of_uptime_is_counted_once_by_any_number_of_processes(in_threads: Callable[..., None]) -> None:
    for minute in range(PERIODS):
        with time_machine.travel(NOON + timedelta(minutes=minute), tick=False):
            in_threads(WORKERS, lambda _: booth.write(uptime.count_minute))
    assert UptimeClock.objects.get().lived == 60.0 * (PERIODS - 1)
