"""From readings to warnings: one bad reading is chance, several in a row are news, and so are as many good ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from memory.health.signals import CRITICAL, INFO, WARNING, Reading, State

RAISED, RERAISED, CLEARED, ONGOING, QUIET = "raised", "re-raised", "cleared", "ongoing", "quiet"
_ORDER = (INFO, WARNING, CRITICAL)


@dataclass(frozen=True)
class Held:
    """What is remembered of a signal between two measurements."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    state: str = State.IDLE.value
    bad: int = 0  # readings outside in a row
    good: int = 0  # inside in a row, while a warning is open
    severity: str = ""  # of the open warning; "" for none
    times: int = 0  # warnings so far
    alerted: int = 0  # when the webhook was last asked for, in seconds since 1970

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Held:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in kept.items() if name in known})

    def kept(self) -> dict[str, Any]:
        return asdict(self)


def step(before: Held, reading: Reading) -> tuple[Held, str]:
    """What is held after one more reading, and what that means for the signal's warning."""
    now = {
        "value": reading.value,
        "low": reading.low,
        "high": reading.high,
        "state": reading.state.value,
        "times": before.times,
        "alerted": before.alerted,
    }
    if reading.state.bad:
        bad = before.bad + 1
        if before.severity:
            worse = _ORDER.index(reading.severity) > _ORDER.index(before.severity)
            severity = reading.severity if worse else before.severity
            return Held(**now, bad=bad, severity=severity), RERAISED if worse else ONGOING
        if bad < reading.signal.dwell:
            return Held(**now, bad=bad), QUIET
        now["times"] = before.times + 1
        return Held(**now, bad=bad, severity=reading.severity), RERAISED if before.times else RAISED
    if not before.severity:
        return Held(**now), QUIET
    good = before.good + 1
    if good <= reading.signal.dwell:
        return Held(**now, good=good, severity=before.severity), ONGOING
    return Held(**now), CLEARED


def overall(open_warnings: list[tuple[str, bool]]) -> str:
    """By the severities of open warnings; one that somebody has acknowledged is known and no longer news."""
    severities = {severity for severity, acknowledged in open_warnings if not acknowledged}
    return "critical" if CRITICAL in severities else "warning" if WARNING in severities else "healthy"
