"""Wakeup of workers: after the commit, at most ten times a second, without blocking writes."""

from __future__ import annotations

import threading

import pytest

from fluxcore.errors import Invalid
from fluxcore.models import Job
from fluxcore.work import jobs, wakeup
from fluxcore.writes import booth
from tests.core.test_booth import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hung():
    let_go = threading.Event()
    former = wakeup.use(lambda kinds: let_go.wait(20))
    yield
    wakeup.use(former)
    let_go.set()


def test_workers_of_a_kind_are_woken_after_the_commit_of_a_job():
    woken = threading.Event()
    former = wakeup.use(lambda kinds: woken.set())
    try:
        with pytest.raises(Invalid):
            booth.write(lambda: jobs.enqueue("test") and _refuse())
        assert not woken.wait(0.3)
        booth.write(lambda: jobs.enqueue("test"))
        assert woken.wait(10)
    finally:
        wakeup.use(former)


def _refuse():
    raise Invalid


def test_a_burst_of_jobs_sends_few_wakeups_and_one_at_its_end():
    woken, asked = [], []
    former = wakeup.use(lambda kinds: woken.append(len(asked)))
    try:
        for number in range(200):
            asked.append(number)
            wakeup.wake("test")
        wait_until(lambda: woken and woken[-1] == 200)
    finally:
        wakeup.use(former)
    assert len(woken) <= 5


def test_a_sender_that_hangs_delays_no_write(hung):
    for _ in range(20):
        booth.write(lambda: jobs.enqueue("test"))
    assert Job.objects.count() == 20


def test_a_sender_that_fails_is_logged_and_called_again(caplog):
    woken = []

    def broken(kinds):
        woken.append(1)
        raise OSError("the cat is on the mat")

    former = wakeup.use(broken)
    try:
        booth.write(lambda: jobs.enqueue("test"))
        wait_until(lambda: len(woken) == 1)
        booth.write(lambda: jobs.enqueue("test"))
        wait_until(lambda: len(woken) == 2)
        wait_until(lambda: caplog.text.count("OSError") == 2)
    finally:
        wakeup.use(former)
    assert "cat" not in caplog.text


def test_each_kind_is_sent_once_however_often_it_was_requested():
    sent = []
    former = wakeup.use(sent.append)
    try:
        booth.write(lambda: [jobs.enqueue(kind) for kind in ("one", "other", "one")] and None)
        wait_until(lambda: frozenset().union(*sent) == {"one", "other"})
    finally:
        wakeup.use(former)
    assert sum(len(kinds) for kinds in sent) <= 4
