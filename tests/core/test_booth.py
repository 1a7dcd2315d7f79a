"""Write booth: one commit for all waiting writers, a savepoint for each, and answers after the commit."""

from __future__ import annotations

import threading
import time

import pytest
from django.db import connection

from accounts.models import Agent, Space
from fluxcore import clock
from fluxcore.errors import Busy, Conflict, Invalid
from fluxcore.writes import batch, booth
from tests.core.threads import together


def add(name):
    Space.objects.create(name=name, created_at=clock.now())
    return name


def names():
    return sorted(Space.objects.values_list("name", flat=True))


def wait_until(true):
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until
        time.sleep(0.002)


class Held:
    """Keeps the booth busy after a commit, so that callers gather behind it and share the next one."""

    def __init__(self):
        self.let_go = threading.Event()
        inside = threading.Event()

        def work():
            booth.outbox().after_commit(inside.set)
            booth.outbox().after_commit(lambda: self.let_go.wait(20))

        booth.write(work)
        assert inside.wait(10)

    def then(self, *works):
        """All of these in one batch; their results or exceptions."""
        found: list = []
        runner = threading.Thread(
            target=lambda: found.extend(together(len(works), lambda number: booth.write(works[number])))
        )
        runner.start()
        wait_until(lambda: booth.depth() == len(works))
        self.let_go.set()
        runner.join(60)
        return found


def test_the_result_of_the_work_is_returned(any_booth):
    assert booth.write(lambda: add("one")) == "one"
    assert names() == ["one"]


def test_a_failing_write_leaves_nothing(any_booth):
    def work():
        add("one")
        raise Conflict("no", why="test")

    with pytest.raises(Conflict) as refusal:
        booth.write(work)
    assert refusal.value.details == {"why": "test"}
    assert names() == []


def test_a_foreign_error_is_raised_unchanged(any_booth):
    def work():
        add("one")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        booth.write(work)
    assert names() == []
    assert booth.write(lambda: add("two")) == "two"


def test_only_the_failing_caller_of_a_batch_is_rolled_back(threaded):
    def fail():
        add("bad")
        raise Invalid

    found = Held().then(lambda: add("one"), fail, lambda: add("two"), lambda: 1 / 0)
    assert found[0] == "one"
    assert found[2] == "two"
    assert isinstance(found[1], Invalid)
    assert isinstance(found[3], ZeroDivisionError)
    assert names() == ["one", "two"]


def test_a_broken_statement_of_one_caller_harms_no_other(threaded):
    def broken():
        connection.cursor().execute("SELECT nonsense FROM nowhere")

    found = Held().then(lambda: add("one"), broken, lambda: add("two"))
    assert (found[0], found[2]) == ("one", "two")
    assert names() == ["one", "two"]


def test_a_caller_whose_rows_break_the_commit_fails_alone(threaded):
    """Foreign keys are checked at the commit, where nobody's savepoint helps."""

    def orphan():
        Agent.objects.create(space_id=999_999, name="orphan", created_at=clock.now())

    found = Held().then(lambda: add("one"), orphan, lambda: add("two"))
    assert (found[0], found[2]) == ("one", "two")
    assert isinstance(found[1], Exception)
    assert names() == ["one", "two"]
    assert not Agent.objects.exists()


def test_waiting_callers_share_one_commit(threaded):
    transactions = set()

    def work(name):
        def run():
            booth.outbox().add("test-batches", name)
            return add(name)

        return run

    batch.register_row_writer("test-batches", lambda rows: transactions.add(tuple(sorted(rows))))
    try:
        Held().then(*(work(f"s{number}") for number in range(12)))
    finally:
        del batch._row_writers["test-batches"]
    assert transactions == {tuple(sorted(f"s{number}" for number in range(12)))}
    assert len(names()) == 12


def test_a_row_writer_gets_only_rows_of_writes_that_succeeded(threaded):
    kept = []

    def work(name, fail=False):
        def run():
            booth.outbox().add("test-rows", name)
            if fail:
                raise Invalid

        return run

    batch.register_row_writer("test-rows", kept.extend)
    try:
        Held().then(work("a"), work("b", fail=True), work("c"))
    finally:
        del batch._row_writers["test-rows"]
    assert sorted(kept) == ["a", "c"]


def test_a_nested_write_is_committed_or_rolled_back_with_the_outer_one(any_booth):
    def outer():
        add("outer")
        booth.write(lambda: add("inner"))
        raise Invalid

    with pytest.raises(Invalid):
        booth.write(outer)
    assert names() == []


def test_a_caught_failure_of_a_nested_write_removes_its_rows_from_the_outbox(any_booth):
    """What the inner write left for audit, events and wakeup was never done."""
    kept, called = [], []

    def inner():
        add("inner")
        booth.outbox().add("test-rows", "inner")
        booth.outbox().after_commit(lambda: called.append("inner"))
        raise Invalid

    def outer():
        booth.outbox().add("test-rows", "outer")
        with pytest.raises(Invalid):
            booth.write(inner)
        booth.outbox().after_commit(lambda: called.append("outer"))
        return add("outer")

    batch.register_row_writer("test-rows", kept.extend)
    try:
        booth.write(outer)
        wait_until(lambda: called)
    finally:
        del batch._row_writers["test-rows"]
    assert (names(), kept, called) == (["outer"], ["outer"], ["outer"])


def test_the_outbox_needs_a_running_write(db):
    with pytest.raises(RuntimeError):
        booth.outbox()


def test_calls_after_the_commit_see_its_rows_and_may_fail_without_harm(any_booth, caplog):
    seen = []
    done = threading.Event()

    def fail():
        raise ValueError("the cat is on the mat")

    def work():
        booth.outbox().after_commit(fail)
        booth.outbox().after_commit(lambda: seen.append(names()))
        booth.outbox().after_commit(done.set)
        return add("one")

    assert booth.write(work) == "one"
    assert done.wait(10)
    assert seen == [["one"]]
    assert "ValueError in fail" in caplog.text
    assert "cat" not in caplog.text


def test_calls_after_the_commit_are_dropped_with_a_failed_write(any_booth):
    called = []

    def work():
        booth.outbox().after_commit(lambda: called.append(1))
        raise Invalid

    with pytest.raises(Invalid):
        booth.write(work)
    booth.write(lambda: add("later"))
    assert called == []


def test_a_full_queue_refuses_with_a_time_to_retry(threaded, monkeypatch):
    import dataclasses

    from fluxcore import config

    small = dataclasses.replace(config.Config(), MAX_WRITE_QUEUE_DEPTH=2)
    monkeypatch.setattr(config, "current", lambda: small)
    held = Held()
    waiting = [booth._shared_booth().put(lambda: "done") for _ in range(2)]
    with pytest.raises(Busy) as refusal:
        booth.write(lambda: add("refused"))
    assert refusal.value.status == 503
    assert 1 <= refusal.value.retry_after < 60
    held.let_go.set()
    assert [reply.result(10) for reply in waiting] == ["done", "done"]
    assert names() == []


def test_a_write_whose_caller_gave_up_is_not_run(threaded, monkeypatch):
    held = Held()
    monkeypatch.setattr(booth, "WAIT_SECONDS", 0.01)
    with pytest.raises(Busy):
        booth.write(lambda: add("given up"))
    monkeypatch.undo()
    held.let_go.set()
    booth.write(lambda: add("last"))
    assert names() == ["last"]


def test_a_posted_write_does_not_wait(threaded):
    held = Held()
    booth.post(lambda: add("noted"))  # the booth is held: waiting here would never end
    assert names() == []
    held.let_go.set()
    wait_until(lambda: names() == ["noted"])


def test_a_posted_write_that_fails_is_logged_without_its_text(any_booth, caplog):
    def fail():
        raise ValueError("the cat is on the mat")

    booth.post(fail)
    wait_until(lambda: "ValueError" in caplog.text)
    assert "cat" not in caplog.text


def test_many_writes_of_one_agent_do_not_delay_those_of_others(transactional_db):
    """Of a crowd of one agent's writes so many go into a batch as its share; the other's one comes with the first."""
    held, committed = Held(), []

    def work(name):
        return lambda: booth.outbox().after_commit(lambda: committed.append(name))

    flood = [booth._shared_booth().put(work(f"a{number}"), "space:1", "agent:a") for number in range(50)]
    others = [
        booth._shared_booth().put(work("b"), "space:1", "agent:b"),
        booth._shared_booth().put(work("c"), "space:2", "agent:a"),
    ]
    held.let_go.set()
    for reply in (*flood, *others):
        reply.result(20)
    wait_until(lambda: len(committed) == 52)
    assert max(committed.index("b"), committed.index("c")) <= 2
    assert [name for name in committed if name[0] == "a"] == [f"a{number}" for number in range(50)]


def test_the_share_of_an_agent_applies_while_others_write_and_shortly_after():
    def waiting(*agents):
        line.waiting.extend(batch.Caller(lambda: None, "space:1", agent) for agent in agents)
        taken = [caller.agent for caller in line._take()]
        line.waiting.clear()
        return len(taken)

    line = booth.Booth()
    assert waiting(*["a"] * 300) == booth.MAX_BATCH
    assert waiting(*["a"] * 300, "b") == booth.SHARE + 1
    assert waiting(*["a"] * 300) == booth.SHARE
    line._shared_until = 0.0
    assert waiting(*["a"] * 300) == booth.MAX_BATCH
