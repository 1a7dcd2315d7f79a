"""Agents with exact memory, and a clock of expiry that a test can set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.keyvalue import expiry_clock
from tests.conftest import Api

OWN = ("memory.read", "memory.write")
SHARED = ("bb.read", "bb.write")


class Clock:
    """Both clocks of the machine: the steady one and the one on the wall, which can be set."""

    def __init__(self) -> None:
        self.steady, self.wall = 1_000.0, 1_800_000_000.0

    def passes(self, seconds: float) -> None:
        self.steady += seconds
        self.wall += seconds

    def set(self, seconds: float) -> None:
        """Somebody sets the wall clock by so much."""
        self.wall += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clock:
    held = Clock()
    monkeypatch.setattr(expiry_clock, "steady", lambda: held.steady)
    monkeypatch.setattr(expiry_clock, "wall", lambda: held.wall)
    return held


@pytest.fixture
def alice(make_token: Callable[..., str]) -> Api:
    return Api(make_token("alice", capabilities=(*OWN, *SHARED)))


@pytest.fixture
def bob(make_token: Callable[..., str]) -> Api:
    return Api(make_token("bob", capabilities=(*OWN, *SHARED)))


@pytest.fixture
def with_rights(make_token: Callable[..., str]) -> Callable[..., Api]:
    def make(*capabilities: str, name: str = "carol", **more: Any) -> Api:
        return Api(make_token(name, capabilities=capabilities, **more))

    return make
