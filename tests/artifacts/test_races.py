"""Writes that come between two steps of a reader, and contents that are gone."""

from __future__ import annotations

import os

import pytest
from django.db import connection

from accounts.calls import handler
from accounts.tokens import authenticate
from flux.calls import files as calls
from fluxcore import blobs
from memory.artifacts.models import Content
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


@pytest.fixture
def newest(alice):
    """An agent with a store that keeps no versions: a replaced content is deleted at once."""
    assert alice.post("/stores", {"key": "newest", "keep_versions": False}).status_code == 200
    alice.write("a.md", "first line\n", "newest")
    return alice


def test_a_file_that_is_replaced_while_it_is_read(newest):
    """The reader gets the new content whole; never an error, never a mix."""
    who = authenticate(newest.token)
    readers = {
        "get": lambda: newest.file("a.md", "newest").content,
        "read": lambda: handler(calls.ReadFile)(who, store="newest", path="a.md")["text"].encode(),
        "lines": lambda: handler(calls.ReadFile)(who, store="newest", path="a.md", first=1)["text"].encode(),
        "search": lambda: b"".join(
            f"{match['text']}\n".encode()
            for match in handler(calls.SearchFiles)(who, store="newest", query="line")["matches"]
        ),
    }
    for name, read in readers.items():
        written = []

        def write_between(execute, sql, params, many, context, name=name, written=written):
            if sql.startswith("SELECT sha, size, data") and len(written) < 2:
                written.append(f"{name} line {len(written)}\n")
                newest.write("a.md", written[-1], "newest")
            return execute(sql, params, many, context)

        with connection.execute_wrapper(write_between):
            found = read()
        assert len(written) == 2 and found == written[-1].encode(), name


def test_an_append_to_a_large_file_that_is_replaced_meanwhile(newest):
    newest.write("log", b"x" * 100_000, "newest")
    replaced = []

    def write_between(execute, sql, params, many, context):
        if sql.startswith("SELECT sha, size, data") and not replaced:
            replaced.append(newest.write("log", b"y" * 100_000, "newest"))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write_between):
        assert newest.append("log", "end", "newest").json()["bytes"] == 100_003
    assert b"".join(newest.file("log", "newest")) == b"y" * 100_000 + b"end"


def test_a_level_of_folders_whose_last_file_is_deleted_meanwhile(alice):
    """The page has a cursor nevertheless, so that what follows is found."""
    for path in ("a", "b/1", "b/2", "c"):
        alice.write(path, path)
    deleted = []

    def delete_between(execute, sql, params, many, context):
        if not deleted and sql.startswith("SELECT") and "IN (" in sql and "artifacts_file" in sql:
            deleted.append(alice.delete("/stores/notes/files/b/1"))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(delete_between):
        page = alice.get("/stores/notes/files", recursive="false", limit=2).json()
    assert deleted and page["folders"] == ["b"] and page["next_cursor"] is not None
    rest = alice.get("/stores/notes/files", recursive="false", limit=2, cursor=page["next_cursor"]).json()
    assert [file["path"] for file in rest["files"]] == ["c"]


def test_a_blob_that_is_missing_is_no_missing_file(alice):
    alice.write("large", b"x" * 100_000)
    blobs.of_instance().delete(Content.objects.get().sha)
    assert "backup" in alice.file("large").json()["message"]
    refused(alice.file("large"), 503, "storage_unavailable")
    refused(alice.append("large", "more"), 503, "storage_unavailable")
    assert alice.get("/stores/notes/meta/large").json()["version"] == 1, "nothing was written"
    assert alice.write("large", b"x" * 100_000).json()["changed"] is False
    assert b"".join(alice.file("large")) == b"x" * 100_000, "the same bytes, sent again, mend it"


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_large_append_to_a_new_path_that_another_creates_meanwhile(alice, size):
    """The body is in blob storage already when it turns out that it is not the whole file."""
    added = os.urandom(100_000)  # which no other test has stored
    created, states = [], []

    def write_between(execute, sql, params, many, context):
        if sql.startswith("SELECT s.id"):
            states.append(sql)
        elif states and not created:  # between the look at the file and the write
            created.append("")
            created.append(alice.write("log", b"x" * size))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(write_between):
        answer = alice.append("log", added)
    assert created[1].json()["created"] and answer.json()["bytes"] == size + 100_000, answer.content
    assert b"".join(alice.file("log")) == b"x" * size + added
