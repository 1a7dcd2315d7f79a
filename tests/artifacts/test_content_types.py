"""Types of files: what is given is taken and stays; otherwise they follow from path and bytes."""

from __future__ import annotations

import pytest

from accounts.calls import handler
from accounts.tokens import authenticate
from flux.calls import files as calls

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def kind(alice, path):
    return alice.file(path).headers["Content-Type"]


@pytest.mark.parametrize("given", ["text/x-diff", "application/octet-stream", "application/x-own", "text/plain"])
def test_a_given_type_is_taken_and_stays(alice, given):
    assert alice.write("a.md", "text", content_type=given).json()["content_type"] == given
    assert alice.write("a.md", "other").json()["content_type"] == kind(alice, "a.md") == given
    handler(calls.WriteFile)(authenticate(alice.token), store="notes", path="a.md", text="third")
    alice.append("a.md", "more")
    assert kind(alice, "a.md") == given
    assert alice.write("a.md", "other", content_type="text/markdown").json()["content_type"] == "text/markdown"


def test_a_type_goes_with_bytes_that_cannot_have_it_and_with_the_file(alice):
    alice.write("a.md", "text", content_type="text/x-own")
    assert alice.write("a.md", b"\0\xff").json()["content_type"] == "application/octet-stream"
    alice.write("b.md", "text", content_type="text/x-own")
    alice.delete("/stores/notes/files/b.md")
    assert alice.write("b.md", "text").json()["content_type"] == "text/markdown"


@pytest.mark.parametrize("none", ["", "application/x-www-form-urlencoded"])
def test_without_a_type_it_follows_from_path_and_bytes(alice, none):
    for path, content, wanted in (
        ("a.md", "x", "text/markdown"),
        ("a.json", "{}", "application/json"),
        ("a", "x", "text/plain"),
        ("b", b"\0", "application/octet-stream"),
        ("c.md", b"\0", "application/octet-stream"),
        ("d.png", b"\0", "image/png"),
    ):
        assert alice.write(path, content, content_type=none).json()["content_type"] == wanted
