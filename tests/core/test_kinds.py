"""Kinds of jobs: declared once, claimed by their own task, found under the names of earlier releases."""

from __future__ import annotations

import importlib
from datetime import timedelta

import pytest
from django.apps import apps

from fluxcore import clock
from fluxcore.models import Job, ScheduleState
from fluxcore.work import jobs, kinds, sweep, worker
from fluxcore.writes import booth

pytestmark = pytest.mark.django_db

# What release 0.5.0 stored, and the kind that does it now.
STORED = {
    "arena.merge": "arena.merge",
    "grains.age": "grains.decay",
    "grains.attune": "learning.fit_weights",
    "grains.clean": "grains.prune_links",
    "grains.cluster": "clusters.compute",
    "grains.enrich": "grains.enrich",
    "grains.extract": "extraction.extract",
    "grains.forget_traces": "grains.forget_traces",
    "grains.imply": "learning.infer",
    "grains.learn": "learning.apply",
    "grains.notice": "grains.record_use",
    "grains.purge": "grains.purge",
    "grains.scrub": "grains.scrub",
    "health.alert": "health.alert",
    "health.gather": "health.gather",
    "health.measure": "health.measure",
    "health.replay": "health.replay",
    "keyvalue.bury": "keyvalue.forget_deleted",
    "keyvalue.scrub": "keyvalue.scrub",
    "keyvalue.sweep": "keyvalue.sweep",
    "transfer.import": "transfer.import",
}


@pytest.fixture
def declare():
    made = []

    def declared(name, work=lambda run: None, **options):
        made.append(name)
        return kinds.job(name, work, **options)

    yield declared
    for name in made:
        kinds.withdraw(name)


def enqueue(kind):
    return booth.write(lambda: jobs.enqueue(kind))


def test_jobs_stored_by_an_earlier_release_run_under_their_new_name():
    assert {stored: kinds.find(stored).name for stored in STORED} == STORED


def test_a_row_stored_under_a_former_name_is_claimed_by_the_task_of_the_new_one(declare):
    ran = []
    declare("test.new", lambda run: ran.append(run.kind), formerly=["test.old"])
    enqueue("test.old")
    enqueue("test.new")
    assert worker.drain(kinds.find("test.new").stored) == 2
    assert sorted(ran) == ["test.new", "test.old"]
    assert jobs.counts_by_kind() == {("test.new", "fast", "done"): 2}


def test_a_task_claims_only_rows_of_its_own_kind(declare):
    declare("test.one")
    declare("test.other", queue="heavy")
    enqueue("test.other")
    enqueue("test.one")
    assert worker.drain(["test.one"]) == 1
    assert Job.objects.get(kind="test.other").state == "queued"
    assert [kind.name for kind in kinds.every_kind(["heavy"]) if kind.name.startswith("test.")] == ["test.other"]


def test_a_kind_that_nobody_declared_fails_by_name_in_the_sweep(monkeypatch):
    monkeypatch.setattr(sweep, "_housekeeping", [])
    monkeypatch.setattr(sweep.schedule, "_recurring", {})
    enqueue("test.of_a_newer_release")
    sweep.sweep()
    row = Job.objects.get()
    assert (row.state, row.attempts) == ("queued", 1)
    assert row.lines.get().text == "Attempt 1 failed: NotFound in run_one"


def test_a_kind_is_declared_once_and_for_an_existing_queue(declare):
    declare("test.one")
    with pytest.raises(RuntimeError, match=r"test\.one"):
        kinds.job("test.one", print)
    with pytest.raises(RuntimeError, match=r"test\.one"):
        kinds.job("test.third", print, formerly=["test.one"])
    with pytest.raises(ValueError, match="is not a queue"):
        kinds.job("test.other", print, queue="express")


def test_a_dead_workers_row_is_due_for_its_own_kind(declare, standing_clock):
    declare("test.one")
    enqueue("test.one")
    run = worker.claim(["test.one"])
    assert run is not None
    found = jobs.next_due(timedelta(minutes=1))
    assert list(found) == ["test.one"]
    assert found["test.one"] > clock.now()


def test_the_upgrade_keeps_when_a_renamed_recurring_job_was_last_asked_for(standing_clock):
    migration = importlib.import_module("fluxcore.migrations.0004_plain_names")
    asked = clock.now() - timedelta(hours=3)
    for name in ("grains.age", "health.gather"):
        ScheduleState.objects.create(name=name, asked_at=asked, count=7)
    migration.rename(apps, None)
    assert set(ScheduleState.objects.values_list("name", "asked_at", "count")) == {
        ("grains.decay", asked, 7),
        ("health.gather", asked, 7),
    }
    migration.rename_back(apps, None)
    assert ScheduleState.objects.filter(name="grains.age", count=7).exists()
    assert set(migration.RENAMED.items()) <= set(STORED.items())
