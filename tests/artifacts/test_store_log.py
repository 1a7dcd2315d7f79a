"""The log of a store page by page."""

from __future__ import annotations

import pytest

from memory.artifacts import reading

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def pages(agent, tail):
    """Pages of the log, newest first; each has its events oldest first."""
    found, before = [], None
    while True:
        more = {} if before is None else {"before": before}
        answer = agent.get("/stores/notes/audit", tail=tail, **more).json()
        found.append([event["path"] for event in answer["events"]])
        before = answer["next_before"]
        if before is None:
            return found


def test_the_log_is_read_to_its_end(alice):
    assert pages(alice, 2) == [[]]
    for name in "abcde":
        alice.write(name, name)
    assert pages(alice, 2) == [["d", "e"], ["b", "c"], ["a"]]
    assert pages(alice, 5) == pages(alice, 100) == [list("abcde")], "no empty page follows"
    assert alice.get("/stores/notes/audit", tail=2, before=0).status_code == 422


def test_pages_of_those_who_may_read_some_paths_only(alice, with_stores, monkeypatch):
    monkeypatch.setattr(reading, "MAX_PASSED", 2)
    for path in ("mine/1", "a", "b", "c", "mine/2", "d", "e", "f", "g", "h"):
        alice.write(path, path)
    bob = with_stores("artifacts.read:notes/mine/**", name="bob")
    found = pages(bob, 1)
    assert [path for page in found for path in page] == ["mine/2", "mine/1"]
    assert len(found) > 2, "a page may have no event although there are earlier ones"
