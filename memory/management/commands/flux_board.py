"""flux_board: read and change boards with their keys, locks and queues."""

from __future__ import annotations

from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "Boards that agents share: keys (read, write, cas, delete, list), locks and queues."
    group, place = "board", "board"
