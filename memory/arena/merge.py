"""Background job of arenas: write a new base to disk when the delta has grown large."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from fluxcore import jobs
from fluxcore.db_errors import error_place
from fluxcore.writes import booth, write_locks

log = logging.getLogger(__name__)

KIND = "arena.merge"


def request_merge(space: int) -> None:
    """Request a new base from the worker; one job, however many processes request it."""
    booth.write(lambda: jobs.enqueue(KIND, space=space, once_key=f"space:{space}"), lane=write_locks.lock_name(space))


def request_merge_soon(space: int) -> None:
    """`request_merge` in a thread, for a recall, which must not wait for a write."""
    threading.Thread(target=_request_in_thread, args=[space], name=f"arena-{space}", daemon=True).start()


def _request_in_thread(space: int) -> None:
    try:
        request_merge(space)
    except Exception as error:
        log.warning("the merge of space %d's arena could not be requested: %s", space, error_place(error))
    finally:
        connection.close()


@jobs.handler(KIND)
def merge(run: jobs.Run) -> jobs.Apply | None:
    """Write a new generation of files. Nothing is applied to the database; files appear complete or not at all."""
    from memory.arena.cache import arena_cache  # numpy is loaded when this runs, not when a process starts

    if run.space is not None:
        run.say(f"Generation {arena_cache().write(run.space)} written.")
    return None
