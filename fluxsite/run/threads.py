"""Number of threads of the REST server, and Python's switch interval."""

from __future__ import annotations

import sys

# Most threads wait for a commit or their turn, which costs little, so there are many more than can compute at once.
# `fluxcore.fair_queue.FairShares` keeps some of them free from any one agent.
THREADS = 192
# Seconds a thread computes before others get the interpreter. A request waits for the interpreter after each database
# query, so with Python's default of 5 ms it would wait several times as long beside a computing recall.
SWITCH_SECONDS = 0.0005


def set_switch_interval() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
