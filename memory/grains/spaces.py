"""Every space of the instance, for jobs that are asked for in each."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Space


def numbers() -> list[int]:
    return list(Space.objects.order_by("id").values_list("id", flat=True))


def in_each_space(ask: Callable[[int], object]) -> Callable[[], None]:
    """Ask for every space of the instance."""

    def each() -> None:
        for space in numbers():
            ask(space)

    return each
