"""Query expansion: related words for a question from a registered expander, used if they arrive in time.

A package above registers the expander; without one, or while it is switched off, a recall costs nothing more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connection

from fluxcore.fair_queue import FairShares

log = logging.getLogger(__name__)

MOST = 8  # words added to a question
AT_ONCE = 2  # expansions that run in a process at once, one of an agent; further questions are not expanded
PendingExpansion = Callable[[], tuple[str, ...]]


@dataclass(frozen=True)
class QueryExpander:
    """A source of related words."""

    seconds: Callable[[], float]  # how long a recall may wait for it; 0: switched off
    find: Callable[[int, str, str], Sequence[str]]  # space, question and actor; runs in a thread


_expander: QueryExpander | None = None
_shares = FairShares(AT_ONCE)


def set_expander(expander: QueryExpander | None) -> None:
    """Register the expander; None removes it."""
    global _expander
    _expander = expander


def start_expansion(space: int, query: str, who: str) -> PendingExpansion:
    """Start an expansion in a thread; the returned function waits for the rest of the time and returns new words."""
    expander = _expander
    seconds = expander.seconds() if expander is not None else 0.0
    if expander is None or seconds <= 0 or not _shares.take(space, who):
        return tuple
    until, done, found = time.monotonic() + seconds, threading.Event(), list[str]()

    def run() -> None:
        try:
            found.extend(expander.find(space, query, who))
        except Exception as error:
            log.warning("a question could not be expanded: %s", type(error).__name__)
        finally:
            connection.close()
            _shares.leave(space, who)
            done.set()

    threading.Thread(target=run, name="query-expansion", daemon=True).start()

    def wait_for_words() -> tuple[str, ...]:
        return _new_words(query, found) if done.wait(max(until - time.monotonic(), 0.0)) else ()

    return wait_for_words


def _new_words(query: str, found: Sequence[str]) -> tuple[str, ...]:
    """Words with a term that is not in the question."""
    from memory.engine.text import words  # imported here: a process that only registers an expander does not need it

    known, kept = set(words.terms(query)), list[str]()
    for word in found[:MOST]:
        terms = set(words.terms(word))
        if not terms <= known:
            known |= terms
            kept.append(word)
    return tuple(kept)
