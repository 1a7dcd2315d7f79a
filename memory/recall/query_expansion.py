"""Words a question did not say, from somebody who may know them: taken if they come in time, never waited for longer.

A room above offers a finder; without one, or while it is switched off, a recall pays nothing for this.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connection

log = logging.getLogger(__name__)

MOST = 8  # words added to a question
AT_ONCE = 2  # finders that run in a process; a question that comes meanwhile goes without
PendingExpansion = Callable[[], tuple[str, ...]]


@dataclass(frozen=True)
class QueryExpander:
    seconds: Callable[[], float]  # how long a question may wait for it; 0: not at all
    find: Callable[[int, str, str], Sequence[str]]  # space, question and who asks; runs in a thread of its own


_finder: QueryExpander | None = None
_places = threading.BoundedSemaphore(AT_ONCE)


def set_expander(finder: QueryExpander | None) -> None:
    global _finder
    _finder = finder


def start_expansion(space: int, query: str, who: str) -> PendingExpansion:
    """Have somebody look; what is returned waits for the rest of the time and gives the words that are new."""
    finder = _finder
    seconds = finder.seconds() if finder is not None else 0.0
    if finder is None or seconds <= 0 or not _places.acquire(blocking=False):
        return tuple
    until, came, found = time.monotonic() + seconds, threading.Event(), list[str]()

    def look() -> None:
        try:
            found.extend(finder.find(space, query, who))
        except Exception as error:
            log.warning("nobody found words for a question: %s", type(error).__name__)
        finally:
            connection.close()
            _places.release()
            came.set()

    threading.Thread(target=look, name="hints", daemon=True).start()

    def later() -> tuple[str, ...]:
        return _new(query, found) if came.wait(max(until - time.monotonic(), 0.0)) else ()

    return later


def _new(query: str, found: Sequence[str]) -> tuple[str, ...]:
    """Those that say something the question does not say itself."""
    from memory.engine.text import words  # a process that only offers a finder needs none of it

    known, kept = set(words.terms(query)), list[str]()
    for word in found[:MOST]:
        terms = set(words.terms(word))
        if not terms <= known:
            known |= terms
            kept.append(word)
    return tuple(kept)
