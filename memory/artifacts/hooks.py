"""Functions that other rooms register to learn of changes of stores, inside the write that makes the change.

Verbs of stores call the five functions below before they commit, once for each changed file or range of messages. What
is registered may add rows and jobs to the running write, and nothing slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from memory.artifacts.states import StoreState


@dataclass
class Hooks:
    """Registered functions, by the change that they are called for."""

    file_written: list[Callable[[StoreState, int], object]] = field(default_factory=list)
    messages_appended: list[Callable[[StoreState, int, int], object]] = field(default_factory=list)
    messages_removed: list[Callable[[StoreState, str], object]] = field(default_factory=list)
    messages_restored: list[Callable[[StoreState, str], object]] = field(default_factory=list)
    store_changed: list[Callable[[int], object]] = field(default_factory=list)


registered = Hooks()


def file_written(store: StoreState, file: int) -> None:
    """A file (number of its row) was created, changed, renamed, restored or deleted."""
    for function in registered.file_written:
        function(store, file)


def messages_appended(store: StoreState, first: int, last: int) -> None:
    """Messages with the numbers `first` to `last` were appended."""
    for function in registered.messages_appended:
        function(store, first, last)


def messages_removed(store: StoreState, removal: str) -> None:
    for function in registered.messages_removed:
        function(store, removal)


def messages_restored(store: StoreState, removal: str) -> None:
    for function in registered.messages_restored:
        function(store, removal)


def store_changed(store: int) -> None:
    """A store (number of its row) was deleted or restored, or its `recallable` was changed."""
    for function in registered.store_changed:
        function(store)
