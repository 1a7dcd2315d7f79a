"""The one clock that decides what has expired: it does not go backwards and does not jump.

A wall clock does both. So this one is the machine's steady clock (which counts on while the machine sleeps) and a
number of seconds ahead of it that all processes share through a row. The row is made when the machine was switched
on, from the wall clock (PostgreSQL: the database's own) but never below the latest moment that was known to be
true. After that the wall clock may be set as it likes: a lifetime of ten minutes lasts ten minutes. What it says
for long enough is believed in the end, forward only (`wind`).
"""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.db.models import Max

from fluxcore import clock, config, uptime
from fluxcore.clock import boot as boot
from fluxcore.clock import steady as steady
from memory.keyvalue.models import Clockwork

# A wall clock this near is being set right, not wrong.
NEAR_SECONDS = 60.0


def wall() -> float:
    """What the clock on the wall says; where many machines share a database, the one wall is the database's."""
    if connection.vendor != "postgresql":
        return clock.seconds()
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8")
        return float(cursor.fetchone()[0])


def now(ahead: float | None) -> float:
    """The moment, by the row the caller has read along (None: there is none yet)."""
    return (ahead if ahead is not None else _first_ahead()) + steady()


def current() -> float:
    return now(Clockwork.objects.filter(pk=boot()).values_list("ahead", flat=True).first())


def begin() -> float:
    """Make this boot's row, inside a write; of two at once the first one's holds. How far ahead it is."""
    reached, here = _reached(), steady()
    latest = max(wall(), reached)
    # A clock that jumped while the machine was off is not yet known to be true.
    defaults = {"ahead": latest - here, "reached": reached if uptime.now().doubt else latest}
    return Clockwork.objects.get_or_create(boot=boot(), defaults=defaults)[0].ahead


def _first_ahead() -> float:
    return max(wall(), _reached()) - steady()


def _reached() -> float:
    """The latest moment that was known to be true, in whatever boot."""
    return Clockwork.objects.aggregate(latest=Max("reached"))["latest"] or 0.0


def wind() -> None:
    """The minute's look at the wall clock, inside a write."""
    row = Clockwork.objects.filter(pk=boot()).first()
    if row is None:
        return
    here = steady()
    off = wall() - (row.ahead + here)
    ahead, wandered = row.ahead, row.wandered
    if 0 < off <= NEAR_SECONDS:
        ahead, wandered = row.ahead + off, None
    elif off > NEAR_SECONDS:
        # Somebody set it forward. It is followed once it has said so for as long as clocks are doubted.
        wandered = here if wandered is None else wandered
        if here - wandered >= config.current().CLOCK_DOUBT_HOURS * 3600:
            ahead, wandered = row.ahead + off, None
    elif off < -NEAR_SECONDS and row.reached <= row.ahead + here + off:
        # Set back, and nothing was ever known to be as late as we are: this boot began with a clock set too far.
        ahead, wandered = row.ahead + off, None
    else:
        wandered = None
    reached = row.reached if uptime.now().doubt else max(row.reached, ahead + here)
    Clockwork.objects.filter(pk=row.pk, ahead=row.ahead).update(ahead=ahead, reached=reached, wandered=wandered)


def told(moment: float | None) -> str | None:
    """As callers read it."""
    return clock.rfc3339(datetime.fromtimestamp(moment, UTC)) if moment is not None else None
