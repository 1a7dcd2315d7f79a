"""Extract verbs: a text is stored unchanged, in one commit with the request that the model reads it."""

from __future__ import annotations

from typing import Any

from accounts import origins
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.errors import Invalid
from memory.extraction import jobs, mode
from memory.extraction.models import Extraction
from memory.grains import store
from memory.grains.grain_input import check_grain_input
from memory.grains.models import Grain

OFF = "off"  # the mode is caller_extracts: no model reads the text
_WAITING = Extraction.ExtractionState.WAITING


@verb("grains.extract", needs="grains.write")
def extract(call: RunningCall, **given: Any) -> Change:
    """Store a text or a turn of a conversation and have its statements extracted; same fields as store."""
    item = check_grain_input(given, ceiling=call.principal.ceiling)
    share = store.ticket(call, 1)

    def change() -> dict[str, Any]:
        share.take()
        (answer,) = store.insert(call, [item])
        return {**answer, "extraction": _wanted(call, answer["grain_id"]) if mode.on() else OFF}

    return change


def _wanted(call: RunningCall, grain: str) -> str:
    """Row of an extraction request. A repeated request changes nothing, unless extraction was given up."""
    found = Grain.objects.only("pk", "space_id").get(uuid=grain)
    now = clock.now()
    defaults = {
        "space_id": found.space_id,
        "ceiling": origins.RANK[call.principal.ceiling],
        "asked_by": call.principal.actor,
        "asked_at": now,
        "due_at": now,
    }
    row, new = Extraction.objects.get_or_create(grain=found, defaults=defaults)
    if row.state == Extraction.ExtractionState.GIVEN_UP:
        row.asked_by = call.principal.actor
        _afresh(row)
    if new or row.state == _WAITING:
        # Submitted twice, statements get the lower of both ceilings.
        row.ceiling = origins.RANK[origins.lowest(row.ceiling, call.principal.ceiling)]
        row.save(update_fields=["ceiling", "asked_by"])
        jobs.ask(found.space_id)
    return str(row.state)


def _afresh(row: Extraction) -> None:
    row.state, row.tries, row.due_at, row.finished_at = _WAITING, 0, clock.now(), None
    row.save(update_fields=["state", "tries", "due_at", "finished_at"])


@verb("grains.extract_again", needs="jobs.manage")
def retry_given_up(call: RunningCall) -> Change:
    """Queue every text of the space again whose extraction was given up."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")

    def change() -> dict[str, Any]:
        rows = list(
            Extraction.objects.filter(space=space, state=Extraction.ExtractionState.GIVEN_UP).order_by("id")[:1000]
        )
        for row in rows:
            _afresh(row)
        if rows and mode.on():
            jobs.ask(space)
        call.record("", texts=len(rows))
        return {"waiting": len(rows)}

    return change
