"""A person's word that a grain matters: decay and clean-up leave it alone until that is taken back."""

from __future__ import annotations

import uuid
from typing import Any

from accounts.verbs import Act, Change, verb
from fluxcore import events
from fluxcore.errors import Invalid, NotFound
from memory.grains.models import Grain


@verb("grains.pin", needs="grains.manage")
def pin(act: Act, *, grain: str, pinned: bool = True) -> Change:
    """Pin a grain, or let it go again."""
    if not isinstance(pinned, bool):
        raise Invalid("pinned is true or false.", field="pinned")
    row = _find(act, grain)

    def change() -> dict[str, Any]:
        changed = bool(Grain.objects.filter(pk=row.pk, pinned=not pinned).update(pinned=pinned))
        act.record(str(row.uuid), chain=row.space.uuid.hex, pinned=pinned, changed=changed)
        if changed:
            kind = "grain.pinned" if pinned else "grain.unpinned"
            # In the grain's space, also where an administrator or the shell acts from outside of it.
            events.append(kind, space=row.space_id, actor=act.principal.actor, subject=str(row.uuid))
        return {"grain_id": str(row.uuid), "pinned": pinned, "changed": changed}

    return change


def _find(act: Act, grain: str) -> Grain:
    """Foreign and absent grains get the same answer."""
    try:
        number = uuid.UUID(grain)
    except (ValueError, TypeError, AttributeError):
        raise Invalid("That is not a grain's id.", field="grain") from None
    row = Grain.objects.select_related("space").filter(uuid=number).first()
    if row is None or not act.principal.reaches(row.space_id):
        raise NotFound("There is no such grain.")
    return row
