"""Audit entries of a reset or restore of the whole instance."""

from __future__ import annotations

from typing import Any

from accounts.models import Enrolment, Session
from accounts.verbs import Change, RunningCall, verb


@verb("instance.reset", needs="instance.manage")
def note_reset(call: RunningCall, *, heads: dict[str, str]) -> Change:
    """Record a reset: the first entry of the new chain has the heads of the old ones."""

    def change() -> dict[str, Any]:
        call.record("instance", heads=heads)
        return {}

    return change


@verb("instance.restore", needs="instance.manage")
def note_restore(call: RunningCall, *, backup: str, created_at: str) -> Change:
    """Record a restore: the first entry after those of the backup."""

    def change() -> dict[str, Any]:
        # Sessions and links of the backup may have ended since, so that all are deleted.
        sessions, _ = Session.objects.all().delete()
        Enrolment.objects.filter(used_at=None).delete()
        call.record("instance", backup=backup, created_at=created_at, sessions=sessions)
        return {}

    return change
