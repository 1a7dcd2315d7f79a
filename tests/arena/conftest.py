"""Fixtures: a writer of grains for one space, and a cache of arenas with the writer's encoder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from tests.arena.graph_writer import ENCODER, GraphWriter


@pytest.fixture
def writer(space: Any) -> GraphWriter:
    return GraphWriter(space.pk)


@pytest.fixture
def arena_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from memory.arena import cache as module

    monkeypatch.setattr(module, "encoder_name", lambda: ENCODER)
    yield module.ArenaCache()
    shutil.rmtree(settings.HOME.arenas, ignore_errors=True)
