"""Refusals of bodies before they are read, in the log of the store like those of every other write."""

from __future__ import annotations

import pytest

from accounts.tokens import authenticate
from fluxcore.errors import Forbidden, TooLarge
from memory.api import streaming, urls
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
LARGE = b"x" * 100_000


def listed(alice):
    return [(event["principal"], event["op"], event["path"], event["outcome"]) for event in alice.tail()]


@pytest.mark.parametrize("body", [b"x", LARGE])
def test_a_reader_that_writes(alice, with_stores, body):
    reader = with_stores("artifacts.read", name="reader")
    for send in (reader.write, reader.append):
        assert refused(send("a/b", body), 403, "forbidden")["missing"] == "artifacts.write"
    assert reader.delete("/stores/notes/files/a/b").status_code == 403
    assert listed(alice) == [("agent:reader", op, "a/b", "forbidden") for op in ("write", "append", "delete")]


def test_a_large_body_that_the_server_would_write_to_a_file(alice, with_stores, configure):
    """The server asks before it reads the body."""
    routes = streaming.StreamedRoutes(urls.urlpatterns)
    reader = with_stores("artifacts.read", name="reader")
    configure(MAX_FILE_BYTES=200_000)
    for api, size, error in ((reader, 100_000, Forbidden), (alice, 200_001, TooLarge)):
        for method in ("PUT", "POST"):
            with pytest.raises(error):
                routes.admission(method, "/stores/notes/files/a", size)(authenticate(api.token))
    assert routes.admission("PUT", "/stores/notes/files/a", 200_000)(authenticate(alice.token)) == 200_000
    assert listed(alice) == [
        ("agent:reader", "write", "a", "forbidden"),
        ("agent:reader", "append", "a", "forbidden"),
        ("agent:alice", "write", "a", "too_large"),
        ("agent:alice", "append", "a", "too_large"),
    ]


def test_a_body_that_is_too_large_for_a_file(alice, configure):
    configure(MAX_FILE_BYTES=50_000)
    for send in (alice.write, alice.append):
        assert refused(send("a", LARGE), 413, "too_large")["raised_by"] == "MAX_FILE_BYTES"
    assert listed(alice) == [("agent:alice", op, "a", "too_large") for op in ("write", "append")]
