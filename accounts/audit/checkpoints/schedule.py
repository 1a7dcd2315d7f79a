"""Checkpoints on schedule: once a minute the worker looks whether the last one is old enough."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.conf import settings

from accounts.audit.checkpoints.writer import copy_outside, open_writer
from accounts.audit.signing import KeyHome
from fluxcore import clock, config
from fluxcore.errors import FluxError
from fluxcore.writes import booth

log = logging.getLogger(__name__)

_looked: float | None = None  # monotonic time


def checkpoint_if_due() -> None:
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    if minutes and (_looked is None or time.monotonic() - _looked >= minutes * 60):
        # After the commit: nobody's write waits for signatures and disks.
        booth.outbox().after_commit(lambda: _make_in_turn(timedelta(minutes=minutes)))


def _make_in_turn(interval: timedelta) -> None:
    """One worker of many: whoever finds that the newest line is old enough."""
    global _looked
    _looked = time.monotonic()
    home: KeyHome = settings.HOME
    try:
        with open_writer(home) as book:
            newest = clock.parse(book.log.lines[-1].at) if book.log.lines else None
            # The sweep is never exactly on time. A line from the future is a wrong clock's: it ends no schedule.
            if newest is None or not timedelta(0) <= clock.now() - newest < interval - timedelta(seconds=30):
                book.checkpoint()
    except FluxError as error:
        log.critical("no checkpoint was made: %s", error.message)
    copy_outside(home)
