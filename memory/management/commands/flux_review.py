"""flux_review: the queue of what waits for a decision: list, show, accept, deny."""

from __future__ import annotations

from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "Proposals that wait for a decision: list, show, accept, deny."
    group = "review"
