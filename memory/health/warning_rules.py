"""Rules of warnings: several bad readings in a row raise a warning, several good ones clear it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from memory.health.signals import CRITICAL, INFO, WARNING, ReadingState, SignalReading

RAISED, RERAISED, CLEARED, ONGOING, QUIET = "raised", "re-raised", "cleared", "ongoing", "quiet"
_ORDER = (INFO, WARNING, CRITICAL)


@dataclass(frozen=True)
class SignalStatus:
    """State of a signal that is stored between two measurements."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    state: str = ReadingState.IDLE.value
    bad: int = 0  # readings outside the range in a row
    good: int = 0  # readings inside the range in a row, while a warning is open
    severity: str = ""  # severity of the open warning; "" without one
    times: int = 0  # warnings so far
    alerted: int = 0  # when the webhook was last asked for, in seconds since 1970

    @classmethod
    def of(cls, kept: dict[str, Any]) -> SignalStatus:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in kept.items() if name in known})

    def kept(self) -> dict[str, Any]:
        return asdict(self)


def next_status(earlier: SignalStatus, reading: SignalReading) -> tuple[SignalStatus, str]:
    """State of a signal after one more reading, and the change of its warning."""
    updated = replace(
        earlier, value=reading.value, low=reading.low, high=reading.high, state=reading.state.value, bad=0, good=0
    )
    if reading.state.bad:
        updated = replace(updated, bad=earlier.bad + 1)
        if earlier.severity:
            worse = _ORDER.index(reading.severity) > _ORDER.index(earlier.severity)
            return replace(
                updated, severity=reading.severity if worse else earlier.severity
            ), RERAISED if worse else ONGOING
        if updated.bad < reading.signal.dwell:
            return updated, QUIET
        return replace(
            updated, severity=reading.severity, times=updated.times + 1
        ), RERAISED if earlier.times else RAISED
    if not earlier.severity:
        return updated, QUIET
    if earlier.good < reading.signal.dwell:
        return replace(updated, good=earlier.good + 1), ONGOING
    return replace(updated, severity=""), CLEARED


def overall_status(open_warnings: list[tuple[str, bool]]) -> str:
    """Status of a space by the severities of its open warnings, without acknowledged ones."""
    severities = {severity for severity, acknowledged in open_warnings if not acknowledged}
    return "critical" if CRITICAL in severities else "warning" if WARNING in severities else "healthy"
