"""Registry of what made grains are made from: who may see which of them, and where they are from.

The room that makes a kind of grain registers its `KindSource`. The rooms of memories ask here and know none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from accounts.principals import Principal
from memory.engine.kinds import MADE_KINDS


class KindSource(Protocol):
    """What grains of a kind are made from."""

    def sessions(self, principal: Principal, space: int) -> Collection[str] | None:
        """Sessions of the grains the caller may see: None for all, empty for none."""
        ...

    def tags(self, principal: Principal, space: int) -> Collection[str]:
        """Tags of further grains the caller may see; asked only where `sessions` does not name all."""
        ...

    def address(self, citation: dict[str, Any]) -> str:
        """Address at the REST API of what a citation names."""
        ...

    def citations(
        self, principal: Principal, space: int, grains: Collection[int], as_of: datetime | None = None
    ) -> dict[int, dict[str, Any]]:
        """Where these grains are from; only those the caller may see, and that were not removed.

        With `as_of` only where they were at that time.
        """
        ...


@dataclass(frozen=True)
class VisibleKinds:
    """The kinds of made grains that a recall searches; of one in `sessions` only grains of these sessions or `tags`."""

    kinds: tuple[str, ...] = ()
    sessions: dict[str, Collection[str]] = field(default_factory=dict)
    tags: dict[str, Collection[str]] = field(default_factory=dict)


NONE = VisibleKinds()
_sources: dict[str, KindSource] = {}


def register(kind: str, source: KindSource) -> None:
    if kind not in MADE_KINDS:
        raise ValueError(f"unknown kind of grains: {kind}")
    _sources[kind] = source


def visible(principal: Principal, space: int, kinds: Iterable[str]) -> VisibleKinds:
    """Which made grains of these kinds a caller may see."""
    found, sessions, tags = [], {}, {}
    for kind in kinds:
        source = _sources.get(kind)
        allowed = source.sessions(principal, space) if source is not None else ()
        tagged = source.tags(principal, space) if source is not None and allowed is not None else ()
        if allowed is None or allowed or tagged:
            found.append(kind)
        if allowed is not None and (allowed or tagged):
            sessions[kind], tags[kind] = allowed, tagged
    return VisibleKinds(tuple(found), sessions, tags)


def citations(
    principal: Principal, space: int, grains: Iterable[tuple[int, str]], as_of: datetime | None = None
) -> dict[int, dict[str, Any]]:
    """Where made grains are from, by number; those missing here may not be shown. `grains`: number and kind."""
    by_kind: dict[str, list[int]] = {}
    for number, kind in grains:
        if kind in _sources:
            by_kind.setdefault(kind, []).append(number)
    found: dict[int, dict[str, Any]] = {}
    for kind, numbers in by_kind.items():
        found |= _sources[kind].citations(principal, space, numbers, as_of)
    return found


def address(kind: str, citation: dict[str, Any]) -> str:
    """Address at the REST API of what a citation names."""
    return _sources[kind].address(citation)
