"""Bytes of traces by agent and hour: beyond MAX_TRACE_BYTES_PER_HOUR a trace keeps ids and scores only.

Counted in the process that writes them, an hour from an agent's first trace in it.
"""

from __future__ import annotations

import threading
import time

from fluxcore import config

HOUR = 3600.0
_MANY = 1_000  # number of agents above which expired counters are removed
_spent: dict[tuple[int, str], tuple[float, int]] = {}  # when the hour began, in monotonic seconds, and its bytes
_lock = threading.Lock()


def spend_bytes(space: int, actor: str, size: int) -> bool:
    """Count the bytes of a trace; False, without counting, if they exceed the agent's hourly limit."""
    now = time.monotonic()
    with _lock:
        if len(_spent) > _MANY:
            for one in [one for one, (began, _) in _spent.items() if now - began >= HOUR]:
                del _spent[one]
        began, spent = _spent.get((space, actor), (now, 0))
        if now - began >= HOUR:
            began, spent = now, 0
        if spent + size > config.current().MAX_TRACE_BYTES_PER_HOUR:
            return False
        _spent[space, actor] = began, spent + size
        return True
