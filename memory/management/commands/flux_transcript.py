"""flux_transcript: read and change the transcript of a store."""

from __future__ import annotations

from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "The transcript of a store: show, say, pop, clear, undo."
    group = "transcript"
