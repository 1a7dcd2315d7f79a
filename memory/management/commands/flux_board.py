"""What agents share, from the shell: boards, locks and queues."""

from __future__ import annotations

from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "A board that agents share: read, write, cas, delete, list; boards, locks, queues."
    group, place = "board", "board"
