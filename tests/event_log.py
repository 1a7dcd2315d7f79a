"""The event log as tests read it: on PostgreSQL it ends before the oldest transaction that still runs anywhere."""

from __future__ import annotations

import time

from fluxcore import events
from fluxcore.events import Position
from fluxcore.models import Event


def wait_for_log() -> None:
    """Wait for what other tests' transactions hold back of what was written here."""
    newest = Event.objects.order_by("-xid", "-id").values_list("xid", "id").first()
    for _ in range(3_000):
        if newest is None or events.head() == Position(*newest):
            return
        time.sleep(0.01)
    raise AssertionError("somebody's transaction does not end")
