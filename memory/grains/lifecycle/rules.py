"""Lifecycle rules: which status and decay class a grain should have, decided from numbers alone (no database).

    quarantined   QUARANTINE_CORRECTION_COUNT corrections, or less than QUARANTINE_USEFULNESS_THRESHOLD of
                  QUARANTINE_MIN_RETRIEVALS judged recalls were useful, in the judgement of more than one agent, of a
                  person, or of whoever stored it
    active        quarantined by rule, and the votes that caused it were withdrawn
    dormant       no link of WEIGHT_FLOOR or more leads to it, and no recall returned it for DORMANCY_UNUSED_DAYS
    archived      dormant for DORMANCY_LIMIT_DAYS, or quarantined by rule for QUARANTINE_PERIOD_DAYS
    core          useful through PROMOTION_THRESHOLD clusters
    working       core by rule, and useful through two clusters less, or through none for DEMOTION_UNUSED_DAYS

A grain that a person pinned or stated never becomes dormant, one that a person pinned or confirmed is never
quarantined, and no rule undoes a decision of a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from accounts import origins
from fluxcore import config
from memory.engine.graph import decay
from memory.grains import decay_settings
from memory.grains.models import DecayClass, Grain

ACTIVE, DORMANT, ARCHIVED, QUARANTINED, PENDING = (
    Grain.Status.ACTIVE.value,
    Grain.Status.DORMANT.value,
    Grain.Status.ARCHIVED.value,
    Grain.Status.QUARANTINED.value,
    Grain.Status.PENDING_DELETION.value,
)
WORKING, CORE, EPHEMERAL = (one.name.lower() for one in DecayClass)
CLASSES = {WORKING: DecayClass.WORKING.value, CORE: DecayClass.CORE.value, EPHEMERAL: DecayClass.EPHEMERAL.value}
# Stored reasons of changes; `reason_text` is how pages show them.
FADED, LONG_DORMANT, CORRECTED, USELESS, ACQUITTED, WAITED, WIDE, NARROW = (
    "faded",
    "long dormant",
    "corrected",
    "not useful",
    "no reason left",
    "quarantine over",
    "widely useful",
    "no longer so",
)
BY_HAND, USEFUL, SAID_AGAIN = "by hand", "was useful", "said again"
SAME_TEXT = "same text, person's decision"
_REASON_TEXTS = {
    NARROW: "usefulness dropped",
    ACQUITTED: "restored by feedback",
    SAID_AGAIN: "stored again",
    BY_HAND: "manually",
    FADED: "link decayed",
}

# A core grain stays core with this many clusters fewer than PROMOTION_THRESHOLD, so that it does not flip at the limit.
HYSTERESIS = 1
DAY = 86_400.0


@dataclass(frozen=True)
class GrainFacts:
    """Facts about one grain that the rules decide from. Days are fractional; None: never, or not by a rule."""

    status: str
    decay_class: int
    pinned: bool
    authority: int
    strongest: float  # of the links to it and, between grains, from it: signals travel both ways
    unused_days: float  # since a recall returned it, or it was stored, stored again or restored
    status_days: float | None = None  # since a rule gave it its status; None: it was a person, or an agent
    class_by_rule: bool = False
    class_by_hand: bool = False
    judged: int = 0  # questions it was judged for: each caller's once, and a limited number for one caller
    useful: int = 0  # judged questions it was useful for
    corrections: int = 0
    spread: int = 0  # clusters it is useful through
    useful_days: float | None = None  # since the last useful vote


@dataclass(frozen=True)
class LifecycleVerdict:
    after: str
    why: str
    numbers: dict[str, Any]


def reason_text(why: str) -> str:
    """A stored reason as pages and commands show it."""
    return _REASON_TEXTS.get(why, why)


def reason_texts() -> dict[str, str]:
    """All stored reasons that are shown in other words."""
    return dict(_REASON_TEXTS)


def next_status(known: GrainFacts) -> LifecycleVerdict | None:
    """The status that a grain should change to; None if it keeps the one it has."""
    settings = config.current()
    if known.status == ACTIVE:
        return _quarantine(known) or _dormant(known)
    if known.status == DORMANT and _over(known.status_days, settings.DORMANCY_LIMIT_DAYS):
        numbers = {"days": _round(known.status_days), "limit": settings.DORMANCY_LIMIT_DAYS}
        return LifecycleVerdict(ARCHIVED, LONG_DORMANT, numbers)
    if known.status == QUARANTINED and known.status_days is not None and _quarantine(known) is None:
        return LifecycleVerdict(ACTIVE, ACQUITTED, {"judged": known.judged, "useful": known.useful})
    if known.status == QUARANTINED and _over(known.status_days, settings.QUARANTINE_PERIOD_DAYS):
        # Hidden for ever would be as good as lost: an archived grain is found last, and use restores it.
        numbers = {"days": _round(known.status_days), "limit": settings.QUARANTINE_PERIOD_DAYS}
        return LifecycleVerdict(ARCHIVED, WAITED, numbers)
    return None


def bound_per_agent(limit: int) -> int:
    """Most votes counted toward quarantine from one agent that did not store the grain: half of the limit."""
    return (limit + 1) // 2


def _quarantine(known: GrainFacts) -> LifecycleVerdict | None:
    settings = config.current()
    if known.pinned or known.authority <= origins.RANK["user_confirmed"]:
        return None
    numbers: dict[str, Any]
    if known.corrections >= settings.QUARANTINE_CORRECTION_COUNT:
        numbers = {"corrections": known.corrections, "limit": settings.QUARANTINE_CORRECTION_COUNT}
        return LifecycleVerdict(QUARANTINED, CORRECTED, numbers)
    usefulness = known.useful / known.judged if known.judged else 1.0
    if known.judged >= settings.QUARANTINE_MIN_RETRIEVALS and usefulness < settings.QUARANTINE_USEFULNESS_THRESHOLD:
        numbers = {
            "judged": known.judged,
            "useful": known.useful,
            "usefulness": _round(usefulness),
            "limit": settings.QUARANTINE_USEFULNESS_THRESHOLD,
        }
        return LifecycleVerdict(QUARANTINED, USELESS, numbers)
    return None


def _dormant(known: GrainFacts) -> LifecycleVerdict | None:
    settings = config.current()
    if is_exempt(pinned=known.pinned, authority=known.authority):
        return None
    if known.strongest >= settings.WEIGHT_FLOOR or known.unused_days < settings.DORMANCY_UNUSED_DAYS:
        return None
    numbers = {
        "strongest": round(known.strongest, 4),
        "floor": settings.WEIGHT_FLOOR,
        "unused_days": _round(known.unused_days),
        "limit": settings.DORMANCY_UNUSED_DAYS,
    }
    return LifecycleVerdict(DORMANT, FADED, numbers)


def is_exempt(*, pinned: bool, authority: int) -> bool:
    """Whether a person pinned, stated or confirmed the grain: time alone makes it neither dormant nor unlinked."""
    return pinned or authority <= origins.RANK["user_stated"]


def next_decay_class(known: GrainFacts) -> LifecycleVerdict | None:
    """The decay class that a grain should change to; None if it keeps the one it has."""
    settings = config.current()
    if known.status != ACTIVE:
        return None
    numbers: dict[str, Any] = {"clusters": known.spread, "limit": settings.PROMOTION_THRESHOLD}
    if known.decay_class != DecayClass.CORE:
        if known.class_by_hand:
            return None
        return LifecycleVerdict(CORE, WIDE, numbers) if known.spread >= settings.PROMOTION_THRESHOLD else None
    if not known.class_by_rule:
        return None
    if known.spread < settings.PROMOTION_THRESHOLD - HYSTERESIS:
        return LifecycleVerdict(WORKING, NARROW, numbers)
    if _over(known.useful_days, settings.DEMOTION_UNUSED_DAYS):
        return LifecycleVerdict(
            WORKING, NARROW, {"days": _round(known.useful_days), "limit": settings.DEMOTION_UNUSED_DAYS}
        )
    return None


def dead_conduits(
    weight: NDArray[np.float32],
    *,
    used: NDArray[np.int64],
    made: NDArray[np.int64],
    decay_class: NDArray[np.int64],
    now: int,
) -> NDArray[np.bool_]:
    """Mask of conduits below WEIGHT_FLOOR that were not used for CLEANUP_STALE_HOURS."""
    settings = config.current()
    left = decay.effective_weight(
        weight, used=used, made=made, decay_class=decay_class, now=now, fading=decay_settings.current()
    )
    return (left < settings.WEIGHT_FLOOR) & (used <= now - settings.CLEANUP_STALE_HOURS * decay.HOUR)


def is_deletion_due(*, lived: float, seconds: float) -> bool:
    """Whether a deletion is due, by the uptime of the instance and by its clock, unless the clock went back."""
    window = config.current().PURGE_UNDO_WINDOW_HOURS * decay.HOUR
    return lived >= window and (seconds >= window or seconds < 0)


def _over(days: float | None, limit: float) -> bool:
    return days is not None and days >= limit


def _round(number: float | None) -> float:
    return round(float(number or 0.0), 2)
