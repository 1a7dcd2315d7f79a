"""Clock of expiry: decides for all processes which keys, locks and claims have expired. It never goes back or jumps.

It is the machine's steady clock, which also counts while the machine sleeps, plus an offset that all processes share
through a row of `ExpiryClock`. The row is made at the first write after the machine was switched on, from the wall
clock (PostgreSQL: the database's) but never below the latest time that was known to be true. Setting the wall clock
later changes no lifetime. A wall clock that stays ahead for `CLOCK_DOUBT_HOURS` is followed, forward only (`adjust`).
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.db.models import Max

from fluxcore import clock, config, uptime
from fluxcore.clock import boot as boot
from fluxcore.clock import steady as steady
from memory.keyvalue.models import ExpiryClock

# Up to so far ahead, the wall clock is followed at once: somebody corrected it.
NEAR_SECONDS = 60.0


def wall() -> float:
    """Seconds of the wall clock; with PostgreSQL the database's, because several machines may share it."""
    if connection.vendor != "postgresql":
        return clock.seconds()
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8")
        return float(cursor.fetchone()[0])


def now(ahead: float | None) -> float:
    """Current time by an offset the caller has read; None: this boot has no row yet."""
    return (ahead if ahead is not None else _first_ahead()) + steady()


def current() -> float:
    """Current time by the stored offset."""
    return now(ExpiryClock.objects.filter(pk=boot()).values_list("ahead", flat=True).first())


def begin() -> float:
    """Create this boot's row inside a write and return its offset; of two writers at once the first one's counts."""
    reached, steady_now = _reached(), steady()
    latest = max(wall(), reached)
    # A clock that jumped while the machine was off is not yet known to be true.
    defaults = {"ahead": latest - steady_now, "reached": reached if uptime.now().doubt else latest}
    return ExpiryClock.objects.get_or_create(boot=boot(), defaults=defaults)[0].ahead


def _first_ahead() -> float:
    return max(wall(), _reached()) - steady()


def _reached() -> float:
    """The latest time that was known to be true, in any boot."""
    return ExpiryClock.objects.aggregate(latest=Max("reached"))["latest"] or 0.0


def adjust() -> None:
    """Compare with the wall clock and correct this boot's offset, inside a write; run every minute."""
    row = ExpiryClock.objects.filter(pk=boot()).first()
    if row is None:
        return
    steady_now = steady()
    difference = wall() - (row.ahead + steady_now)
    ahead, wandered = row.ahead, row.wandered
    if 0 < difference <= NEAR_SECONDS:
        ahead, wandered = row.ahead + difference, None
    elif difference > NEAR_SECONDS:
        # The wall clock was set forward: followed once it has stayed so for as long as clocks are doubted.
        wandered = steady_now if wandered is None else wandered
        if steady_now - wandered >= config.current().CLOCK_DOUBT_HOURS * 3600:
            ahead, wandered = row.ahead + difference, None
    elif difference < -NEAR_SECONDS and row.reached <= row.ahead + steady_now + difference:
        # The wall clock was set back, and no later time was ever known to be true: this boot began too far ahead.
        ahead, wandered = row.ahead + difference, None
    else:
        wandered = None
    reached = row.reached if uptime.now().doubt else max(row.reached, ahead + steady_now)
    ExpiryClock.objects.filter(pk=row.pk, ahead=row.ahead).update(ahead=ahead, reached=reached, wandered=wandered)


def rfc3339(seconds: float | None) -> str | None:
    """A time of this clock as answers show it."""
    return clock.rfc3339(datetime.fromtimestamp(seconds, UTC)) if seconds is not None else None
