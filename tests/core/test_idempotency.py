"""Idempotency keys: same key, same answer; same key with another body, 409; kept 24 hours."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
import time_machine
from django.db import connection

from fluxcore.errors import IdempotencyKeyReused, Invalid
from fluxcore.models import IdempotencyKey
from fluxcore.writes import booth, idempotency
from tests.core.threads import together

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def call(key, request="body", owner="home/agent:a", answers=None):
    """One write that answers with how often it really ran."""
    counter = answers if answers is not None else []

    def work():
        counter.append(1)
        return {"run": len(counter)}

    return booth.write(lambda: idempotency.run_once(owner, key, request, work))


def test_the_same_key_gets_the_same_answer_and_one_effect():
    runs = []
    assert [call("k", answers=runs) for _ in range(5)] == [{"run": 1}] * 5
    assert len(runs) == 1


def test_without_a_key_every_call_counts():
    runs = []
    assert [call(None, answers=runs)["run"] for _ in range(3)] == [1, 2, 3]
    assert not IdempotencyKey.objects.exists()


def test_another_body_under_the_same_key_is_refused():
    call("k", "one")
    with pytest.raises(IdempotencyKeyReused) as refusal:
        call("k", "two")
    assert (refusal.value.status, refusal.value.code) == (409, "idempotency_key_reused")


def test_the_order_of_fields_does_not_make_another_body():
    call("k", {"a": 1, "b": 2})
    assert call("k", {"b": 2, "a": 1}) == {"run": 1}


def test_two_owners_may_use_the_same_key_for_different_writes():
    runs = []
    call("k", owner="home/agent:a", answers=runs)
    call("k", owner="home/agent:b", answers=runs)
    call("k", owner="away/agent:a", answers=runs)
    assert len(runs) == 3


@pytest.mark.parametrize("answer", [None, [], {}, 0, "", [None], {"a": {"b": [1, 2.5, "ü"]}}])
def test_any_answer_is_repeated_unchanged(answer):
    def ask():
        return booth.write(lambda: idempotency.run_once("o", "k", 1, lambda: answer))

    assert ask() == ask() == answer


def test_a_failed_write_leaves_no_key():
    def fail():
        raise Invalid

    with pytest.raises(Invalid):
        booth.write(lambda: idempotency.run_once("o", "k", "x", fail))
    assert call("k", "another body", owner="o") == {"run": 1}


def test_a_key_is_kept_for_24_hours_and_not_much_longer():
    runs = []
    with time_machine.travel(NOON, tick=False) as clock:
        call("k", answers=runs)
        clock.shift(24 * 3600)
        assert call("k", answers=runs) == {"run": 1}
        clock.shift(1)
        assert call("k", answers=runs) == {"run": 2}


def test_the_sweep_forgets_only_what_is_old():
    with time_machine.travel(NOON, tick=False) as clock:
        call("old")
        clock.shift(12 * 3600)
        call("young")
        clock.shift(13 * 3600)
        assert idempotency.forget_old() == 1
    assert list(IdempotencyKey.objects.values_list("key", flat=True)) == ["young"]


def test_a_clock_set_back_deletes_no_key():
    with time_machine.travel(NOON, tick=False) as clock:
        call("k")
        clock.shift(-365 * 24 * 3600)
        assert call("k") == {"run": 1}


def test_a_retry_is_answered_without_a_write(django_assert_num_queries):
    call("k", "body")
    with django_assert_num_queries(1):
        assert idempotency.find_answer("home/agent:a", "k", "body") == ({"run": 1},)
    assert idempotency.find_answer("home/agent:a", "other", "body") is None


@pytest.mark.django_db(transaction=True)
def test_a_key_survives_a_restart():
    call("k")
    connection.close()  # a new process knows nothing but the database
    assert call("k") == {"run": 1}


@pytest.mark.django_db(transaction=True)
def test_sixteen_retries_at_once_make_one_effect():
    runs = []
    found = together(16, lambda number: call("k", answers=runs))
    assert [answer["run"] for answer in found] == [found[0]["run"]] * 16
    assert IdempotencyKey.objects.count() == 1
    # A loser may have begun and been rolled back; what counts is what was committed.
    assert json.loads(IdempotencyKey.objects.get().answer) == found[0]


def test_sixteen_retries_in_one_booth_make_one_effect(threaded):
    runs = []
    found = together(16, lambda number: call("k", answers=runs))
    assert found == [{"run": 1}] * 16


@pytest.mark.parametrize("key", ["", "x" * 129, "a\nb", "a\0", "ü", "\x7f"])
def test_a_key_is_printable_ascii(key):
    with pytest.raises(Invalid):
        idempotency.check_key(key)


def test_a_key_may_hold_any_printable_ascii():
    assert idempotency.check_key("x" * 128)
    assert idempotency.check_key("order #7: 'first' {2026}")
