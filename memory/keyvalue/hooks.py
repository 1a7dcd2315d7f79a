"""Functions that other rooms register to learn of changes of recallable keys, inside the write that makes the change.

What is registered may add rows and jobs to the running write, and nothing slower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class KeyHooks:
    """Registered functions, by the change that they are called for; each gets the space and the number of a row."""

    value_changed: list[Callable[[int, int], object]] = field(default_factory=list)
    value_purged: list[Callable[[int, int], object]] = field(default_factory=list)
    place_changed: list[Callable[[int, int], object]] = field(default_factory=list)


registered = KeyHooks()


def value_changed(space: int, item: int) -> None:
    """The value of a recallable key was written or deleted, or has expired."""
    for function in registered.value_changed:
        function(space, item)


def value_purged(space: int, item: int) -> None:
    """A key was purged, whether it is recallable or was it earlier."""
    for function in registered.value_purged:
        function(space, item)


def place_changed(space: int, namespace: int) -> None:
    """Other keys of a namespace are recallable now, or all its keys were deleted."""
    for function in registered.place_changed:
        function(space, namespace)
