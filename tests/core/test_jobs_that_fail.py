"""Failing jobs: tried again after 2, 10, 30 and 120 seconds, parked after five attempts, their log kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from accounts.models import Space
from fluxcore import clock
from fluxcore.models import Job, JobLine
from fluxcore.work import jobs, lease, schedule, sweep, worker
from fluxcore.writes import booth
from tests.core.test_jobs import NOON, enqueue, handle, job, lines  # noqa: F401  the fixture

pytestmark = pytest.mark.django_db


def fail(run):
    run.say("I try")
    raise ValueError("the cat is on the mat")


def test_a_failing_job_waits_longer_each_time_and_is_parked_after_five_tries(handle):  # noqa: F811
    handle(fail)
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue()
        for tries, pause in enumerate([2, 10, 30, 120], start=1):
            assert worker.run_one() is True
            row = job()
            assert (row.state, row.attempts) == ("queued", tries)
            assert row.due_at == clock.now() + timedelta(seconds=pause)
            moved.shift(pause - 0.001)
            assert worker.run_one() is False
            moved.shift(0.001)
        assert worker.run_one() is True
        assert (job().state, job().attempts) == ("parked", 5)
        moved.shift(timedelta(days=30))
        assert worker.run_one() is False
    assert lines()[-1] == "Parked after 5 attempts."
    assert lines().count("I try") == 5


def test_the_error_of_a_job_names_the_place_and_never_the_text(handle, caplog):  # noqa: F811
    handle(fail)
    enqueue()
    worker.run_one()
    assert job().error == "ValueError in fail"
    assert lines() == ["I try", "Attempt 1 failed: ValueError in fail"]
    assert "cat" not in caplog.text + str(Job.objects.values().get()) + str(lines())


def test_a_failing_change_is_rolled_back_and_its_log_stays(handle):  # noqa: F811
    def work(run):
        run.say("prepared")

        def change():
            Space.objects.create(name="half", created_at=clock.now())
            raise ValueError

        return change

    handle(work)
    enqueue()
    worker.run_one()
    assert not Space.objects.exists()
    assert lines()[0] == "prepared"
    assert job().state == "queued"


def test_a_job_that_kills_its_worker_is_parked_and_blocks_nobody(handle):  # noqa: F811
    ran = []
    handle(lambda run: ran.append(run.kind), kind="healthy")
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue(kind="deadly")
        enqueue(kind="healthy")
        for _ in range(worker.MAX_TRIES):
            assert worker.claim().kind == "deadly"  # and the worker is gone
            moved.shift(lease.LEASE + timedelta(seconds=1))
        worker.drain()
        assert ran == ["healthy"]
    row = Job.objects.get(kind="deadly")
    assert (row.state, row.attempts) == ("parked", 5)
    assert lines() == ["Parked: The worker died while running this job, five times."]


def test_a_kind_nobody_handles_fails_like_any_other():
    enqueue(kind="unknown")
    worker.run_one()
    assert job().error == "NotFound in run_one"


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 a character", "x" * 5000])
def test_a_log_line_the_database_refuses_does_not_fail_the_job(handle, text):  # noqa: F811
    handle(lambda run: run.say(text))
    enqueue()
    worker.run_one()
    assert job().state == "done"
    assert len(JobLine.objects.get().text) <= 2000


def test_a_requeued_job_gets_five_new_tries(handle):  # noqa: F811
    handle(fail)
    with time_machine.travel(NOON, tick=False) as moved:
        identity = enqueue()
        for _ in range(5):
            worker.run_one()
            moved.shift(121)
        assert job().state == "parked"
        booth.write(lambda: jobs.requeue(identity))
        worker.run_one()
        assert (job().state, job().attempts) == ("queued", 1)


def test_the_sweep_finds_jobs_without_a_message(handle, monkeypatch):  # noqa: F811
    monkeypatch.setattr(schedule, "_recurring", {})  # nothing recurs but these
    ran = []
    handle(lambda run: ran.append(1))
    enqueue()
    enqueue()
    assert sweep.sweep_and_run() == 2
    assert ran == [1, 1]


def test_a_failing_cleanup_does_not_stop_the_other_jobs_of_the_minute(handle, caplog):  # noqa: F811
    ran = []
    handle(lambda run: ran.append("job"))

    def broken():
        raise ValueError("the cat is on the mat")

    def other():
        ran.append("other")

    sweep.every_minute(broken)
    sweep.every_minute(other)
    sweep.every_minute(other)
    try:
        enqueue()
        sweep.sweep_and_run()
    finally:
        sweep._housekeeping.remove(broken)
        sweep._housekeeping.remove(other)
    assert ran == ["other", "job"]
    assert "ValueError" in caplog.text
    assert "cat" not in caplog.text
