"""What happens to an instance as a whole leaves a link on its own chain."""

from __future__ import annotations

from typing import Any

from accounts.models import Enrolment, Session
from accounts.verbs import Change, RunningCall, verb


@verb("instance.reset", needs="instance.manage")
def note_reset(call: RunningCall, *, heads: dict[str, str]) -> Change:
    """The first link of the new chain names the ends of the old ones."""

    def change() -> dict[str, Any]:
        call.record("instance", heads=heads)
        return {}

    return change


@verb("instance.restore", needs="instance.manage")
def note_restore(call: RunningCall, *, backup: str, created_at: str) -> Change:
    """A restored instance says so: its chain goes on from the backup with this link."""

    def change() -> dict[str, Any]:
        # Whatever ended since the backup was made stays ended: nobody comes back in with an old cookie or link.
        sessions, _ = Session.objects.all().delete()
        Enrolment.objects.filter(used_at=None).delete()
        call.record("instance", backup=backup, created_at=created_at, sessions=sessions)
        return {}

    return change
