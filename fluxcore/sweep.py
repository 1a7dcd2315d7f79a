"""What happens once a minute whatever the bell did: due work is run, short-lived rows are let go."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fluxcore import booth, idempotency, jobs, limits

log = logging.getLogger(__name__)

# Rooms add their own minute chores in their `apps.ready`.
_chores: list[Callable[[], object]] = [idempotency.forget_old, limits.forget_old, jobs.forget_old]


def every_minute(chore: Callable[[], object]) -> None:
    if chore not in _chores:
        _chores.append(chore)


def sweep() -> int:
    for chore in _chores:
        try:
            booth.write(chore)
        except Exception as error:
            # One chore that fails must not keep the others, nor the jobs, from their minute.
            log.warning("a minute chore failed: %s", type(error).__name__)
    return jobs.drain()
