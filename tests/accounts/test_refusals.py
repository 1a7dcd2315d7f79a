"""Refused anonymous requests: all counted, one audit entry per source and minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from accounts import anonymous_refusals
from accounts.models import AuditEntry, RefusalMinute
from fluxcore.writes import booth

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def counted():
    return {(row.source, row.minute): row.count for row in RefusalMinute.objects.all()}


def audited():
    return list(AuditEntry.objects.filter(action="sign_in.token", outcome="refused").values_list("object", flat=True))


def test_a_burst_is_one_entry_and_the_whole_count():
    with time_machine.travel(NOON, tick=False) as moved:
        for _ in range(250):
            anonymous_refusals.count_refusal("192.0.2.7")
        moved.shift(61)
        anonymous_refusals.count_refusal("192.0.2.7")
    assert counted() == {("192.0.2.7", NOON): 250, ("192.0.2.7", NOON + timedelta(minutes=1)): 1}
    assert audited() == ["192.0.2.7"] * 2


def test_sources_are_counted_apart():
    with time_machine.travel(NOON, tick=False):
        for source in ("a", "b", "a", "a"):
            anonymous_refusals.count_refusal(source)
        anonymous_refusals.flush()
    assert counted() == {("a", NOON): 3, ("b", NOON): 1}
    assert sorted(audited()) == ["a", "b"]


def test_only_the_first_of_a_minute_touches_the_database(django_assert_num_queries):
    with time_machine.travel(NOON, tick=False):
        anonymous_refusals.count_refusal("a")
        with django_assert_num_queries(0):
            for _ in range(50):
                anonymous_refusals.count_refusal("a")


def test_a_minute_is_written_after_it_also_when_nobody_comes_again():
    with time_machine.travel(NOON, tick=False) as moved:
        for _ in range(7):
            anonymous_refusals.count_refusal("a")
        moved.shift(60)
        anonymous_refusals.flush(older_than=NOON + timedelta(minutes=1))
    assert counted() == {("a", NOON): 7}


def test_two_processes_share_the_entry_and_add_their_counts():
    with time_machine.travel(NOON, tick=False):
        for _ in range(3):
            anonymous_refusals.count_refusal("a")
        anonymous_refusals.flush()
        anonymous_refusals._counts.clear()  # another process knows nothing of these
        for _ in range(4):
            anonymous_refusals.count_refusal("a")
        anonymous_refusals.flush()
    assert counted() == {("a", NOON): 7}
    assert audited() == ["a"]


def test_a_flood_of_sources_is_bounded(monkeypatch):
    monkeypatch.setattr(anonymous_refusals, "_MAX_SOURCES", 5)
    with time_machine.travel(NOON, tick=False):
        for number in range(40):
            anonymous_refusals.count_refusal(f"s{number}")
        anonymous_refusals.flush()
    assert sum(counted().values()) == 40
    assert counted()["others", NOON] == 35
    assert len(audited()) == 6


def test_they_are_kept_a_week():
    with time_machine.travel(NOON, tick=False) as moved:
        anonymous_refusals.count_refusal("a")
        moved.shift(timedelta(days=7))
        assert booth.write(anonymous_refusals.forget_old) == 0
        moved.shift(1)
        assert booth.write(anonymous_refusals.forget_old) == 1


@pytest.mark.parametrize("header", [None, "Bearer nonsense", "Basic YTpi", "Bearer"])
def test_the_door_notes_every_kind(as_agent, header):
    answer = as_agent(None).get("/grains", headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert audited() == ["127.0.0.1"]
