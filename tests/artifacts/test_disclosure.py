"""What stores do not tell those who may not read: which stores there are, and what is in a file they may only write."""

from __future__ import annotations

import pytest

from tests.artifacts.test_files import sha
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
OF_CONTENT = {"sha", "bytes", "content_type", "updated_at"}


def test_a_store_of_which_nothing_may_be_read_is_like_one_that_does_not_exist(alice, with_stores):
    alice.write("a", "x")
    ident = alice.get("/stores/notes").json()["store"]
    guest = with_stores("artifacts.read:other/**", name="guest")
    for tail in ("", "/files", "/files?recursive=false", "/audit", "/search?query=x"):
        messages = {
            ref: refused(guest.get(f"/stores/{ref}{tail}"), 404, "not_found") for ref in ("notes", "none", ident)
        }
        assert messages == {ref: {"store": ref} for ref in messages}, tail
        assert alice.get(f"/stores/notes{tail}").status_code == 200
    some = with_stores("artifacts.read:notes/b", name="some")
    assert some.get("/stores/notes/files").json()["files"] == some.tail() == []


@pytest.fixture
def writer(alice, with_stores):
    """An agent that may write and not read."""
    alice.write("a", "secret", content_type="text/x-secret")
    alice.write("a", "secret 2")
    return with_stores("artifacts.write:notes/**", name="writer")


def test_answers_to_who_may_only_write_say_nothing_of_what_others_wrote(alice, writer):
    answers = [
        writer.append("a", ""),
        writer.append("a", "x"),
        writer.post("/stores/notes/restore/a", {"version": 2}),
        writer.post("/stores/notes/restore/a", {"version": 2}),
    ]
    for answer in answers:
        assert answer.status_code == 200 and not OF_CONTENT & set(answer.json()), answer.content
        assert "ETag" not in answer.headers
    assert [(answer.json()["version"], answer.json()["changed"]) for answer in answers] == [
        (2, False),
        (3, True),
        (4, True),
        (4, False),
    ]
    assert alice.append("a", "").json()["sha"] == sha("secret 2"), "those who may read it get it"


def test_answers_about_what_the_caller_wrote_alone_are_whole(writer):
    for answer in (writer.append("new", "mine"), writer.write("other", "mine"), writer.write("other", "mine")):
        assert answer.json()["sha"] == sha("mine") and set(answer.json()) > OF_CONTENT
