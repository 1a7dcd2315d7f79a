"""A scribe for a space, and a shelf that holds vectors of the scribe's encoder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from tests.arena.scribe import ENCODER, Scribe


@pytest.fixture
def scribe(space: Any) -> Scribe:
    return Scribe(space.pk)


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from memory.arena import shelf as module

    monkeypatch.setattr(module, "encoder_name", lambda: ENCODER)
    yield module.Shelf()
    shutil.rmtree(settings.HOME.arenas, ignore_errors=True)
