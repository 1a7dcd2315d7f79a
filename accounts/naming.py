"""Names that exist in a space, so that people see what a capability reaches. Rooms that keep named things tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from accounts.capabilities import SCOPED, Capabilities
from accounts.preview import Reach, preview

MOST_NAMES = 12

Provider = Callable[[int, int], list[str]]  # of a space's number, at most so many
_providers: dict[str, Provider] = {}


def names_of(domain: str) -> Callable[[Provider], Provider]:
    """Register who knows the names of a domain: `@names_of("artifacts")`."""

    def register(provider: Provider) -> Provider:
        _providers[domain] = provider
        return provider

    return register


@dataclass(frozen=True)
class Reached:
    """One operation, on real names and on those somebody typed."""

    operation: str
    extent: str  # all, some, none
    names: tuple[str, ...]
    out_of_reach: tuple[str, ...]


@dataclass(frozen=True)
class Domain:
    name: str
    scoped: bool  # whether a glob can narrow it
    nameless: bool  # nothing of it exists here yet
    operations: list[Reached]


def shown(held: Capabilities, space: int | None, typed: tuple[str, ...] = ()) -> list[Domain]:
    """What a set of capabilities allows, domain by domain."""
    real = {domain: provider(space, MOST_NAMES) if space is not None else [] for domain, provider in _providers.items()}
    reaches = preview(held, [*(name for names in real.values() for name in names), *typed])
    found = []
    for domain, of in groupby(reaches, key=lambda one: one.operation.split(".")[0]):
        names = (*real.get(domain, ()), *(typed if domain in SCOPED else ()))
        found.append(Domain(domain, domain in SCOPED, not real.get(domain), [_reached(one, names) for one in of]))
    return found


def _reached(one: Reach, names: tuple[str, ...]) -> Reached:
    allowed = tuple(name for name in names if one.extent == "all" or name in one.names)
    return Reached(one.operation, one.extent, allowed, tuple(name for name in names if name not in allowed))
