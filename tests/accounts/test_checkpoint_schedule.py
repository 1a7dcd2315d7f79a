"""Scheduled checkpoints: made in the sweep when the last one is old enough."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.audit import checkpoints
from accounts.audit.checkpoints import schedule
from fluxcore import clock
from fluxcore.writes import booth
from tests.accounts.audit_chains import kinds, write

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


@pytest.fixture
def sweep(desk):
    return lambda: booth.write(schedule.checkpoint_if_due)


def test_the_worker_does_it_among_its_minute_chores(desk):
    from fluxcore.work import sweep

    write(2)
    sweep.sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]


def test_the_first_minute_makes_one_and_the_next_ones_wait(desk, sweep):
    write(2)
    sweep()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint"]
    write(2, start=2)
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]


def test_a_minute_that_is_not_due_asks_the_database_nothing(desk, sweep, django_assert_num_queries):
    sweep()

    def chore():
        with django_assert_num_queries(0):
            schedule.checkpoint_if_due()

    booth.write(chore)


def test_a_new_one_is_made_when_the_last_is_old_enough(desk, sweep, settings, monkeypatch):
    write(2)
    sweep()
    write(2, start=2)
    monkeypatch.setattr(schedule, "_last_check", None)  # another worker, that does not know of the first
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint"]
    moment = clock.now() + timedelta(minutes=61)
    monkeypatch.setattr(schedule, "_last_check", None)
    monkeypatch.setattr(clock, "now", lambda: moment)
    sweep()
    assert kinds(desk.log) == kinds(desk.outside) == ["key", "checkpoint", "checkpoint"]


def test_a_line_from_the_future_does_not_end_the_schedule(desk, sweep, monkeypatch):
    write(2)
    moment = clock.now() + timedelta(days=400)
    with monkeypatch.context() as wrong:
        wrong.setattr(clock, "now", lambda: moment)
        checkpoints.make_checkpoint()
    write(2, start=2)
    sweep()
    assert kinds(desk.log) == ["key", "checkpoint", "checkpoint"]


def test_zero_minutes_is_never(desk, sweep, monkeypatch):
    from fluxcore import config

    write(2)
    monkeypatch.setattr(config, "current", lambda: config.Config(AUDIT_CHECKPOINT_MINUTES=0))
    sweep()
    assert not desk.log.exists()


def test_a_log_that_cannot_go_on_does_not_stop_the_sweep(desk, sweep, caplog):
    write(2)
    desk.log.write_text("nonsense\n")
    sweep()
    assert "no checkpoint was made" in caplog.text
    assert "line 1 is not JSON" in checkpoints.checkpoint_warnings()[0]
