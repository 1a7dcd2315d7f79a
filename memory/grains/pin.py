"""Pinning of grains by people: a pinned grain is exempt from decay and clean-up."""

from __future__ import annotations

from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore import events
from fluxcore.errors import Invalid
from memory.arena.changes import Changes
from memory.grains.lookup import find_for_change
from memory.grains.models import Grain


@verb("grains.pin", needs="grains.manage")
def pin(call: RunningCall, *, grain: str, pinned: bool = True) -> Change:
    """Pin or unpin a grain."""
    if not isinstance(pinned, bool):
        raise Invalid("pinned must be true or false.", field="pinned")
    row = find_for_change(call, grain)

    def change() -> dict[str, Any]:
        changed = bool(Grain.objects.filter(pk=row.pk, pinned=not pinned).update(pinned=pinned))
        call.record(str(row.uuid), chain=row.space.uuid.hex, pinned=pinned, changed=changed)
        if changed:
            # Audited in the space of the grain, also for an administrator or the shell, who have no space of their own.
            events.append(
                "grain.pinned" if pinned else "grain.unpinned",
                space=row.space_id,
                actor=call.principal.actor,
                subject=str(row.uuid),
                packed=Changes((row.pk,)).pack(),
            )
        return {"grain_id": str(row.uuid), "pinned": pinned, "changed": changed}

    return change
