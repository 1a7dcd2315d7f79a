"""Preview of capabilities on names that exist in a space. Packages register providers of their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from accounts.capabilities import SCOPED, Capabilities
from accounts.capability_reach import OperationReach, find_reach

MAX_NAMES = 12

Provider = Callable[[int, int], list[str]]  # (number of the space, most names) -> names
_providers: dict[str, Provider] = {}


def register_names(domain: str) -> Callable[[Provider], Provider]:
    """Decorator that registers the provider of a domain's names: `@register_names("artifacts")`."""

    def register(provider: Provider) -> Provider:
        _providers[domain] = provider
        return provider

    return register


@dataclass(frozen=True)
class ReachedNames:
    """Existing and typed names that one operation allows or does not allow."""

    operation: str
    extent: str  # all, some, none
    names: tuple[str, ...]
    out_of_reach: tuple[str, ...]


@dataclass(frozen=True)
class DomainPreview:
    """Preview of all operations of one domain."""

    name: str
    scoped: bool  # whether a glob can limit it
    nameless: bool  # whether no names exist in the space yet
    operations: list[ReachedNames]


def preview_capabilities(held: Capabilities, space: int | None, typed: tuple[str, ...] = ()) -> list[DomainPreview]:
    """Preview a set of capabilities by domain."""
    real = {domain: provider(space, MAX_NAMES) if space is not None else [] for domain, provider in _providers.items()}
    reaches = find_reach(held, [*(name for names in real.values() for name in names), *typed])
    found = []
    for domain, operations in groupby(reaches, key=lambda reach: reach.operation.split(".")[0]):
        names = (*real.get(domain, ()), *(typed if domain in SCOPED else ()))
        found.append(
            DomainPreview(
                domain, domain in SCOPED, not real.get(domain), [_reached(reach, names) for reach in operations]
            )
        )
    return found


def _reached(reach: OperationReach, names: tuple[str, ...]) -> ReachedNames:
    allowed = tuple(name for name in names if reach.extent == "all" or name in reach.names)
    return ReachedNames(reach.operation, reach.extent, allowed, tuple(name for name in names if name not in allowed))
