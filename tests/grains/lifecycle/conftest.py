"""A memory with a keeper who may manage it, a person, and a clock that can be moved while the instance lives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from accounts import agents, tokens
from accounts.models import Space
from accounts.principals import shell
from fluxcore import uptime
from fluxcore.work import jobs, worker
from fluxcore.writes import booth
from memory.grains.lifecycle import jobs as lifecycle_jobs
from memory.grains.models import Conduit, Grain
from tests.grains.conftest import Memory

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
# Neither names nor numbers: no link leads to these of themselves.
PLAIN = "the kettle whistles when the water boils over"


class AgeingMemory:
    """Days pass minute by minute as far as the instance can tell, and the worker does its rounds."""

    def __init__(self, traveller: Any) -> None:
        self.traveller = traveller
        self.memory = Memory()
        self.space = Space.objects.get(name="home")
        agents.apply_agent(
            shell(),
            space="home",
            name="keeper",
            capabilities=["grains.read", "grains.write", "grains.manage"],
            trust="privileged",
        )
        minted = tokens.mint(shell(), space="home", agent="keeper", ceiling="user_stated")
        self.keeper = tokens.authenticate(str(minted["token"]))

    def pass_days(self, days: float) -> None:
        """Lived days: the clock never jumps, each beat is within what one may count for."""
        moment = datetime.now(UTC) + timedelta(days=days)
        booth.write(uptime.count_minute)
        from fluxcore.models import UptimeClock

        self.traveller.move_to(moment, tick=False)
        UptimeClock.objects.update(at=moment, lived=UptimeClock.objects.get().lived + days * 86_400)

    def jump(self, moment: datetime) -> None:
        """The clock is set, and nothing else happens."""
        self.traveller.move_to(moment, tick=False)

    def rounds(self, *kinds: str) -> None:
        """What the schedule asks for, and the worker doing it."""
        wanted: dict[str, Callable[[], object]] = {
            "clean": lambda: lifecycle_jobs.clean(self.space.pk),
            "age": lambda: lifecycle_jobs.age(self.space.pk),
            "purge": lambda: lifecycle_jobs.purge(self.space.pk),
            "notice": lambda: jobs.enqueue(lifecycle_jobs.RECORD_USE, once_key="instance"),
        }
        for kind in kinds or wanted:
            booth.write(wanted[kind])
            worker.drain()

    def status(self, grain: str) -> str:
        return str(Grain.objects.values_list("status", flat=True).get(uuid=grain))

    def number(self, grain: str) -> int:
        return int(Grain.objects.values_list("id", flat=True).get(uuid=grain))

    def link(self, start: str, to: str, **given: Any) -> int:
        at = int(datetime.now(UTC).timestamp())
        values = {"relation": 0, "weight": 0.5, "made_at": at, "used_at": at, **given}
        return int(
            Conduit.objects.create(
                space=self.space, from_grain_id=self.number(start), to_grain_id=self.number(to), **values
            ).pk
        )


@pytest.fixture
def life(memory: Memory) -> Iterator[AgeingMemory]:
    with time_machine.travel(NOON, tick=False) as traveller:
        one = AgeingMemory(traveller)
        one.memory = memory
        booth.write(uptime.count_minute)
        yield one
