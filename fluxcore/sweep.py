"""What happens once a minute: short-lived rows are let go, what comes round is asked for, due work is run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from django.db import DatabaseError

from fluxcore import jobs, schedule, uptime
from fluxcore.writes import booth, idempotency, limits

log = logging.getLogger(__name__)

# Rooms add their own minute chores in their `apps.ready`.
_chores: list[Callable[[], object]] = [uptime.count_minute]
# Not while the clock is doubted: one that is set ahead for a moment must not make everything old.
_forgetting: list[Callable[[], object]] = [idempotency.forget_old, limits.forget_old, jobs.forget_old]


def every_minute(chore: Callable[[], object]) -> None:
    if chore not in _chores:
        _chores.append(chore)


def sweep() -> int:
    global _last
    _last = time.monotonic()
    with jobs.in_hand() as allowed:
        if not allowed:
            return 0
        for chore in _chores:
            _run(chore)
        for chore in _forgetting:
            _run(chore, unless_doubted=True)
        _ask()
    return jobs.drain()


def _run(chore: Callable[[], object], *, unless_doubted: bool = False) -> None:
    try:
        if unless_doubted and uptime.now().doubt:
            return
        booth.write(chore)
    except Exception as error:
        # One chore that fails must not keep the others, nor the jobs, from their minute.
        log.warning("a minute chore failed: %s", type(error).__name__)


def _ask() -> None:
    try:
        schedule.ask_for_what_is_due()
    except DatabaseError as error:
        log.warning("nothing could be asked for: %s", type(error).__name__)


_last = time.monotonic()


def overdue(seconds: float) -> bool:
    """Whether this process has not swept for so long: the broker that rings the minute may be away."""
    return time.monotonic() - _last > seconds
