"""What goes with a purged grain: statements a model found in it and nobody else has said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from memory.grains.models import Conduit, Grain, Relation

_STEPS = 8  # how far a chain of derivations is followed


def find_derived(space: int, grains: Sequence[Grain]) -> list[Grain]:
    """Grains that rest on these alone. One with another source, or that somebody said by himself, stays."""
    gone = {row.pk for row in grains}
    found: list[Grain] = []
    for _ in range(_STEPS):
        resting = Conduit.objects.filter(space=space, relation=Relation.CAUSED_BY, to_grain__in=gone)
        near = set(resting.values_list("from_grain_id", flat=True)) - gone
        links = Conduit.objects.filter(space=space, relation=Relation.CAUSED_BY, from_entry=None, from_grain__in=near)
        sources: dict[int, set[int]] = defaultdict(set)
        for begin, end in links.values_list("from_grain_id", "to_grain_id"):
            sources[begin or 0].add(end)
        alone = [number for number in sorted(near) if sources[number] <= gone]
        # Each source said it once: a further time is somebody's own word.
        more = [
            row
            for row in Grain.objects.filter(space=space, pk__in=alone, writer__startswith="model:").order_by("pk")
            if row.corroborations < len(sources[row.pk])
        ]
        if not more:
            break
        found += more
        gone |= {row.pk for row in more}
    return found
