"""Checkpoints on schedule: a minute chore of the worker that nearly always only looks at the clock."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings

from accounts.checkpoints.book import carry, opened
from accounts.signing import Home
from fluxcore import booth, clock, config
from fluxcore.errors import FluxError

log = logging.getLogger(__name__)

_looked: float | None = None  # monotonic time


def when_due() -> None:
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    if minutes and (_looked is None or time.monotonic() - _looked >= minutes * 60):
        # After the commit: nobody's write waits for signatures and disks.
        booth.slip().after_commit(lambda: _make_in_turn(timedelta(minutes=minutes)))


def _make_in_turn(interval: timedelta) -> None:
    """One worker of many: whoever finds that the newest line is old enough."""
    global _looked
    _looked = time.monotonic()
    home: Home = settings.HOME
    try:
        with opened(home) as book:
            newest = clock.parse(book.log.lines[-1].at) if book.log.lines else None
            # The sweep is never exactly on time. A line from the future is a wrong clock's: it ends no schedule.
            if newest is None or not timedelta(0) <= clock.now() - newest < interval - timedelta(seconds=30):
                book.checkpoint()
    except FluxError as error:
        log.critical("no checkpoint was made: %s", error.message)
    carry(home)
