"""Database snapshots: rows are created once and restored for each test, which is faster."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps

from memory.grains import full_text

# What a code or a session says is true for a while only.
FRESH_SECONDS = 60


class Snapshot:
    """Whatever `build` leaves in the database, and what it returns."""

    def __init__(self, build: Callable[[], Any]) -> None:
        self.taken_at = time.monotonic()
        self._noted: list[tuple[int, list[tuple[int, Any]]]] = []
        before = {model: set(model._base_manager.values_list("pk", flat=True)) for model in apps.get_models()}
        with pytest.MonkeyPatch.context() as patch:  # the words of grains are in no model
            note = full_text.index_terms

            def remember(space: int, grains: Any) -> None:
                self._noted.append((space, [(grain, list(keys)) for grain, keys in grains]))
                note(space, self._noted[-1][1])

            patch.setattr(full_text, "index_terms", remember)
            self.built = build()
        self._rows = [
            (model, rows)
            for model, known in before.items()
            if (rows := list(model._base_manager.exclude(pk__in=known)))
        ]

    @property
    def fresh(self) -> bool:
        return time.monotonic() - self.taken_at < FRESH_SECONDS

    def put_back(self) -> Any:
        """Into the transaction of another test; a copy of what was built, since tests change it."""
        for model, rows in self._rows:
            model._base_manager.bulk_create(rows)
        for space, grains in self._noted:
            full_text.index_terms(space, grains)
        return copy.deepcopy(self.built)
