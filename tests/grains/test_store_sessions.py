"""A session keeps its order: every grain has a place in it and hangs on the one before."""

from __future__ import annotations

import pytest
from django.db import connection

from fluxcore import clock
from memory.grains import grain_input, linking
from memory.grains.models import Conduit, Grain, Relation


def turns(session="chat"):
    return list(Grain.objects.filter(session=session).order_by("ordinal").values_list("text", "ordinal"))


def chain(session="chat"):
    """The texts as the `next` conduits lead from one to another."""
    links = dict(
        Conduit.objects.filter(relation=Relation.NEXT, to_grain__session=session).values_list(
            "from_grain__text", "to_grain__text"
        )
    )
    found = [text for text in links if text not in links.values()]
    while found and found[-1] in links:
        found.append(links[found[-1]])
    return found


def test_grains_of_a_session_are_numbered_as_they_come(api):
    for number in range(4):
        api.post("/store", {"content": f"turn {number}", "session": "chat"})
    assert turns() == [(f"turn {number}", number) for number in range(4)]
    assert chain() == [f"turn {number}" for number in range(4)]


def test_a_batch_goes_on_where_the_session_ended_and_keeps_sessions_apart(api):
    api.post("/store", {"content": "first of chat", "session": "chat"})
    items = [{"content": f"{n}", "session": "chat" if n % 2 else "other"} for n in range(6)]
    api.post("/store/batch", {"items": [*items, {"content": "of none"}]})
    assert turns() == [("first of chat", 0), ("1", 1), ("3", 2), ("5", 3)]
    assert turns("other") == [("0", 0), ("2", 1), ("4", 2)]
    assert chain() == ["first of chat", "1", "3", "5"]
    assert chain("other") == ["0", "2", "4"]
    assert Grain.objects.get(text="of none").ordinal == 0


def test_what_is_only_corroborated_takes_no_place(api):
    items = [{"content": text, "session": "chat"} for text in ("a", "b", "a", "c")]
    api.post("/store/batch", {"items": items})
    api.post("/store/batch", {"items": [{"content": text, "session": "chat"} for text in ("b", "d")]})
    assert turns() == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]
    assert chain() == ["a", "b", "c", "d"]


def test_grains_without_a_session_follow_nothing(api):
    for number in range(3):
        api.post("/store", {"content": f"fact {number}"})
    assert not Conduit.objects.filter(relation=Relation.NEXT).exists()


@pytest.mark.sqlite_only  # PostgreSQL plans by statistics and reads a small table whole
def test_the_end_of_a_session_is_found_through_its_index(space):
    """A session of a million turns must not be read to add one."""
    item = grain_input.check_grain_input({"content": "x", "session": "chat"}, ceiling="user_stated")
    plan = []

    def explain(execute, sql, params, many, context):
        found = connection.connection.execute("EXPLAIN QUERY PLAN " + sql.replace("%s", "?"), params)
        plan.extend(row[3] for row in found)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explain):
        linking.find_existing(space.pk, [item], clock.now())
    assert any("USING COVERING INDEX grain_session" in step or "USING INDEX grain_session" in step for step in plan), (
        plan
    )
    assert [step for step in plan if step.startswith("SCAN") and "asked" not in step and "CONSTANT" not in step] == []
