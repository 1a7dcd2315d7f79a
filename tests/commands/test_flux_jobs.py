"""flux_jobs"""

from __future__ import annotations

import pytest

from fluxcore import booth, jobs
from fluxcore.models import Job


@pytest.fixture
def good_kind(monkeypatch):
    monkeypatch.setitem(jobs._handlers, "test.good", lambda run: run.say("hello"))
    return "test.good"


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
