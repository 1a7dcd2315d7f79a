"""Agents that write to a recallable store and ask about it, and jobs that are held between reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fluxcore.work import kinds, worker
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks
from tests.artifacts.conftest import FILES, MESSAGES, Stores


@pytest.fixture
def with_recall(make_token: Callable[..., str]) -> Callable[..., Stores]:
    def make(*capabilities: str, name: str = "alice", **more: Any) -> Stores:
        held = ("grains.read", "grains.write", "grains.feedback", *capabilities)
        return Stores(make_token(name, capabilities=held, **more))

    return make


@pytest.fixture
def alice(with_recall: Callable[..., Stores]) -> Stores:
    """An agent with one recallable store, `notes`."""
    made = with_recall(*FILES, *MESSAGES)
    assert made.post("/stores", {"key": "notes", "recallable": True}).status_code == 200
    return made


def ask_now(api: Stores, query: str, **more: Any) -> Any:
    """The answer to a question, before any job runs."""
    answer = api.post("/retrieve", {"query": query, **more})
    assert answer.status_code == 200, answer.content
    return answer.json()


def ask(api: Stores, query: str, **more: Any) -> Any:
    worker.drain()
    return ask_now(api, query, **more)


def say(api: Stores, *contents: str, store: str = "notes", **more: Any) -> Any:
    """Append messages of a user."""
    messages = [{"role": "user", "content": one, **more} for one in contents]
    answer = api.post(f"/stores/{store}/messages", {"messages": messages})
    assert answer.status_code == 200, answer.content
    return answer.json()


class HeldJob:
    """A job that has read and computed, and not yet written."""

    def __init__(self, name: str) -> None:
        run, kind = worker.claim([name]), kinds.find(name)
        assert run is not None and kind is not None, f"no job {name} waits"
        self.run: Run = run
        self.apply: Apply | None = kind.handler()(run)

    def finish(self) -> None:
        booth.write(lambda: worker._finish(self.run, self.apply), lock=write_locks.lock_name(self.run.space))

    def fail(self) -> None:
        worker._failed(self.run, RuntimeError("the disk was full for a moment"))
