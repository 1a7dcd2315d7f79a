"""Fixture: the write booth as servers run it, in its own thread, which is stopped after the test."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from fluxcore.writes import booth


@pytest.fixture
def threaded(transactional_db, settings):
    settings.BOOTH = "thread"
    yield
    closed = threading.Event()

    def leave() -> None:
        booth.outbox().after_commit(connection.close)
        booth.outbox().after_commit(closed.set)

    booth.write(leave)
    assert closed.wait(10)


@pytest.fixture(params=["inline", "thread"])
def any_booth(request, transactional_db, settings):
    """Both ways of running a write: in the caller's thread, and in the booth's."""
    if request.param == "thread":
        request.getfixturevalue("threaded")
    return request.param
