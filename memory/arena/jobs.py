"""Jobs of arenas: a new base is written to disk when the delta has grown large."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from fluxcore.db_errors import error_place
from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import HEAVY, job
from fluxcore.writes import booth, write_locks

log = logging.getLogger(__name__)

MERGE = job("arena.merge", "memory.arena.merge.merge", queue=HEAVY)


def ask(space: int) -> None:
    """Request one job that writes a new base, however many processes request it."""
    booth.write(lambda: enqueue(MERGE, space=space, once_key=f"space:{space}"), lock=write_locks.lock_name(space))


def ask_soon(space: int) -> None:
    """The same from a recall, which must not wait for a write."""
    threading.Thread(target=_ask_aside, args=[space], name=f"arena-{space}", daemon=True).start()


def _ask_aside(space: int) -> None:
    try:
        ask(space)
    except Exception as error:
        log.warning("the merge of space %d's arena could not be asked for: %s", space, error_place(error))
    finally:
        connection.close()
