"""flux_board: keys, locks and queues of boards that agents share."""

from __future__ import annotations

from flux.calls import boards, keys
from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "A board that agents share: read, write, cas, delete, list; boards, locks, queues."
    calls, group, place = (*keys.CALLS, *boards.CALLS), "board", "board"
