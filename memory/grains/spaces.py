"""Requests of a job for every space of the instance."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Space


def numbers() -> list[int]:
    return list(Space.objects.order_by("id").values_list("id", flat=True))


def in_each_space(ask: Callable[[int], object]) -> Callable[[], None]:
    """Request a job for every space of the instance."""

    def each() -> None:
        for space in numbers():
            ask(space)

    return each
