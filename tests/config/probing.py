"""Probes: for each key of config.yaml an observable effect."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.conf import settings

from fluxcore import config
from fluxcore.errors import FluxError
from tests.conftest import Api
from tests.grains.conftest import Memory

_numbers = itertools.count(1)


class ProbeWorld:
    """What a probe looks at things with: the configuration of the moment, and spaces nobody has used yet."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        self.usual = config.Config()

    def set(self, **keys: Any) -> None:
        """Put keys into force on top of what the probe began with, as a restart with this file would."""
        now = replace(self.usual, **keys)
        self.patch.setattr(config, "current", lambda: now)
        self.patch.setattr(settings, "FLUX", now)

    def memory(self) -> Memory:
        return Memory(space=f"probe-{next(_numbers)}")

    def api(self, name: str = "alice", *, space: str | None = None, trust: str = "privileged") -> Api:
        """The REST client of an agent with everything key-value memory needs, in a space of its own."""
        from accounts import agents, tokens
        from accounts.models import Space
        from accounts.principals import shell

        home = space or f"probe-{next(_numbers)}"
        if not Space.objects.filter(name=home).exists():
            agents.create_space(shell(), name=home)
        rights = [
            f"{domain}.{action}"
            for domain in ("grains", "memory", "bb", "artifacts", "transcript")
            for action in ("read", "write")
        ]
        agents.apply_agent(shell(), space=home, name=name, capabilities=rights, trust=trust)
        return Api(str(tokens.mint(shell(), space=home, agent=name, ceiling="ai_stated")["token"]))

    @staticmethod
    def outcome(call: Callable[[], object]) -> str:
        """`done`, or the code of the refusal."""
        try:
            call()
        except FluxError as error:
            return error.code
        return "done"


@dataclass(frozen=True)
class Probe:
    """`observe` is called twice in the same way; in between the key alone is set from `first` to `other`."""

    observe: Callable[[ProbeWorld], object]
    other: Any
    first: Any
    besides: dict[str, Any]
    stored: bool


PROBES: dict[str, Probe] = {}


def probe(name: str, other: Any, *, first: Any = None, stored: bool = False, **besides: Any) -> Callable[..., Any]:
    """`besides`: other keys that must be set for this one to matter. `stored`: it needs the database."""

    def register(observe: Callable[[ProbeWorld], object]) -> Callable[[ProbeWorld], object]:
        assert name not in PROBES, name
        begin = config.FIELDS[name].default if first is None else first
        PROBES[name] = Probe(observe, other, begin, besides, stored)
        return observe

    return register
