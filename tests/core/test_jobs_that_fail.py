"""Jobs that fail: tried again after 2, 10, 30 and 120 seconds, parked after five tries, their log kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from accounts.models import Space
from fluxcore import clock, jobs, schedule, sweep
from fluxcore.models import Job, JobLine
from fluxcore.writes import booth
from tests.core.test_jobs import NOON, enqueue, handle, job, lines  # noqa: F401  the fixture

pytestmark = pytest.mark.django_db


def fail(run):
    run.say("I try")
    raise ValueError("the cat is on the mat")


def test_it_backs_off_and_is_parked_after_five_tries(handle):  # noqa: F811
    handle(fail)
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue()
        for tries, pause in enumerate([2, 10, 30, 120], start=1):
            assert jobs.run_one() is True
            row = job()
            assert (row.state, row.attempts) == ("queued", tries)
            assert row.due_at == clock.now() + timedelta(seconds=pause)
            moved.shift(pause - 0.001)
            assert jobs.run_one() is False
            moved.shift(0.001)
        assert jobs.run_one() is True
        assert (job().state, job().attempts) == ("parked", 5)
        moved.shift(timedelta(days=30))
        assert jobs.run_one() is False
    assert lines()[-1] == "Parked after 5 tries."
    assert lines().count("I try") == 5


def test_its_error_names_the_place_and_never_the_text(handle, caplog):  # noqa: F811
    handle(fail)
    enqueue()
    jobs.run_one()
    assert job().error == "ValueError in fail"
    assert lines() == ["I try", "Try 1 failed: ValueError in fail"]
    assert "cat" not in caplog.text + str(Job.objects.values().get()) + str(lines())


def test_what_a_failing_change_did_is_rolled_back_and_its_log_stays(handle):  # noqa: F811
    def work(run):
        run.say("prepared")

        def change():
            Space.objects.create(name="half", created_at=clock.now())
            raise ValueError

        return change

    handle(work)
    enqueue()
    jobs.run_one()
    assert not Space.objects.exists()
    assert lines()[0] == "prepared"
    assert job().state == "queued"


def test_a_job_that_kills_its_worker_is_parked_and_blocks_nobody(handle):  # noqa: F811
    ran = []
    handle(lambda run: ran.append(run.kind), kind="healthy")
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue(kind="deadly")
        enqueue(kind="healthy")
        for _ in range(jobs.MAX_TRIES):
            assert jobs.claim().kind == "deadly"  # and the worker is gone
            moved.shift(jobs.LEASE + timedelta(seconds=1))
        jobs.drain()
        assert ran == ["healthy"]
    row = Job.objects.get(kind="deadly")
    assert (row.state, row.attempts) == ("parked", 5)
    assert lines() == ["Parked: The worker died five times while running this job."]


def test_a_kind_nobody_handles_fails_like_any_other():
    enqueue(kind="unknown")
    jobs.run_one()
    assert job().error == "NotFound in run_one"


@pytest.mark.parametrize("text", ["a\0b", "half \ud800 a character", "x" * 5000])
def test_a_line_no_database_would_take_does_not_fail_the_job(handle, text):  # noqa: F811
    handle(lambda run: run.say(text))
    enqueue()
    jobs.run_one()
    assert job().state == "done"
    assert len(JobLine.objects.get().text) <= 2000


def test_a_requeued_job_gets_five_new_tries(handle):  # noqa: F811
    handle(fail)
    with time_machine.travel(NOON, tick=False) as moved:
        identity = enqueue()
        for _ in range(5):
            jobs.run_one()
            moved.shift(121)
        assert job().state == "parked"
        booth.write(lambda: jobs.requeue(identity))
        jobs.run_one()
        assert (job().state, job().attempts) == ("queued", 1)


def test_the_minute_runs_what_no_bell_announced(handle, monkeypatch):  # noqa: F811
    monkeypatch.setattr(schedule, "_chores", {})  # nothing comes round but these
    ran = []
    handle(lambda run: ran.append(1))
    enqueue()
    enqueue()
    assert sweep.sweep() == 2
    assert ran == [1, 1]


def test_a_chore_that_fails_keeps_nobody_from_the_minute(handle, caplog):  # noqa: F811
    ran = []
    handle(lambda run: ran.append("job"))

    def broken():
        raise ValueError("the cat is on the mat")

    def chore():
        ran.append("chore")

    sweep.every_minute(broken)
    sweep.every_minute(chore)
    sweep.every_minute(chore)
    try:
        enqueue()
        sweep.sweep()
    finally:
        sweep._chores.remove(broken)
        sweep._chores.remove(chore)
    assert ran == ["chore", "job"]
    assert "ValueError" in caplog.text
    assert "cat" not in caplog.text
