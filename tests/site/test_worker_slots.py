"""Jobs of the queues heavy and slow leave a thread of the worker to the queue fast."""

from __future__ import annotations

from fluxcore.work import wakeup
from fluxcore.work.kinds import FAST, HEAVY, SLOW, JobKind
from fluxsite.worker import THREADS, ThreadSlots
from tests.core.test_booth import wait_until


def kind(name: str, queue: str) -> JobKind:
    return JobKind(name, lambda run: None, queue, ())


def test_one_thread_is_always_left_to_fast_work_and_who_found_none_is_woken():
    woken: set[str] = set()
    former = wakeup.use(woken.update)
    slots = ThreadSlots(THREADS - 1)
    try:
        with slots.taken_by(kind("one", HEAVY)) as first:
            with (
                slots.taken_by(kind("two", SLOW)) as second,
                slots.taken_by(kind("three", HEAVY)) as third,
                slots.taken_by(kind("quick", FAST)) as quick,
            ):
                assert (first, second, third, quick) == (True, True, False, True)
            wait_until(lambda: woken == {"three"})
            with slots.taken_by(kind("three", HEAVY)) as third:
                assert third
    finally:
        wakeup.use(former)


def test_a_place_is_given_back_by_work_that_failed():
    slots = ThreadSlots(1)
    for _ in range(3):
        try:
            with slots.taken_by(kind("one", HEAVY)) as taken:
                assert taken
                raise ValueError
        except ValueError:
            pass
