"""Results of extraction: statements found in a text, with the words of the source that support each."""

from __future__ import annotations

import uuid
from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from memory.extraction import derived_grains
from memory.extraction.models import DerivedGrain, Extraction
from memory.grains.lookup import find_grain
from memory.grains.models import Grain

MOST = 100  # links shown each way, the first ones


@selector("grains.found", needs="grains.read")
def statements_found(principal: Principal, grain: uuid.UUID) -> dict[str, Any]:
    """Statements found in a grain, and the sources of the grain if it is a statement itself."""
    row = find_grain(principal, str(grain))
    wanted = Extraction.objects.filter(grain=row).first()
    inward = DerivedGrain.objects.filter(source=row).select_related("grain").order_by("begins", "id")[:MOST]
    outward = DerivedGrain.objects.filter(grain=row).select_related("source").order_by("id")[:MOST]
    return {
        "grain_id": str(row.uuid),
        "extraction": wanted.state if wanted else None,
        "problem": (wanted.problem or None) if wanted else None,
        "statements": [_link(one, one.grain, row) for one in inward],
        "rests_on": [_link(one, one.source, one.source) for one in outward],
    }


def _link(one: DerivedGrain, other: Grain, said_in: Grain) -> dict[str, Any]:
    """The other grain and the supporting words; a quarantined or deleted text is not quoted."""
    return {
        "grain_id": str(other.uuid),
        "begins": one.begins,
        "ends": one.ends,
        "quote": None if said_in.status in derived_grains.HELD else said_in.text[one.begins : one.ends],
        "model": one.model,
        "at": clock.rfc3339(one.at),
    }
