"""Job queue: rows written with the change that needs them, claimed by one worker, done once."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.db import connection

from accounts.models import Space
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid
from fluxcore.models import Job, JobLine
from fluxcore.work import jobs, kinds, lease, worker
from fluxcore.writes import booth
from tests.core.threads import together

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


@pytest.fixture
def handle():
    """Give a kind a handler for the length of a test."""
    made = []

    def register(function, kind="test"):
        made.append(kind)
        kinds.job(kind, function)

    yield register
    for kind in made:
        kinds.withdraw(kind)


def enqueue(kind="test", **options):
    return booth.write(lambda: jobs.enqueue(kind, **options))


def job(identity=None):
    return Job.objects.get(uuid=identity) if identity else Job.objects.get()


def lines():
    return list(JobLine.objects.order_by("id").values_list("text", flat=True))


def test_a_job_exists_only_if_its_write_was_committed():
    def fail():
        jobs.enqueue("test")
        raise Invalid

    with pytest.raises(Invalid):
        booth.write(fail)
    assert not Job.objects.exists()
    with pytest.raises(RuntimeError):
        jobs.enqueue("test")


def test_a_job_runs_once_with_its_arguments(handle):
    seen = []

    def work(run):
        seen.append((run.kind, run.args, run.space, run.attempt))
        run.say("looked")
        return lambda: Space.objects.create(name="effect", created_at=clock.now()) and None

    handle(work)
    identity = enqueue(args={"a": [1]}, space=3)
    assert worker.run_one() is True
    assert worker.run_one() is False
    assert seen == [("test", {"a": [1]}, 3, 1)]
    assert Space.objects.filter(name="effect").count() == 1
    done = job(identity)
    assert (done.state, done.error, done.lease_until) == ("done", "", None)
    assert done.finished_at is not None
    assert lines() == ["looked"]


def test_a_handler_prepares_outside_and_applies_inside_a_write(handle):
    inside = []

    def probe():
        try:
            booth.outbox()
            inside.append(True)
        except RuntimeError:
            inside.append(False)

    def work(run):
        probe()
        return probe

    handle(work)
    enqueue()
    worker.run_one()
    assert inside == [False, True]


def test_the_oldest_due_job_comes_first(handle):
    order = []
    handle(lambda run: order.append(run.args["n"]))
    with time_machine.travel(NOON, tick=False):
        enqueue(args={"n": "later"}, due_at=NOON + timedelta(seconds=1))
        enqueue(args={"n": "second"}, due_at=NOON - timedelta(seconds=1))
        enqueue(args={"n": "first"}, due_at=NOON - timedelta(seconds=2))
        assert worker.drain() == 2
        assert order == ["first", "second"]
        assert jobs.next_due(timedelta(minutes=1)) == {"test": NOON + timedelta(seconds=1)}
        assert jobs.next_due(timedelta(minutes=1), ["other"]) == {}
    assert jobs.counts() == {"queued": 1, "running": 0, "done": 2, "parked": 0}


@pytest.mark.django_db(transaction=True)
def test_of_eight_workers_one_claims_a_job():
    enqueue()
    found = together(8, lambda number: worker.claim())
    assert sum(run is not None for run in found) == 1
    assert job().attempts == 1


def test_a_running_job_is_left_alone_until_its_lease_ends():
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue()
        assert worker.claim().attempt == 1
        moved.shift(lease.LEASE)
        assert worker.claim() is None
        moved.shift(1)
        assert worker.claim().attempt == 2


def test_a_worker_that_lost_its_lease_changes_nothing(handle):
    with time_machine.travel(NOON, tick=False) as moved:

        def slow(run):
            moved.shift(lease.LEASE + timedelta(seconds=1))
            assert worker.claim().attempt == 2  # somebody else has taken it over
            return lambda: Space.objects.create(name="twice", created_at=clock.now()) and None

        handle(slow)
        enqueue()
        assert worker.run_one() is True
        assert not Space.objects.filter(name="twice").exists()
        row = job()
        assert (row.state, row.attempts) == ("running", 2)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_computes_longer_than_its_lease_keeps_it(standing_clock, handle, monkeypatch):
    monkeypatch.setattr(lease, "LEASE", timedelta(seconds=1))
    tries, computing, over = [], threading.Event(), threading.Event()

    def work(run):
        tries.append(run.attempt)
        computing.set()
        if run.attempt == 1:
            assert over.wait(30)
        return lambda: Space.objects.create(name=f"effect-{run.attempt}", created_at=clock.now()) and None

    def rival():
        """Another worker, looking for work whenever most of the lease is over, for four leases and a half."""
        computing.wait(30)
        for _ in range(5):
            standing_clock.shift(0.9 * lease.LEASE.total_seconds())
            worker.run_one()
            until = time.monotonic() + 30
            while job().lease_until < clock.now() + lease.LEASE and time.monotonic() < until:
                time.sleep(0.02)
        over.set()
        connection.close()

    handle(work)
    enqueue()
    other = threading.Thread(target=rival)
    other.start()
    assert worker.run_one() is True
    other.join(30)
    assert tries == [1]
    assert list(Space.objects.values_list("name", flat=True)) == ["effect-1"]
    assert (job().state, job().attempts) == ("done", 1)


def test_a_job_whose_commit_got_through_is_not_run_again(handle):
    """The connection broke after the commit: the worker believes it failed, the row knows better."""
    handle(lambda run: None)
    enqueue()
    run = worker.claim()
    booth.write(lambda: worker._finish(run, None))
    worker._failed(run, OSError("broken pipe"))
    assert job().state == "done"


def test_only_one_job_waits_per_once_key():
    first = enqueue(once_key="rebuild")
    assert first is not None
    assert enqueue(once_key="rebuild") is None
    assert enqueue(kind="other", once_key="rebuild") is not None
    assert enqueue() is not None
    assert enqueue() is not None
    assert Job.objects.count() == 4


def test_a_refused_once_key_does_not_spoil_its_write():
    def work():
        jobs.enqueue("test", once_key="k")
        jobs.enqueue("test", once_key="k")
        Space.objects.create(name="kept", created_at=clock.now())

    booth.write(work)
    assert Job.objects.count() == 1
    assert Space.objects.filter(name="kept").exists()


@pytest.mark.django_db(transaction=True)
def test_a_waiting_job_is_not_claimed_before_the_write_that_relies_on_it_is_committed():
    """Else it would run without seeing what it was asked for, and nobody would ask again."""
    enqueue(once_key="k")
    inside, order = threading.Event(), []

    def write():
        assert jobs.enqueue("test", once_key="k") is None
        inside.set()
        time.sleep(0.5)
        order.append("written")

    def claim():
        assert inside.wait(10)
        assert worker.claim() is not None
        order.append("claimed")

    together(2, lambda number: booth.write(write) if number == 0 else claim())
    assert order == ["written", "claimed"]


def test_a_job_requested_while_it_runs_runs_again(handle):
    """The running job has read its input already; what changed since must not be forgotten."""
    again = []

    def work(run):
        if not again:
            again.append(enqueue(once_key="k"))

    handle(work)
    enqueue(once_key="k")
    assert worker.drain() == 2
    assert again[0] is not None


def test_a_failed_try_gives_way_to_a_newer_job_of_its_key(handle):
    def work(run):
        if run.attempt == 1 and Job.objects.count() == 1:
            enqueue(once_key="k")
            raise OSError

    handle(work)
    enqueue(once_key="k")
    worker.drain()
    assert sorted(Job.objects.values_list("state", flat=True)) == ["done", "done"]


def test_a_finished_once_key_is_free_again(handle):
    handle(lambda run: None)
    enqueue(once_key="k")
    worker.drain()
    assert enqueue(once_key="k") is not None


def test_requeueing_into_a_taken_once_key_is_a_conflict():
    first = enqueue(once_key="k")
    booth.write(lambda: jobs.park(first, reason="later"))
    enqueue(once_key="k")
    with pytest.raises(Conflict, match="already queued"):
        booth.write(lambda: jobs.requeue(first))


def test_parking_and_requeueing_by_hand():
    identity = enqueue()
    booth.write(lambda: jobs.park(identity, reason="not today"))
    assert job().state == "parked"
    assert "not today" in job().error
    with pytest.raises(Conflict):
        booth.write(lambda: jobs.park(identity, reason="again"))
    booth.write(lambda: jobs.requeue(identity))
    assert (job().state, job().attempts, job().error) == ("queued", 0, "")
    with pytest.raises(Conflict):
        booth.write(lambda: jobs.requeue(identity))
    with pytest.raises(Conflict):
        booth.write(lambda: jobs.requeue(uuid.uuid4()))


def test_finished_jobs_are_kept_a_week(handle):
    handle(lambda run: run.say("x"))
    with time_machine.travel(NOON, tick=False) as moved:
        enqueue()
        worker.drain()
        moved.shift(timedelta(days=7))
        booth.write(jobs.forget_old)
        assert Job.objects.count() == 1
        moved.shift(1)
        booth.write(jobs.forget_old)
        assert not Job.objects.exists()
        assert not JobLine.objects.exists()


def test_the_age_of_the_oldest_due_job_is_reported():
    with time_machine.travel(NOON, tick=False) as moved:
        assert jobs.oldest_wait_seconds() == 0
        enqueue()
        moved.shift(90)
        assert jobs.oldest_wait_seconds() == 90


def test_two_handlers_cannot_share_a_kind(handle):
    handle(lambda run: None)

    def foreign(run):
        return None

    foreign.__module__ = "somewhere.else"
    with pytest.raises(RuntimeError):
        kinds.job("test", foreign)


def test_a_job_id_is_a_uuid():
    with pytest.raises(Invalid):
        jobs.parse_uuid("seven")
