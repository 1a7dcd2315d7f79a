"""Event log: appended inside the write, read in an order all followers share."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from fluxcore import clock, events
from fluxcore.errors import Invalid
from fluxcore.events import Position
from fluxcore.models import Event
from fluxcore.writes import booth
from tests.core.test_booth import wait_until
from tests.core.threads import together

pytestmark = pytest.mark.django_db(transaction=True)


def tell(*subjects, space=None, **more):
    booth.write(
        lambda: [events.append("test.kind", space=space, actor="agent:a", subject=one, **more) for one in subjects]
    )
    wait_until(_behind_the_watermark)


def _behind_the_watermark():
    """PostgreSQL's watermark is the cluster's: a transaction in another test's database holds it back for a while."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(xid), 0) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM fluxcore_event"
        )
        return cursor.fetchone()[0]


def follow_all(space=None, limit=3):
    """Everything, page by page, as a follower reads it."""
    position, found = Position(), []
    while True:
        page, position = events.follow(position, space=space, limit=limit)
        if not page:
            return found
        found += page


def test_an_event_is_only_written_with_its_write():
    def fail():
        events.append("test.kind", space=None, actor="a", subject="never")
        raise Invalid

    with pytest.raises(Invalid):
        booth.write(fail)
    assert follow_all() == []


def test_an_event_cannot_be_written_outside_a_write():
    with pytest.raises(RuntimeError):
        events.append("test.kind", space=None, actor="a", subject="s")


def test_a_follower_gets_every_event_unchanged():
    before = clock.now()
    tell("s", space=7, data={"b": [1, None], "a": "ü"}, packed=b"\x00\xff")
    (change,) = follow_all()
    assert (change.space, change.kind, change.actor, change.subject) == (7, "test.kind", "agent:a", "s")
    assert change.data == {"b": [1, None], "a": "ü"}
    assert change.packed == b"\x00\xff"
    assert before <= change.at <= clock.now()


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_pages_have_every_event_once_and_in_order(limit):
    tell("a", "b", "c")
    tell("d")
    tell("e", "f", "g")
    assert [change.subject for change in follow_all(limit=limit)] == list("abcdefg")


def test_the_next_page_begins_where_the_last_one_ended():
    tell("a", "b")
    page, position = events.follow(Position(), limit=1)
    assert position == page[0].position
    again, end = events.follow(position)
    assert [change.subject for change in again] == ["b"]
    assert events.follow(end) == ([], end)
    assert events.head() == end


def test_a_space_sees_only_its_own_events():
    tell("a", "b", space=1)
    tell("c", space=2)
    tell("d", space=None)
    tell("e", space=1)
    assert [change.subject for change in follow_all(space=1, limit=1)] == ["a", "b", "e"]
    assert [change.subject for change in follow_all(space=2)] == ["c"]
    assert [change.subject for change in follow_all()] == list("abcde")


def test_an_empty_log_has_the_first_position():
    assert events.head() == Position() == Position.parse("0.0")


def test_positions_are_the_same_after_formatting_and_parsing():
    tell("a")
    head = events.head()
    assert Position.parse(str(head)) == head


@pytest.mark.either_database
@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "1",
        "1.",
        ".1",
        "1.2.3",
        "-1.0",
        "1.-1",
        "a.b",
        " 1.2",
        "1.2 ",
        "\u0661.\u0662",
        "1e3.0",
        "0x1.0",
        f"{2**63}.0",
        f"0.{2**63}",
        "9" * 50 + ".0",
    ],
)
def test_text_that_is_no_position_is_refused(text):
    with pytest.raises(Invalid) as refusal:
        Position.parse(text)
    assert refusal.value.details == {"field": "since"}


def test_the_largest_position_is_after_every_event():
    tell("a")
    assert events.follow(Position.parse(f"{2**63 - 1}.{2**63 - 1}"))[0] == []


def test_a_follower_misses_nothing_while_many_write():
    """Eight writers, and a follower who pages as they go."""
    done, seen = [], []

    def one(number):
        if number == 8:
            position = Position()
            while True:
                last = len(done) == 8
                page, position = events.follow(position, limit=7)
                seen.extend(change.subject for change in page)
                if last and not page:
                    return
        for turn in range(15):
            tell(f"{number}.{turn}")
        done.append(number)

    assert together(9, one) == [None] * 9
    assert len(seen) == 120
    assert set(seen) == {f"{number}.{turn}" for number in range(8) for turn in range(15)}


def test_a_stored_memory_leaves_no_text_in_the_log(api):
    api.post("/store", {"content": "The launch code is swordfish", "provenance": "user_stated"})
    assert Event.objects.filter(kind="grain.stored").count() == 1
    for row in Event.objects.all():
        assert "swordfish" not in json.dumps([row.subject, row.actor, row.data])
        assert b"swordfish" not in bytes(row.packed or b"")


def seen_by_another_connection():
    def look():
        try:
            return {change.subject for change in follow_all()}
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        return other.submit(look).result(60)


def test_only_committed_events_are_announced_and_after_their_commit(threaded):
    announced, inside, leave = [], threading.Event(), threading.Event()

    def write(subject, refused):
        events.append("test.kind", space=None, actor="a", subject=subject)
        inside.set()
        assert leave.wait(60)
        if refused:
            raise Invalid

    def written(subject, *, refused):
        """One write, looked at while its transaction is open."""
        inside.clear()
        leave.clear()
        with ThreadPoolExecutor(1) as writer:
            writing = writer.submit(booth.write, lambda: write(subject, refused))
            assert inside.wait(60)
            while_open = list(announced)
            leave.set()
            assert isinstance(writing.exception(60), Invalid if refused else type(None))
        return while_open

    events.announce_with(lambda: announced.append(seen_by_another_connection()))
    try:
        assert written("refused", refused=True) == []
        assert written("kept", refused=False) == []
        wait_until(lambda: announced)
        assert written("refused too", refused=True) == written("kept too", refused=False) == announced[:1]
        wait_until(lambda: len(announced) == 2)
    finally:
        events.announce_with(None)
    if connection.vendor == "sqlite":  # PostgreSQL's watermark may hold an event back
        assert announced == [{"kept"}, {"kept", "kept too"}]
