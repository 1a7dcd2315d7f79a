"""Many at once, small: duels with one winner, increments that are not lost, locks and tasks with one owner."""

from __future__ import annotations

import threading
import uuid

import pytest
from django.db import connection

from accounts import tokens
from fluxcore import clock
from fluxcore.errors import Conflict
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from fluxcore.writes.preconditions import NONE
from memory.keyvalue import expiry, locks, queues, reads, statements, verbs
from memory.keyvalue.namespaces import open_namespace, place
from memory.keyvalue.validation import check_value
from tests.concurrency.load import together

pytestmark = pytest.mark.django_db(transaction=True)
MINE = "agents/alice"


@pytest.fixture
def alice(transactional_db, make_token):
    return tokens.authenticate(make_token("alice", capabilities=("memory.read", "memory.write", "bb.read", "bb.write")))


def crowd(count, work):
    def run(number):
        try:
            work(number)
        finally:
            connection.close()

    together(count, run)


def test_a_contested_version_has_one_winner(alice):
    for version in range(3):
        won, lost = [], []

        def duel(number, version=version, won=won, lost=lost):
            try:
                won.append(verbs.set_key(alice, place=MINE, key="k", value=number, expected_version=version)["version"])
            except Conflict as refusal:
                lost.append(refusal.details["current_version"])

        crowd(6, duel)
        assert (won, lost) == ([version + 1], [version + 1] * 5)


def test_no_increment_is_lost(alice):
    crowd(5, lambda number: [verbs.change_key(alice, op="incr", place=MINE, key="n") for _ in range(4)])
    found = reads.get_key(alice, place=MINE, key="n")
    assert (found["value"], found["version"]) == (20, 20)


def test_retried_compare_and_set_loses_nothing(alice):
    def add(number):
        for _ in range(3):
            while True:
                try:
                    seen = reads.get_key(alice, place=MINE, key="c")
                    value, version = seen["value"], seen["version"]
                except Exception:
                    value, version = 0, 0
                try:
                    verbs.set_key(alice, place=MINE, key="c", value=value + 1, expected_version=version)
                except Conflict:
                    continue
                break

    crowd(4, add)
    assert reads.get_key(alice, place=MINE, key="c")["value"] == 12


def test_a_lock_and_each_task_have_one_owner(alice):
    for number in range(6):
        queues.add(alice, queue="q", value=number)
    tokens_, claimed, guard = [], [], threading.Lock()

    def take(number):
        try:
            got = locks.acquire(alice, lock="l", ttl_secs=60)
        except Conflict:
            got = None
        while (task := queues.claim(alice, queue="q", ttl_secs=60))["task"] is not None:
            with guard:
                claimed.append(task["value"])
        with guard:
            tokens_.append(got["token"] if got else None)

    crowd(5, take)
    assert sorted(claimed) == [0, 1, 2, 3, 4, 5]
    assert sorted(tokens_, key=str) == [1, None, None, None, None]


def test_a_tombstone_is_not_forgotten_under_a_writer(alice, configure):
    """A writer that has read from where versions go on writes before the tombstone goes, or after, not between."""
    configure(KV_TOMBSTONES=0)
    verbs.set_key(alice, place=MINE, key="k", value=1)
    verbs.delete_key(alice, place=MINE, key="k")

    def forget():
        try:
            expiry.forget_deleted_keys(Run(1, uuid.uuid4(), "", None, {}, 1))
        finally:
            connection.close()

    sweeper = threading.Thread(target=forget)

    def write():
        found = open_namespace(alice, place(MINE))
        sweeper.start()
        sweeper.join(0.3)
        by = statements.KeyWriter(found.id, found.floor, found.now, clock.now(), alice.actor)
        return statements.put(by, "k", check_value(2), None, NONE).version

    assert booth.write(write, lock=write_locks.lock_name(alice.space)) == 2
    sweeper.join()
    assert reads.get_key(alice, place=MINE, key="k")["value"] == 2
