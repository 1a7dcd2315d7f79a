"""Scheduled checkpoints: once a minute the worker checks whether one is due."""

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

_last_check: float | None = None  # monotonic time


def checkpoint_if_due() -> None:
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    if minutes and (_last_check is None or time.monotonic() - _last_check >= minutes * 60):
        # After the commit, so that no write waits for signatures and disks.
        booth.outbox().after_commit(lambda: _make_if_due(timedelta(minutes=minutes)))


def _make_if_due(interval: timedelta) -> None:
    """Make a checkpoint if the newest line is older than the interval; of several workers one makes it."""
    global _last_check
    _last_check = time.monotonic()
    home: KeyHome = settings.HOME
    try:
        with open_writer(home) as writer:
            newest = clock.parse(writer.log.lines[-1].at) if writer.log.lines else None
            # The sweep is not exact to the second. A line from the future (of a wrong clock) counts as old.
            if newest is None or not timedelta(0) <= clock.now() - newest < interval - timedelta(seconds=30):
                writer.checkpoint()
    except FluxError as error:
        log.critical("no checkpoint was made: %s", error.message)
    copy_outside(home)
