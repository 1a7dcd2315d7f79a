"""Preview of capabilities: for every operation all, none or the allowed names."""

from __future__ import annotations

from accounts.capabilities import OPERATIONS, Capabilities
from accounts.capability_reach import find_reach

NAMES = ["notes/a", "notes/b", "notes/deep/c", "plans"]


def reach(*capabilities, names=NAMES):
    return {one.operation: (one.extent, one.names) for one in find_reach(capabilities, names)}


def test_every_operation_is_there_once_in_one_order():
    found = [one.operation for one in find_reach([], NAMES)]
    assert found == sorted(OPERATIONS)
    assert {one.extent for one in find_reach([], NAMES)} == {"none"}


def test_it_tells_all_some_and_none():
    found = reach("grains.read", "memory.read", "memory.write:notes/*", "bb.write:*")
    assert found["grains.read"] == found["memory.read"] == found["bb.write"] == ("all", ())
    assert found["memory.write"] == ("some", ("notes/a", "notes/b"))
    assert found["grains.write"] == found["bb.read"] == ("none", ())


def test_a_scope_that_meets_no_name_yet_is_still_something():
    assert reach("memory.write:later/*")["memory.write"] == ("some", ())


def test_names_are_shown_once_and_in_the_order_given():
    assert reach("memory.read:**a", names=["b/a", "a", "b/a"])["memory.read"] == ("some", ("b/a", "a"))


def test_a_set_cut_to_a_parent_shows_what_is_left():
    held = Capabilities(["memory.read", "memory.write:notes/*"], within=Capabilities(["memory.read:notes/a"]))
    found = {one.operation: (one.extent, one.names) for one in find_reach(held, NAMES)}
    assert found["memory.read"] == ("some", ("notes/a",))
    assert found["memory.write"] == ("none", ())
