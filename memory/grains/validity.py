"""Validity of grains: a grain whose validity has ended is recalled only as of an earlier time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, events
from fluxcore.errors import Conflict, Invalid
from memory.arena.changes import Changes
from memory.grains import grain_input
from memory.grains.lookup import find_for_change
from memory.grains.models import Grain


@verb("grains.close", needs="grains.manage")
def close(call: RunningCall, *, grain: str, at: str | None = None) -> Change:
    """End the validity of a grain now or at a given time. The same time again changes nothing."""
    row = find_for_change(call, grain)
    moment = clock.now() if at is None else grain_input.parse_time(at, name="at")
    if row.valid_from is not None and moment <= row.valid_from:
        begins = clock.rfc3339(row.valid_from)
        raise Invalid(f"The end must be after {begins}, when its validity begins.", field="at", valid_from=begins)

    def change() -> dict[str, Any]:
        changed = bool(Grain.objects.filter(pk=row.pk, valid_to=None).update(valid_to=moment))
        end = moment if changed else _known(row.pk, moment, asked=at is not None)
        call.record(str(row.uuid), chain=row.space.uuid.hex, valid_to=clock.rfc3339(end), changed=changed)
        if changed:
            events.append(
                "grain.closed",
                space=row.space_id,
                actor=call.principal.actor,
                subject=str(row.uuid),
                data={"valid_to": clock.rfc3339(end)},
                packed=Changes((row.pk,)).pack(),
            )
        return {"grain_id": str(row.uuid), "valid_to": clock.rfc3339(end), "changed": changed}

    return change


def _known(number: int, moment: datetime, *, asked: bool) -> datetime:
    """The present end of validity if it is the requested one; without a requested one, any that has passed."""
    end = Grain.objects.values_list("valid_to", flat=True).get(pk=number)
    if end is None or (end != moment if asked else end > moment):
        raise Conflict("The memory already has another end of validity.", valid_to=clock.rfc3339(end))
    return end


def is_valid_at(item: grain_input.GrainInput, moment: datetime) -> bool:
    """Whether the input states a validity that includes now."""
    begun = item.valid_from is None or item.valid_from <= moment
    return begun and (item.valid_to is None or item.valid_to > moment)


def reopen_validity(number: int, item: grain_input.GrainInput, moment: datetime) -> None:
    """Set the validity of a grain that was stored again while it was not valid.

    Inside a write. The new end of validity replaces the old one; its begin is kept unless it is in the future.
    """
    Grain.objects.filter(pk=number, valid_from__gt=moment).update(valid_from=item.valid_from)
    Grain.objects.filter(pk=number).update(valid_to=item.valid_to)
