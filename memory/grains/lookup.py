"""Lookup of the grain that a verb is called with."""

from __future__ import annotations

import uuid

from accounts.principals import Principal
from accounts.verbs import RunningCall
from fluxcore.errors import Conflict, Invalid, NotFound
from memory.engine.kinds import MADE_KINDS
from memory.grains import sources
from memory.grains.models import Grain


def find_for_change(call: RunningCall, grain: object) -> Grain:
    """Find a grain to change, and set the space of the call to its space."""
    row = find_grain(call.principal, grain)
    if row.status in MADE_KINDS:
        raise Conflict(
            "This is no memory but a passage of a file, a message or the value of a key. "
            "Change the file, transcript or key it is from.",
            kind=row.status,
        )
    call.space = row.space_id
    return row


def find_grain(principal: Principal, grain: object) -> Grain:
    """Find a grain by its UUID. Grains of other spaces and unknown ids get the same answer."""
    try:
        number = uuid.UUID(grain)  # type: ignore[arg-type]  # whatever was given
    except (ValueError, TypeError, AttributeError):
        raise Invalid("That is not an id of a memory.", field="grain") from None
    row = Grain.objects.select_related("space").filter(uuid=number).first()
    if row is None or not principal.reaches(row.space_id):
        raise NotFound("There is no memory with this id.")
    if row.status in MADE_KINDS and not sources.citations(principal, row.space_id, [(row.pk, row.status)]):
        raise NotFound("There is no memory with this id.")
    return row
