"""The clock of expiry and what the sweeper does by it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Space
from fluxcore import clock, uptime
from fluxcore.models import Event, UptimeClock
from fluxcore.work import jobs, worker
from fluxcore.writes import booth
from memory.keyvalue import expiry_clock
from memory.keyvalue import jobs as keyvalue_jobs
from memory.keyvalue.models import ExpiryClock, Item, Namespace, Revision
from tests.rest.routes import refused

MINE = "/agents/alice/kv"
HOUR, DAY, YEAR = 3600.0, 86_400.0, 365 * 86_400.0


def sweep(kind=keyvalue_jobs.SWEEP):
    booth.write(lambda: jobs.enqueue(kind))
    while worker.run_one():
        pass


def told(kind):
    return [one.data["key"] for one in Event.objects.filter(kind=kind).order_by("id")]


@pytest.mark.parametrize("step", [1.0, HOUR, -HOUR, 10 * YEAR, -YEAR], ids=str)
def test_a_wall_clock_that_is_set_changes_no_lifetime(alice, clocks, step):
    alice.put(f"{MINE}/short", {"value": 1, "ttl_secs": 100})
    alice.put(f"{MINE}/long", {"value": 1, "ttl_secs": 10_000})
    clocks.set(step)
    sweep()
    clocks.passes(98)
    assert alice.get(f"{MINE}/short").status_code == 200, "a jump ended a lifetime"
    clocks.passes(2)
    sweep()
    refused(alice.get(f"{MINE}/short"), 404, "not_found")
    clocks.set(-step)
    sweep()
    refused(alice.get(f"{MINE}/short"), 404, "not_found")
    assert alice.get(f"{MINE}/long").status_code == 200


def test_all_processes_share_it_and_a_new_one_does_not_begin_anew(alice, clocks):
    alice.put(f"{MINE}/t", {"value": 1, "ttl_secs": 100})
    clocks.set(-DAY)
    before = expiry_clock.current()
    clocks.passes(5)
    assert expiry_clock.current() == before + 5
    assert ExpiryClock.objects.count() == 1


def test_after_a_reboot_it_is_not_earlier_than_it_was(alice, clocks, monkeypatch):
    alice.put(f"{MINE}/t", {"value": 1, "ttl_secs": 100})
    clocks.passes(100)
    sweep()
    reached = expiry_clock.current()
    monkeypatch.setattr(expiry_clock, "boot", lambda: "another")
    clocks.steady, clocks.wall = 3.0, clocks.wall - DAY
    refused(alice.get(f"{MINE}/t"), 404, "not_found")
    assert expiry_clock.current() == reached


def test_a_boot_with_a_clock_far_ahead_hides_and_does_not_destroy(alice, clocks, monkeypatch):
    for number in range(20):
        alice.put(f"{MINE}/{number}", {"value": 1, "ttl_secs": 10_000})
    sweep()
    monkeypatch.setattr(expiry_clock, "boot", lambda: "with a flat battery")
    clocks.steady, clocks.wall = 3.0, clocks.wall + 10 * YEAR
    # as the sweep sees it
    UptimeClock.objects.update_or_create(pk=1, defaults={"at": clock.now() - timedelta(days=3650)})
    assert uptime.now().doubt
    alice.put(f"{MINE}/meanwhile", {"value": 1})
    sweep()
    assert alice.get(MINE).json()["count"] == 1
    clocks.set(-10 * YEAR)
    sweep()
    assert alice.get(MINE).json()["count"] == 21


def test_a_clock_that_was_set_right_is_followed_in_the_end(alice, clocks, configure):
    configure(CLOCK_DOUBT_HOURS=2)
    alice.put(f"{MINE}/t", {"value": 1})
    clocks.set(2 * HOUR)
    sweep()
    assert clocks.wall - expiry_clock.current() == 2 * HOUR
    clocks.passes(2 * HOUR)
    sweep()
    assert expiry_clock.current() == clocks.wall


def test_the_sweeper_tells_once_and_destroys_after_the_grace(alice, clocks, configure):
    configure(KV_EXPIRY_GRACE_HOURS=1)
    alice.put(f"{MINE}/t", {"value": "secret", "ttl_secs": 10})
    alice.put(f"{MINE}/stays", {"value": 1})
    sweep()
    assert told("kv.expired") == []
    clocks.passes(10)
    sweep()
    sweep()
    assert told("kv.expired") == ["t"]
    assert Item.objects.get(key="t").value == '"secret"'
    clocks.passes(HOUR)
    sweep()
    row = Item.objects.get(key="t")
    assert (row.value, row.version, row.size) == (None, 1, 0)
    assert not Revision.objects.filter(item=row).exists()
    held = Namespace.objects.get()
    assert (held.keys, held.bytes) == (1, 1)
    assert alice.put(f"{MINE}/t", {"value": 1, "expected_version": 0}).json()["version"] == 2


def test_what_was_written_anew_is_not_destroyed_by_an_old_expiry(alice, clocks, configure):
    configure(KV_EXPIRY_GRACE_HOURS=0)
    alice.put(f"{MINE}/t", {"value": 1, "ttl_secs": 10})
    clocks.passes(10)
    alice.put(f"{MINE}/t", {"value": 2})
    sweep()
    assert told("kv.expired") == []
    assert alice.get(f"{MINE}/t").json()["value"] == 2


def test_old_histories_and_old_news_go(alice, configure, clocks):
    alice.put(f"{MINE}/t", {"value": 1})
    Revision.objects.update(at=clock.now() - timedelta(days=31))
    Event.objects.update(at=clock.now() - timedelta(days=8))
    alice.put(f"{MINE}/t", {"value": 2})
    sweep()
    assert list(Revision.objects.values_list("version", flat=True)) == [2]
    assert told("kv.set") == ["t"]
    refused(alice.get("/watch?place=agents/alice&since=0.0&wait=0"), 410, "gone")


def test_forgotten_tombstones_leave_their_versions_behind(alice, configure):
    configure(KV_TOMBSTONES=1)
    for key in ("a", "b", "c"):
        for _ in range(3):
            alice.put(f"{MINE}/{key}", {"value": 1})
        alice.delete(f"{MINE}/{key}")
    sweep(keyvalue_jobs.FORGET_DELETED)
    assert Item.objects.count() == 1
    assert alice.put(f"{MINE}/a", {"value": 1, "expected_version": 0}).json()["version"] == 4
    assert Space.objects.count() == 1
