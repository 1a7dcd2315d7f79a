"""Many cases in one test: each begins with the rows and counts that the test had made before the first of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction


def forget_counts_and_arenas() -> None:
    """Drop what a process remembers by a row's number: after a rollback other rows get the same numbers."""
    if (cache := sys.modules.get("memory.arena.cache")) is not None:
        for space in cache.arena_cache().spaces():
            cache.arena_cache().drop(space)
    if (refusals := sys.modules.get("accounts.anonymous_refusals")) is not None:
        refusals._counts.clear()
    if (limits := sys.modules.get("fluxcore.writes.limits")) is not None:
        limits._counted.clear()


@contextmanager
def taken_back() -> Iterator[None]:
    """One case: its rows are rolled back at the end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    forget_counts_and_arenas()


class Cases:
    """Runs cases and collects those that fail, so that one failure does not hide the others.

    with cases.case("GET grains"):
        assert ...
    """

    def __init__(self) -> None:
        self.count, self.failed = 0, dict[str, str]()

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        self.count += 1
        try:
            with taken_back():
                yield
        except AssertionError as error:
            self.failed[name] = str(error).partition("\n")[0]
            forget_counts_and_arenas()
