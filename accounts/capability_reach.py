"""Reach of capabilities: which operations they allow on which names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from accounts.capabilities import OPERATIONS, SCOPED, Capabilities, parsed


@dataclass(frozen=True)
class OperationReach:
    """Whether one operation is allowed for all, some or no names."""

    operation: str
    extent: Literal["all", "some", "none"]
    names: tuple[str, ...] = ()  # allowed ones of the tested names; "some" without any allows only other names


def find_reach(capabilities: Capabilities | Iterable[str], names: Iterable[str]) -> list[OperationReach]:
    """All operations in alphabetical order, with the tested names they allow."""
    held = capabilities if isinstance(capabilities, Capabilities) else parsed(tuple(capabilities))
    shown = tuple(dict.fromkeys(names))
    return [_reach(held, operation, shown) for operation in sorted(OPERATIONS)]


def _reach(held: Capabilities, operation: str, names: tuple[str, ...]) -> OperationReach:
    if held.allow(operation):
        return OperationReach(operation, "all")
    if operation.split(".")[0] not in SCOPED or not held.scoped(operation):
        return OperationReach(operation, "none")
    return OperationReach(operation, "some", tuple(name for name in names if held.allow(operation, name)))
