"""Names that exist in a space, so that people see what a capability reaches. Rooms that keep named things tell them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from accounts.capabilities import SCOPED, Capabilities
from accounts.capability_reach import OperationReach, find_reach

MAX_NAMES = 12

Provider = Callable[[int, int], list[str]]  # of a space's number, at most so many
_providers: dict[str, Provider] = {}


def register_names(domain: str) -> Callable[[Provider], Provider]:
    """Register who knows the names of a domain: `@names_of("artifacts")`."""

    def register(provider: Provider) -> Provider:
        _providers[domain] = provider
        return provider

    return register


@dataclass(frozen=True)
class ReachedNames:
    """One operation, on real names and on those somebody typed."""

    operation: str
    extent: str  # all, some, none
    names: tuple[str, ...]
    out_of_reach: tuple[str, ...]


@dataclass(frozen=True)
class DomainPreview:
    name: str
    scoped: bool  # whether a glob can narrow it
    nameless: bool  # nothing of it exists here yet
    operations: list[ReachedNames]


def preview_capabilities(held: Capabilities, space: int | None, typed: tuple[str, ...] = ()) -> list[DomainPreview]:
    """What a set of capabilities allows, domain by domain."""
    real = {domain: provider(space, MAX_NAMES) if space is not None else [] for domain, provider in _providers.items()}
    reaches = find_reach(held, [*(name for names in real.values() for name in names), *typed])
    found = []
    for domain, of in groupby(reaches, key=lambda one: one.operation.split(".")[0]):
        names = (*real.get(domain, ()), *(typed if domain in SCOPED else ()))
        found.append(
            DomainPreview(domain, domain in SCOPED, not real.get(domain), [_reached(one, names) for one in of])
        )
    return found


def _reached(one: OperationReach, names: tuple[str, ...]) -> ReachedNames:
    allowed = tuple(name for name in names if one.extent == "all" or name in one.names)
    return ReachedNames(one.operation, one.extent, allowed, tuple(name for name in names if name not in allowed))
