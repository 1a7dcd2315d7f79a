"""flux_jobs"""

from __future__ import annotations

import pytest

from fluxcore.models import Job
from fluxcore.work import jobs, kinds, schedule
from fluxcore.writes import booth


@pytest.fixture
def good_kind():
    yield kinds.job("test.good", lambda run: run.say("hello"))
    kinds.withdraw("test.good")


def _enqueue(kind: str) -> str:
    return str(booth.write(lambda: jobs.enqueue(kind)))


def test_it_lists_and_shows_jobs(run, good_kind):
    job = _enqueue(good_kind)
    listed = run("flux_jobs", "--json").json()
    assert listed["counts"]["queued"] == 1
    assert listed["jobs"][0]["id"] == job
    run("flux_jobs", "drain")
    shown = run("flux_jobs", "show", job, "--json").json()
    assert shown["state"] == "done"
    assert [line["text"] for line in shown["lines"]] == ["hello"]


def test_a_waiting_job_can_be_parked_and_run_again(run, good_kind):
    job = _enqueue(good_kind)
    run("flux_jobs", "park", job, "--reason", "not now")
    assert Job.objects.get().state == "parked"
    assert run("flux_jobs", "drain", "--json").json() == {"run": 0}
    run("flux_jobs", "run", job)
    assert run("flux_jobs", "drain", "--json").json() == {"run": 1}


def test_a_job_that_is_not_parked_cannot_be_run_again(run, good_kind):
    job = _enqueue(good_kind)
    assert run("flux_jobs", "run", job, "--json").json()["error"]["code"] == "conflict"


def test_it_refuses_what_is_no_id(run):
    assert run("flux_jobs", "show", "banana", "--json").json()["error"]["code"] == "invalid"


def test_it_tells_what_comes_round_and_when_it_was_last_asked_for(run, good_kind, monkeypatch):
    monkeypatch.setattr(schedule, "_recurring", {})
    schedule.every("test", 3600, lambda: jobs.enqueue(good_kind))
    (before,) = run("flux_jobs", "schedule", "--json").json()["schedule"]
    assert before == {"name": "test", "seconds": 3600, "count": 0, "asked_at": None, "due": True}
    schedule.ask_for_what_is_due()
    (after,) = run("flux_jobs", "schedule", "--json").json()["schedule"]
    assert (after["count"], after["due"]) == (1, False)
    assert after["asked_at"] in run("flux_jobs", "schedule").text
