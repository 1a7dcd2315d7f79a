"""Uptime of the instance, independent of clock jumps, so that a wrong clock deletes nothing.

The sweep adds the time since the last sweep, two minutes at most. So a clock that is set ten years ahead adds two
minutes, and a machine that was off adds nothing. After a jump the clock is not trusted until the instance has run for
CLOCK_DOUBT_HOURS.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fluxcore import clock, config
from fluxcore.models import UptimeClock

# Most seconds added by one sweep: a late sweep counts whole; anything longer is a pause or a clock that was set.
MOST_AT_ONCE = 120.0
_ONE = 1


@dataclass(frozen=True)
class Uptime:
    """Seconds the instance has run, and why its clock is not trusted; empty if it is."""

    seconds: float
    doubt: str = ""


def count_minute() -> None:
    """Add to the uptime, once a minute, inside a write. Of two concurrent workers only one adds."""
    now = clock.now()
    seen = UptimeClock.objects.filter(pk=_ONE).first()
    if seen is None:
        UptimeClock.objects.get_or_create(pk=_ONE, defaults={"at": now})
        return
    step = (now - seen.at).total_seconds()
    jumped = _jumped(step)
    UptimeClock.objects.filter(pk=_ONE, at=seen.at).update(
        at=now,
        lived=seen.lived + min(max(step, 0.0), MOST_AT_ONCE),
        doubted=seen.lived if jumped else seen.doubted,
        jump=step if jumped else seen.jump,
    )


def now(moment: datetime | None = None) -> Uptime:
    """How long the instance has run, and whether its clock can be trusted now."""
    moment = moment or clock.now()
    seen = UptimeClock.objects.filter(pk=_ONE).first()
    if seen is None:
        return Uptime(0.0)
    step = (moment - seen.at).total_seconds()
    if _jumped(step):  # no sweep has run since the jump
        return Uptime(seen.lived, _doubt(step))
    if seen.doubted is not None and seen.lived - seen.doubted < config.current().CLOCK_DOUBT_HOURS * 3600:
        return Uptime(seen.lived, _doubt(seen.jump))
    return Uptime(seen.lived)


def _jumped(step: float) -> bool:
    return abs(step) > config.current().CLOCK_JUMP_HOURS * 3600


def _doubt(step: float) -> str:
    return (
        f"The clock moved by {step / 86_400:+.1f} days since the minute before, or the instance was off that long. "
        f"Nothing is deleted until the instance has run {config.current().CLOCK_DOUBT_HOURS:g} more hours."
    )
