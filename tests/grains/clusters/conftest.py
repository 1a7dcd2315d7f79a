"""A space with two subjects, and somebody who clusters it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from fluxcore import config
from fluxcore.work import worker
from fluxcore.writes import booth, write_locks
from memory.arena.cache import arena_cache
from memory.clusters import jobs as cluster_jobs
from memory.grains.models import Grain, Member
from tests.arena.graph_writer import GraphWriter


class ClusteredSpace(GraphWriter):
    """Groups of grains that are all linked with each other and share their entries."""

    def group(self, name: str, texts: list[str], entries: tuple[str, ...] = ()) -> list[Grain]:
        made = [self.store(text, entries=entries, vector=False, session=name) for text in texts]
        for place, start in enumerate(made):
            for to in made[place + 1 :]:
                self.link(start, to)
        return made

    def cluster(self) -> None:
        booth.write(
            lambda: cluster_jobs.ask_for_clustering(self.space, anyway=True), lock=write_locks.lock_name(self.space)
        )
        worker.drain()


GARDEN = [
    "The tomatoes need watering twice a week.",
    "Watering at dawn is best for tomatoes.",
    "Compost feeds the tomatoes.",
    "Tomatoes like a sunny bed in the garden.",
    "Pinch the tomatoes in June.",
]
FERRY = [
    "The ferry to Porto leaves at nine.",
    "Buy the ferry tickets early.",
    "The blue ferry is faster than the old one.",
    "Porto has a ferry terminal by the river.",
    "Nobody feeds gulls on the ferry.",
]


def clusters_of(grains: list[Grain]) -> set[int]:
    """The clusters these grains are in."""
    return set(Member.objects.filter(grain__in=grains).values_list("cluster_id", flat=True))


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put values of config.yaml into force."""
    usual = config.current()

    def put(**values: Any) -> None:
        now = replace(usual, **values)
        monkeypatch.setattr(config, "current", lambda: now)

    return put


@pytest.fixture
def town(transactional_db: Any, space: Any) -> Iterator[ClusteredSpace]:
    yield ClusteredSpace(space.pk)
    for one in arena_cache().spaces():
        arena_cache().drop(one)


@pytest.fixture
def two(town: ClusteredSpace) -> tuple[list[Grain], list[Grain]]:
    garden = town.group("garden", GARDEN, ("anna", "garden club", "june"))
    ferry = town.group("ferry", FERRY, ("porto", "harbour", "bo"))
    town.link(garden[0], ferry[0], weight=0.1)
    town.cluster()
    return garden, ferry
