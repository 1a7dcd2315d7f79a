"""When a grain changes by itself. Pure: numbers in, a verdict with the numbers that made it out.

    quarantined   QUARANTINE_CORRECTION_COUNT corrections, or less than QUARANTINE_USEFULNESS_THRESHOLD of
                  QUARANTINE_MIN_RETRIEVALS judged recalls were useful, in the judgement of more than one agent, of a
                  person, or of whoever stored it
    active        quarantined by rule, and what spoke for that no longer does: votes were taken back
    dormant       no link of WEIGHT_FLOOR or more leads to it, and no recall returned it for DORMANCY_UNUSED_DAYS
    archived      dormant for DORMANCY_LIMIT_DAYS, or quarantined by rule for QUARANTINE_PERIOD_DAYS
    core          useful through PROMOTION_THRESHOLD clusters
    working       core by rule, and useful through two clusters less, or through none for DEMOTION_UNUSED_DAYS

What a person pinned or said never becomes dormant; what a person pinned or confirmed is never quarantined; what a
person decided no rule takes back.
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
# Why something changed, in one word or two.
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

# Clusters less than made it core that a grain may be useful through and stay core: no flicker at the edge.
HYSTERESIS = 1
DAY = 86_400.0


@dataclass(frozen=True)
class GrainFacts:
    """What is known of a grain when it is judged. Days are whole or broken; None: never, or not by a rule."""

    status: str
    decay_class: int
    pinned: bool
    authority: int
    strongest: float  # of the links to it and, between grains, from it: signals travel both ways
    unused_days: float  # since a recall returned it, or it was stored, said or brought back
    status_days: float | None = None  # since a rule gave it its status; None: it was a person, or an agent
    class_by_rule: bool = False
    class_by_hand: bool = False
    judged: int = 0  # questions it was judged for, each asker's once, one asker's within a bound
    useful: int = 0  # of these
    corrections: int = 0
    spread: int = 0  # clusters it is useful through
    useful_days: float | None = None  # since the last useful vote


@dataclass(frozen=True)
class LifecycleVerdict:
    after: str
    why: str
    numbers: dict[str, Any]


def next_status(known: GrainFacts) -> LifecycleVerdict | None:
    """What its status should be instead, if it should change."""
    here = config.current()
    if known.status == ACTIVE:
        return _quarantine(known) or _dormant(known)
    if known.status == DORMANT and _over(known.status_days, here.DORMANCY_LIMIT_DAYS):
        numbers = {"days": _round(known.status_days), "limit": here.DORMANCY_LIMIT_DAYS}
        return LifecycleVerdict(ARCHIVED, LONG_DORMANT, numbers)
    if known.status == QUARANTINED and known.status_days is not None and _quarantine(known) is None:
        return LifecycleVerdict(ACTIVE, ACQUITTED, {"judged": known.judged, "useful": known.useful})
    if known.status == QUARANTINED and _over(known.status_days, here.QUARANTINE_PERIOD_DAYS):
        # Out of sight for ever would be as good as lost: from here on it is found last, and use brings it back.
        numbers = {"days": _round(known.status_days), "limit": here.QUARANTINE_PERIOD_DAYS}
        return LifecycleVerdict(ARCHIVED, WAITED, numbers)
    return None


def bound_per_agent(limit: int) -> int:
    """Of what it takes to put a grain away, what one agent counts for that did not store it: half."""
    return (limit + 1) // 2


def _quarantine(known: GrainFacts) -> LifecycleVerdict | None:
    here = config.current()
    if known.pinned or known.authority <= origins.RANK["user_confirmed"]:
        return None
    numbers: dict[str, Any]
    if known.corrections >= here.QUARANTINE_CORRECTION_COUNT:
        numbers = {"corrections": known.corrections, "limit": here.QUARANTINE_CORRECTION_COUNT}
        return LifecycleVerdict(QUARANTINED, CORRECTED, numbers)
    usefulness = known.useful / known.judged if known.judged else 1.0
    if known.judged >= here.QUARANTINE_MIN_RETRIEVALS and usefulness < here.QUARANTINE_USEFULNESS_THRESHOLD:
        numbers = {
            "judged": known.judged,
            "useful": known.useful,
            "usefulness": _round(usefulness),
            "limit": here.QUARANTINE_USEFULNESS_THRESHOLD,
        }
        return LifecycleVerdict(QUARANTINED, USELESS, numbers)
    return None


def _dormant(known: GrainFacts) -> LifecycleVerdict | None:
    here = config.current()
    if is_exempt(pinned=known.pinned, authority=known.authority):
        return None
    if known.strongest >= here.WEIGHT_FLOOR or known.unused_days < here.DORMANCY_UNUSED_DAYS:
        return None
    numbers = {
        "strongest": round(known.strongest, 4),
        "floor": here.WEIGHT_FLOOR,
        "unused_days": _round(known.unused_days),
        "limit": here.DORMANCY_UNUSED_DAYS,
    }
    return LifecycleVerdict(DORMANT, FADED, numbers)


def is_exempt(*, pinned: bool, authority: int) -> bool:
    """What a person pinned, said or confirmed: time alone neither puts it aside nor cuts what leads to it."""
    return pinned or authority <= origins.RANK["user_stated"]


def next_decay_class(known: GrainFacts) -> LifecycleVerdict | None:
    """What its class should be instead, if it should change."""
    here = config.current()
    if known.status != ACTIVE:
        return None
    numbers: dict[str, Any] = {"clusters": known.spread, "limit": here.PROMOTION_THRESHOLD}
    if known.decay_class != DecayClass.CORE:
        if known.class_by_hand:
            return None
        return LifecycleVerdict(CORE, WIDE, numbers) if known.spread >= here.PROMOTION_THRESHOLD else None
    if not known.class_by_rule:
        return None
    if known.spread < here.PROMOTION_THRESHOLD - HYSTERESIS:
        return LifecycleVerdict(WORKING, NARROW, numbers)
    if _over(known.useful_days, here.DEMOTION_UNUSED_DAYS):
        return LifecycleVerdict(
            WORKING, NARROW, {"days": _round(known.useful_days), "limit": here.DEMOTION_UNUSED_DAYS}
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
    """Which conduits have fallen below the floor and were not used for CLEANUP_STALE_HOURS."""
    here = config.current()
    left = decay.effective_weight(
        weight, used=used, made=made, decay_class=decay_class, now=now, fading=decay_settings.current()
    )
    return (left < here.WEIGHT_FLOOR) & (used <= now - here.CLEANUP_STALE_HOURS * decay.HOUR)


def is_deletion_due(*, lived: float, seconds: float) -> bool:
    """Whether a deletion can be carried out: by the time the instance lived, and by its clock unless that went back."""
    window = config.current().PURGE_UNDO_WINDOW_HOURS * decay.HOUR
    return lived >= window and (seconds >= window or seconds < 0)


def _over(days: float | None, limit: float) -> bool:
    return days is not None and days >= limit


def _round(number: float | None) -> float:
    return round(float(number or 0.0), 2)
