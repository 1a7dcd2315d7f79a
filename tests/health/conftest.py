"""A space whose past is told to the log in one go, and a worker that measures it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine

from accounts.models import Space
from fluxcore import clock, events
from fluxcore.models import Event
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.health import jobs as health_jobs
from memory.health.models import SpaceHealth, Warning
from tests.event_log import wait_for_log

BEGIN = datetime.fromisoformat("2030-01-07T08:00:00+00:00")


class MeasuredSpace:
    """One space under observation: what happens to it, the passing of time, and what is measured."""

    def __init__(self, space: Space, traveller: Any) -> None:
        self.space, self.clock = space, traveller

    def pass_time(self, **span: float) -> None:
        self.clock.shift(timedelta(**span))

    def tell(self, kind: str, data: dict[str, Any], *, actor: str = "agent:alice", times: int = 1) -> None:
        def change() -> None:
            for _ in range(times):
                events.append(kind, space=self.space.pk, actor=actor, subject="", data=data)

        booth.write(change)

    def recalls(self, count: int, *, actor: str = "agent:alice", label: str = "", **said: Any) -> None:
        usual = {"confidence": 0.7, "hops": 1, "fallback": False, "grains": 5, "rung": "warm"}
        one = {"actor": actor, "label": label, **usual, **said}
        self.tell("grains.recalled", {"recalls": [{"trace": str(uuid.uuid4()), **one} for _ in range(count)]})

    def measure(self, times: int = 1) -> SpaceHealth:
        """As the worker does: follow the log, then measure; an hour apart where it is done several times."""
        for turn in range(times):
            if turn:
                self.pass_time(hours=1)
            self.settle()
            booth.write(health_jobs.ask_to_gather)
            worker.drain()
        return SpaceHealth.objects.get(space=self.space)

    def settle(self) -> None:
        """PostgreSQL: until other tests' transactions end, the log ends before what was written here."""
        wait_for_log()

    def held(self, signal: str) -> dict[str, Any]:
        return dict(SpaceHealth.objects.get(space=self.space).signals[signal])

    def open(self) -> dict[str, str]:
        return dict(Warning.objects.filter(space=self.space, cleared_at=None).values_list("signal", "severity"))

    def told(self) -> list[tuple[str, str]]:
        """What the log says about warnings, in order."""
        return list(Event.objects.filter(kind__startswith="warning.").order_by("id").values_list("kind", "subject"))


@pytest.fixture
def traveller() -> Iterator[Any]:
    with time_machine.travel(BEGIN, tick=False) as found:
        yield found


@pytest.fixture
def ward(traveller: Any, transactional_db: None) -> MeasuredSpace:
    from accounts import agents
    from accounts.principals import shell

    agents.create_space(shell(), name="home")
    return MeasuredSpace(Space.objects.get(name="home"), traveller)


@pytest.fixture
def now() -> Callable[[], datetime]:
    return clock.now
