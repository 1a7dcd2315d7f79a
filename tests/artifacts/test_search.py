"""Search in files: every line that has the text is found once, however the pages end."""

from __future__ import annotations

import random

import pytest

from accounts.calls import handler
from accounts.tokens import authenticate
from flux.calls import files as calls
from memory.artifacts import search
from memory.artifacts.models import File
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def pages(alice, most=200, **query):
    """The matches of all pages, with their numbers."""
    found, counts, cursor = [], [], None
    while len(counts) < most:
        page = alice.get("/stores/notes/search", **query, **({"cursor": cursor} if cursor else {})).json()
        counts.append(page["count"])
        found += [(match["path"], match["line"]) for match in page["matches"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found, counts
    raise AssertionError(f"no end after {most} pages")


def test_lines_are_found_whatever_their_case(alice):
    alice.write("a.md", "One\nTWO birds\n")
    alice.write("b/c.txt", "no\nthe two\n")
    alice.write("d.bin", b"\0two", content_type="application/octet-stream")
    found = alice.get("/stores/notes/search", query="two").json()
    assert [(match["path"], match["line"], match["text"]) for match in found["matches"]] == [
        ("a.md", 2, "TWO birds"),
        ("b/c.txt", 2, "the two"),
    ]
    assert alice.get("/stores/notes/search", query="two", prefix="b").json()["count"] == 1


@pytest.fixture
def seeded():
    return random.Random(7)


@pytest.mark.parametrize("limit", [1, 7, 50, 59, 60, 61, 200])
def test_pages_of_any_size_have_every_line_once(alice, limit):
    wanted = []
    for path in ("a.txt", "b.txt", "c.txt"):
        alice.write(path, "".join("needle\n" if number % 3 else "hay\n" for number in range(90)))
        wanted += [(path, number + 1) for number in range(90) if number % 3]
    found, counts = pages(alice, query="needle", limit=limit)
    assert found == wanted and max(counts) <= limit


def test_a_file_behind_one_that_fills_the_page(alice):
    line = "h" * 1023 + "\n"
    alice.write("a.txt", line * 9000 + "needle\n")  # 8 MiB are 8,192 lines
    alice.write("b.txt", "hay\n" * 124 + "needle")
    assert pages(alice, query="needle") == ([("a.txt", 9001), ("b.txt", 125)], [0, 2])


def test_a_match_where_a_page_ends(alice):
    for path, before in (("a.txt", 8 * 2**20 - 3), ("b.txt", 256 * 1024 - 3), ("c.txt", 256 * 1024)):
        alice.write(path, "h" * before + "\u00fcBER" + "h" * 300_000 + "\u00fcber\nthen \u00dcber")
    found, _ = pages(alice, query="\u00dcber", limit=1)
    assert found == [(path, line) for path in ("a.txt", "b.txt", "c.txt") for line in (1, 2)]


def test_pages_of_any_number_of_bytes(alice, seeded):
    """Ends of pages everywhere in lines of every length: found is what a search in the whole text finds."""
    texts = [
        seeded.choice(("hay", "needle", "nee", "dle", "\u00e4", "NEEDLE", "\n", "\n", "\u2028")) for _ in range(400)
    ]
    text = "".join(texts)
    alice.write("a.txt", text)
    file = File.objects.get()
    wanted = [number for number, line in enumerate(text.split("\n"), 1) if "needle" in line.casefold()]
    for room in (25, 26, 31, 64, 500):
        for limit in (1, 3, 100):
            found, place = [], search.Place(file.pk)
            while place is not None:
                page = search.Page("needle", limit, room)
                place = page.search(file, search.Place.parse(str(place)))
                found += [match["line"] for match in page.matches]
                assert len(page.matches) <= limit
            assert found == wanted, (room, limit)


def test_a_file_that_was_written_since_the_page_ended_is_searched_from_its_beginning(alice):
    alice.write("a.txt", "needle\n" * 3)
    first = alice.get("/stores/notes/search", query="needle", limit=2).json()
    alice.write("a.txt", "hay\nneedle\n")
    again = alice.get("/stores/notes/search", query="needle", limit=2, cursor=first["next_cursor"]).json()
    assert [(match["line"], again["next_cursor"]) for match in again["matches"]] == [(2, None)]
    alice.delete("/stores/notes/files/a.txt")
    assert alice.get("/stores/notes/search", query="needle", cursor=first["next_cursor"]).json()["count"] == 0


def test_a_cursor_shows_nothing_that_the_caller_may_not_read(alice, with_stores):
    alice.write("a/secret", "needle\n" * 3)
    alice.write("b", "needle\n")
    cursor = alice.get("/stores/notes/search", query="needle", limit=2).json()["next_cursor"]
    guest = with_stores("artifacts.read:notes/b", name="guest")
    page = guest.get("/stores/notes/search", query="needle", cursor=cursor).json()
    assert [match["path"] for match in page["matches"]] == ["b"]
    assert alice.get("/stores/notes/search", query="needle", cursor=cursor, prefix="b").json()["count"] == 1
    for wrong in ("1.2", "1.2.3.4", "a", "1.1.1.1.1.1", f"{cursor}.1", "9999999.1.1.1.0", "1" * 19):
        assert refused(alice.get("/stores/notes/search", query="n", cursor=wrong), 422, "invalid")["field"] == "cursor"


def test_tool_and_client_follow_the_same_cursor(alice):
    alice.write("a.txt", "needle\n" * 3)
    who, found, more = authenticate(alice.token), [], {}
    while more is not None:
        page = handler(calls.SearchFiles)(who, store="notes", query="needle", limit=1, **more)
        found += [match["line"] for match in page["matches"]]
        more = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert found == [1, 2, 3]


def test_numbers_of_lines_behind_a_very_long_one(alice):
    """A line comes in parts, which are no lines."""
    alice.write("a.txt", "x" * 600_000 + "\nsecond needle\nthird\n")
    assert pages(alice, query="needle")[0] == [("a.txt", 2)]
    who = authenticate(alice.token)
    read = handler(calls.ReadFile)
    assert read(who, store="notes", path="a.txt", first=2, last=2)["text"] == "second needle\n"
    third = read(who, store="notes", path="a.txt", first=3)
    assert (third["text"], third["lines"], third["truncated"]) == ("third\n", 3, False)
    long = read(who, store="notes", path="a.txt", first=1)
    assert (long["text"], long["truncated"]) == ("", True), "whole lines or none"
