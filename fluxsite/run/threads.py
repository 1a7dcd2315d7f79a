"""The threads of a server process: how many REST has, and how they share the interpreter."""

from __future__ import annotations

import sys

# A request that waits for its turn or its commit keeps a thread and costs nothing else, so there are many more than
# compute at once: `fluxcore.fair_queue.FairShares` leaves some of them free whatever one agent sends.
THREADS = 192
# Seconds a thread computes before another one that wants to may. A request asks the database a few times and waits for
# the interpreter after each, so Python's own 5 ms would be paid several times over beside a recall that computes.
SWITCH_SECONDS = 0.0005


def set_switch_interval() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
