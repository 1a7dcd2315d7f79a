"""Arithmetic of rate limits: counts per second over a sliding minute, without where they are stored.

Each caller of an agent (`X-Caller-Id`) has a share inside the total of the agent. All counts of an agent are in one
window, by second and by a digest of the label, so that both limits are checked in one read and counted in one write. A
window has at most MOST_LABELS labels at a time; further labels share one place.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

WINDOW = 60  # seconds
MOST_LABELS = 256  # labels of one agent that have their own share in the same minute
OTHERS = "*"  # the place shared by labels above MOST_LABELS


def wait_for(counts: dict[str, int], now: float, cost: int, limit: int) -> float:
    """Seconds until `cost` more fit under `limit`; 0 = now.

    A second counts until all of it has left the window, so the limit is never exceeded and the wait is too long by
    less than a second. Seconds in the future (from a clock that was set back) are ignored if they are more than a
    window ahead.
    """
    alive = sorted((_second_of(field), count) for field, count in counts.items() if is_alive(field, now))
    total = sum(count for _, count in alive)
    wait = 0.0
    for second, count in alive:
        if total + cost <= limit:
            break
        total -= count
        wait = second + 1 + WINDOW - now
    return wait


def is_alive(field: str, now: float) -> bool:
    """Whether the second of a field is still in the window."""
    second = _second_of(field)
    return now - WINDOW < second + 1 <= now + 1 + WINDOW


def add_count(counts: dict[str, int], now: float, cost: int, place: str = "") -> dict[str, int]:
    """The counts with `cost` more in this second, without those that have left the window."""
    kept = {field: count for field, count in counts.items() if is_alive(field, now)}
    field = f"{int(now)}/{place}" if place else str(int(now))
    kept[field] = kept.get(field, 0) + cost
    return kept


def _second_of(field: str) -> int:
    """The second of a window's field, which is a second or a second and the digest of a label: 1800000000/5f1d…"""
    return int(field.partition("/")[0])


def digest(label: str) -> str:
    """Digest of a label for a window, because labels may be long and contain anything; "" without a label."""
    return hashlib.blake2b(label.encode(), digest_size=6).hexdigest() if label else ""


def place_of(counts: Mapping[str, int], now: float, label: str) -> str:
    """Place where a label counts: its digest, or OTHERS if the window has too many labels already.

    While OTHERS has counts, no new label gets its own place, because its earlier counts may be in OTHERS.
    """
    if not label:
        return ""
    known = {field.partition("/")[2] for field in counts if is_alive(field, now)} - {""}
    return label if label in known or (OTHERS not in known and len(known) < MOST_LABELS) else OTHERS


def share_of(counts: Mapping[str, int], place: str) -> dict[str, int]:
    """The counts of one place of the window."""
    return {field: count for field, count in counts.items() if field.partition("/")[2] == place}


def any_alive(counts: dict[str, int], now: float) -> bool:
    return any(is_alive(field, now) for field in counts)


class LimitUse(NamedTuple):
    """Use of a limit in the last minute: in total, and by the label that has used most."""

    total: int
    busiest: int


def sum_alive(counts: Mapping[str, int], now: float) -> LimitUse:
    by_place: Counter[str] = Counter()
    for field, count in counts.items():
        if is_alive(field, now):
            by_place[field.partition("/")[2]] += int(count)
    return LimitUse(by_place.total(), max(by_place.values(), default=0))
