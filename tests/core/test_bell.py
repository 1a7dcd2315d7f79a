"""The bell: it wakes a worker after the commit, seldom enough, and never holds up a write."""

from __future__ import annotations

import threading

import pytest

from fluxcore import bell, jobs
from fluxcore.errors import Invalid
from fluxcore.models import Job
from fluxcore.writes import booth
from tests.core.test_booth import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hung():
    before, let_go = bell._bell, threading.Event()
    bell.on_ring(lambda: let_go.wait(20))
    yield
    bell._bell = before
    let_go.set()


def test_a_job_rings_after_its_commit():
    before, rung = bell._bell, threading.Event()
    bell.on_ring(rung.set)
    try:
        with pytest.raises(Invalid):
            booth.write(lambda: jobs.enqueue("test") and _refuse())
        assert not rung.wait(0.3)
        booth.write(lambda: jobs.enqueue("test"))
        assert rung.wait(10)
    finally:
        bell._bell = before


def _refuse():
    raise Invalid


def test_a_burst_rings_a_few_times_and_once_more_at_its_end():
    before, rung = bell._bell, []
    asked = []
    bell.on_ring(lambda: rung.append(len(asked)))
    try:
        for number in range(200):
            asked.append(number)
            bell.ring()
        wait_until(lambda: rung and rung[-1] == 200)
    finally:
        bell._bell = before
    assert len(rung) <= 5


def test_a_bell_that_hangs_holds_up_no_write(hung):
    for _ in range(20):
        booth.write(lambda: jobs.enqueue("test"))
    assert Job.objects.count() == 20


def test_a_bell_that_breaks_is_logged_and_rung_again(caplog):
    before, rung = bell._bell, []

    def broken():
        rung.append(1)
        raise OSError("the cat is on the mat")

    bell.on_ring(broken)
    try:
        booth.write(lambda: jobs.enqueue("test"))
        wait_until(lambda: len(rung) == 1)
        booth.write(lambda: jobs.enqueue("test"))
        wait_until(lambda: len(rung) == 2)
        wait_until(lambda: caplog.text.count("OSError") == 2)
    finally:
        bell._bell = before
    assert "cat" not in caplog.text
