"""The background work on arenas: a new base on disk when what came since has grown large."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from fluxcore import booth, jobs, lanes
from fluxcore.faults import place

log = logging.getLogger(__name__)

KIND = "arena.merge"


def ask(space: int) -> None:
    """Have the worker write a new base, once however many processes ask."""
    booth.write(lambda: jobs.enqueue(KIND, space=space, once_key=f"space:{space}"), lane=lanes.of(space))


def ask_soon(space: int) -> None:
    """The same from a recall, which must not wait for a write."""
    threading.Thread(target=_ask_aside, args=[space], name=f"arena-{space}", daemon=True).start()


def _ask_aside(space: int) -> None:
    try:
        ask(space)
    except Exception as error:
        log.warning("the merge of space %d's arena could not be asked for: %s", space, place(error))
    finally:
        connection.close()


@jobs.handler(KIND)
def merge(run: jobs.Run) -> jobs.Apply | None:
    """Nothing of it is in the database, so there is nothing to apply: files appear whole or not at all."""
    from memory.arena.shelf import shelf  # numpy is loaded when this runs, not when a process starts

    if run.space is not None:
        run.say(f"Generation {shelf().write(run.space)} written.")
    return None
