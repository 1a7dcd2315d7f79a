"""A space to remember in: store with a line, drain what the worker would do, ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accounts import agents, tokens
from accounts.principals import Principal, shell
from fluxcore.work import worker
from memory.arena.cache import arena_cache
from memory.embedding import active_encoder
from memory.grains import store
from memory.learning import feedback, inferred_votes
from memory.recall import recall


class Memory:
    """One agent's view of one space."""

    def __init__(self, space: str = "home", agent: str = "alice") -> None:
        self.principal = _agent(space, agent)

    def store(self, content: str, **given: Any) -> str:
        return str(store.store(self.principal, content=content, **given)["grain_id"])

    def drain(self) -> None:
        """What the worker would do by now."""
        active_encoder.load_encoder()
        worker.drain()

    def ask(self, query: str, **given: Any) -> dict[str, Any]:
        return dict(recall.recall(self.principal, query=query, **given))

    def vote(self, trace: str, grain: str | None = None, useful: bool | None = None, **given: Any) -> dict[str, Any]:
        said = {"grain_id": grain, "useful": useful} if grain is not None else {}
        return dict(feedback.feedback(self.principal, trace_id=trace, **said, **given))

    def texts(self, query: str, **given: Any) -> list[str]:
        return [grain["content"] for grain in self.ask(query, **given)["grains"]]


def _agent(space: str, name: str) -> Principal:
    from accounts.models import Space

    if not Space.objects.filter(name=space).exists():
        agents.create_space(shell(), name=space)
    capabilities = ["grains.read", "grains.write", "grains.feedback"]
    agents.apply_agent(shell(), space=space, name=name, capabilities=capabilities, trust="privileged")
    found = tokens.authenticate(str(tokens.mint(shell(), space=space, agent=name, ceiling="user_stated")["token"]))
    assert found is not None
    return found


@pytest.fixture
def memory(transactional_db: None) -> Iterator[Memory]:
    """Rows are numbered from 1 again for each test, so no arena may be left from the one before."""
    for space in arena_cache().spaces():
        arena_cache().drop(space)
    inferred_votes._asked.clear()
    yield Memory()
    for space in arena_cache().spaces():
        arena_cache().drop(space)
