"""Follows changes of recallable keys: each asks, in the same write, for the indexing of its value."""

from __future__ import annotations

from memory.keyvalue import hooks
from memory.passages import jobs
from memory.passages.models import ValueSource


def _purged(space: int, item: int) -> None:
    if ValueSource.objects.filter(item=item).exists():
        jobs.ask_to_erase_value(space, item)


def register() -> None:
    hooks.registered.value_changed.append(jobs.ask_for_value)
    hooks.registered.value_purged.append(_purged)
    hooks.registered.place_changed.append(jobs.ask_for_place)
