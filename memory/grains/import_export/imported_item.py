"""Validated input of one imported grain: every field checked, its origin limited to the maximum provenance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts import origins
from fluxcore.errors import Invalid
from memory.grains import grain_input
from memory.grains.models import DecayClass, Grain

# Fields beside those of a store that another memory knows about a grain.
IMPORT_FIELDS = (
    "recorded_at",
    "status",
    "decay_class",
    "pinned",
    "confidence",
    "authority",
    "corroborations",
    "writer",
)
FIELDS = (*grain_input.FIELDS, *IMPORT_FIELDS)
_CLASSES = {kind.name.lower(): kind for kind in DecayClass}
_STATUSES = tuple(one for one in Grain.Status.values if one != Grain.Status.PENDING_DELETION)
_MOST = 1_000_000  # corroborations of one grain


@dataclass(frozen=True)
class ImportedItem:
    item: grain_input.GrainInput
    claimed: str | None
    recorded_at: datetime | None  # None: now
    status: str
    decay_class: int
    pinned: bool
    confidence: float
    authority: int
    corroborations: int
    label: str  # its writer in the other memory

    @property
    def capped(self) -> bool:
        return self.claimed is not None and self.claimed != self.item.origin


def check_imported_item(given: Any, *, ceiling: str) -> ImportedItem:
    """Validate an imported grain; raises Invalid with the name of the field."""
    if not isinstance(given, dict):
        raise Invalid("Each item must be an object with content.", field="items")
    claimed = given.get("provenance")
    if claimed is not None and not isinstance(claimed, str):
        raise Invalid("provenance must be a text.", field="provenance")
    origin = origins.capped(claimed, ceiling=ceiling)
    fields = {name: value for name, value in given.items() if name not in IMPORT_FIELDS and name != "provenance"}
    item = grain_input.check_grain_input(fields, ceiling=ceiling, origin=origin)
    recorded = given.get("recorded_at")
    return ImportedItem(
        item,
        claimed,
        None if recorded is None else grain_input.parse_time(recorded, name="recorded_at"),
        _one_of(given, "status", _STATUSES, "active"),
        _CLASSES[_one_of(given, "decay_class", tuple(_CLASSES), "working")],
        _is(given, "pinned", bool, False),
        _number(given, "confidence", 1.0, 1.0),
        # Never higher than that of its origin: a grain derived from a lower authority keeps the lower one.
        origins.RANK[origins.lowest(origin, _one_of(given, "authority", origins.AUTHORITY, origin))],
        int(_number(given, "corroborations", 0, _MOST)),
        _is(given, "writer", str, "")[:128],
    )


def _one_of(given: dict[str, Any], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in allowed:
        raise Invalid(f"{name} must be one of {', '.join(allowed)}.", field=name)
    return value


def _is(given: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, str) and not value.isprintable()):
        raise Invalid(f"{name} must be {'true or false' if kind is bool else 'a printable text'}.", field=name)
    return value


def _number(given: dict[str, Any], name: str, default: float, most: float) -> float:
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Invalid(f"{name} must be a number.", field=name)
    return min(max(float(value), 0.0), most)
