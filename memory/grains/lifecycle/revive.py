"""Revival of dormant and archived grains, and of the links that clean-up removed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fluxcore import clock, config, events
from memory.arena.changes import Changes, conduit_array
from memory.engine.text import mentions
from memory.grains import jobs as grains_jobs
from memory.grains import linking
from memory.grains.lifecycle import transitions
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, DORMANT, USEFUL
from memory.grains.lifecycle.transitions import WORKER, PlannedTransition
from memory.grains.models import Grain, Relation
from memory.recall import filters


def revive_used(space: int, grains: Iterable[int]) -> list[PlannedTransition]:
    """Make dormant and archived grains active that got useful votes. Inside a write."""
    found = list(Grain.objects.filter(space=space, id__in=set(grains), status__in=(DORMANT, ARCHIVED)).order_by("id"))
    steps = [PlannedTransition(row.pk, row.uuid, row.status, ACTIVE, USEFUL) for row in found]
    taken = transitions.apply_transitions(space, steps, actor=WORKER)
    relink_grains(space, found)
    return taken


def relink_grains(space: int, grains: Sequence[Grain]) -> None:
    """Restore links of grains that clean-up may have removed: entries of the text, the session, and neighbours.

    Existing links are not changed. Nearest neighbours are linked by the worker, as for a new grain.
    """
    if not grains:
        return
    weight = config.current().INITIAL_ENTRY_WEIGHT
    named = [
        (row, one)
        for row in grains
        for one in mentions.find_mentions(row.text, filters.epoch_seconds(row.said_at or row.recorded_at))
    ]
    entries = linking.ensure_entries(space, [one for _, one in named])
    links = [linking.NewConduit(row.pk, Relation.RELATED, weight, entry=(one.kind, one.feature)) for row, one in named]
    links += _before(space, grains)
    at = int(clock.now().timestamp())
    conduits = [link for link in linking.insert_conduits(space, links, at, entries) if link]
    numbers = [row.pk for row in grains]
    Grain.objects.filter(space=space, id__in=numbers).update(enriched=False)
    grains_jobs.ask_for_enrichment(space)
    if conduits:
        events.append(
            "grains.rewired",
            space=space,
            actor=WORKER,
            subject="",
            packed=Changes((), conduit_array(conduits)).pack(),
            data={"grains": len(numbers), "conduits": len(conduits)},
        )


def _before(space: int, grains: Sequence[Grain]) -> list[linking.NewConduit]:
    """Link from the previous grain of its session."""
    weight = config.current().INITIAL_WEIGHT_SCALE
    found = []
    for row in grains:
        if row.session:
            previous = (
                Grain.objects.filter(space=space, session=row.session, ordinal__lt=row.ordinal)
                .exclude(session="")
                .order_by("-ordinal", "-id")
                .values_list("id", flat=True)
                .first()
            )
            if previous is not None:
                found.append(linking.NewConduit(row.pk, Relation.NEXT, weight, grain=previous))
    return found
