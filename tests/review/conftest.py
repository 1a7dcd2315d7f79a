"""A store that takes proposals, the agents that make them, and people who decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from accounts.principals import Principal, find_space, shell
from memory.artifacts import files, stores
from memory.artifacts.contents import NewContent
from tests.artifacts.conftest import Stores

RULES = "# Rules\nBe brief.\n"


class Proposals(Stores):
    """A REST client of an agent that proposes and reviews."""

    def propose(self, path: str, content: bytes | str, store: str = "handbook", **more: Any) -> Any:
        return self.write(f"proposals/{path}", content, store, **more)

    def items(self, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get("/reviews", **query).json()["items"]
        return found

    def item(self, item: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/reviews/{item}").json()
        return found

    def accept(self, item: str, **body: Any) -> Any:
        if "seen" not in body:
            body["seen"] = self.item(item)["seen"]
        return self.post(f"/reviews/{item}/accept", body)

    def deny(self, item: str, reason: str | None = "not so") -> Any:
        return self.post(f"/reviews/{item}/deny", {"reason": reason})


@pytest.fixture
def handbook(space: Any) -> Principal:
    """A store with protected rules and a staging prefix; the principal of the shell in its space."""
    who = shell(find_space("home"))
    stores.create_store(who, key="handbook", read_only_prefixes=["rules"], staging_prefix="proposals")
    files.put_file(who, store="handbook", path="rules/a.md", content=NewContent.of(RULES.encode()))
    return who


@pytest.fixture
def ann(handbook: Principal) -> Principal:
    """An operator of the space."""
    return replace(handbook, kind="user", name="ann", role="operator")


@pytest.fixture
def agent_of(handbook: Principal, make_token: Callable[..., str]) -> Callable[..., Proposals]:
    def make(name: str, *capabilities: str, **more: Any) -> Proposals:
        return Proposals(make_token(name, capabilities=capabilities, **more))

    return make


@pytest.fixture
def bob(agent_of: Callable[..., Proposals]) -> Proposals:
    """A sandboxed agent: it reads and proposes, and writes nothing."""
    return agent_of("bob", "artifacts.read", "artifacts.propose:handbook/**", trust="sandboxed")


@pytest.fixture
def rita(agent_of: Callable[..., Proposals]) -> Proposals:
    """An agent that may review the rules."""
    return agent_of("rita", "artifacts.review:handbook/rules/**")
