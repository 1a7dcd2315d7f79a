"""Events about jobs: written once, in the commit that changes the state of the job."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine

from fluxcore import clock, events
from fluxcore.models import Event, Job
from fluxcore.work import jobs, lease, worker
from fluxcore.work.job_events import KINDS as job_event_kinds
from fluxcore.writes import booth
from tests.core.test_booth import wait_until
from tests.core.test_jobs import NOON, enqueue, handle

__all__ = ["handle"]
pytestmark = pytest.mark.django_db(transaction=True)


def outcomes() -> list[tuple[str, dict[str, object]]]:
    return [(one.kind, one.data) for one in Event.objects.filter(kind__startswith="job.").order_by("id")]


def test_a_finished_job_has_one_event(handle):
    handle(lambda run: None)
    identity = enqueue(space=7)
    assert worker.drain() == 1
    event = Event.objects.get()
    assert (event.kind, event.space, event.actor, event.subject) == ("job.done", 7, "worker", str(identity))
    assert (event.data["job"], event.data["tries"], event.packed) == ("test", 1, None)
    assert 0 <= event.data["seconds"] < 60


def test_the_event_is_committed_with_the_effect_or_not_at_all(handle):
    def work(run):
        def apply():
            Job.objects.filter(pk=run.job).update(lease_owner="somebody else")

        return apply

    handle(work)
    enqueue()
    worker.run_one()
    assert outcomes() == [], "the lease was lost, so nothing of this try is kept"


def test_each_failed_try_and_the_parking_have_an_event(handle):
    def fail(run):
        raise OSError("the secret text")

    handle(fail)
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue(space=3)
        for _ in range(worker.MAX_TRIES):
            assert worker.run_one()
            moved.shift(timedelta(hours=1))
    assert [kind for kind, _ in outcomes()] == ["job.failed"] * 4 + ["job.parked"]
    assert [data["tries"] for _, data in outcomes()] == [1, 2, 3, 4, 5]
    assert "secret" not in str(outcomes())


def test_a_job_whose_workers_all_died_has_an_event_of_its_parking(handle):
    enqueue()
    Job.objects.update(attempts=worker.MAX_TRIES, state="running", lease_until=clock.now() - timedelta(seconds=1))
    assert worker.claim() is None
    assert [kind for kind, _ in outcomes()] == ["job.parked"]


def test_a_long_job_has_one_event_that_it_is_running(handle, monkeypatch):
    monkeypatch.setattr(lease, "LEASE", timedelta(seconds=0.15))
    renewed = []

    def work(run):
        wait_until(lambda: outcomes())
        first = Job.objects.get().lease_until
        wait_until(lambda: Job.objects.get().lease_until > first)
        renewed.append(first)

    handle(work)
    enqueue(space=2)
    assert worker.run_one() and renewed
    assert [kind for kind, _ in outcomes()] == ["job.running", "job.done"]


def test_events_of_jobs_are_deleted_with_the_jobs_and_no_others(handle):
    handle(lambda run: None)
    with time_machine.travel(NOON, tick=False) as moved:
        for space in (None, 1, 2):
            enqueue(space=space)
        worker.drain()
        booth.write(lambda: events.append("grain.stored", space=1, actor="a", subject="s", packed=b"x"))
        booth.write(lambda: events.append("agent.created", space=1, actor="a", subject="s"))
        moved.shift(jobs.KEEP_DONE)
        booth.write(jobs.forget_old)
        assert len(outcomes()) == 3
        moved.shift(1)
        booth.write(jobs.forget_old)
    assert set(Event.objects.values_list("kind", flat=True)) == {"grain.stored", "agent.created"}
    assert set(job_event_kinds) >= {"job.done", "job.failed", "job.parked", "job.running"}
