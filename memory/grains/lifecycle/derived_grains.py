"""Derived grains that are purged with their source: a model extracted them from it, and nobody else stored them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from memory.grains.models import Conduit, Grain, Relation

_STEPS = 8  # how far a chain of derivations is followed


def find_derived(space: int, grains: Sequence[Grain]) -> list[Grain]:
    """Grains derived from these alone; one with another source, or that somebody stored directly, is kept."""
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
        # One corroboration for each source: one more means that somebody stored it directly.
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
