"""Whether the clusters of a space must be recomputed: after many changes, or after few and an interval."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import clock, config
from fluxcore.models import Event
from memory.grains.models import Clustering, Conduit, Grain

EVENT = "clusters.computed"
# Statuses of grains that belong to clusters.
SHOWN = (Grain.Status.ACTIVE, Grain.Status.DORMANT, Grain.Status.ARCHIVED)
# Share of added or removed grains or conduits from which on clusters are recomputed before the interval ends.
GROWN = 0.2


def is_due(space: int) -> bool:
    """True after many changes; after few once CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS have passed; False without any."""
    settings = config.current()
    last = Clustering.objects.filter(space=space).first()
    grains = Grain.objects.filter(space=space, status__in=SHOWN).count()
    if last is None:
        return grains >= settings.CLUSTER_MIN_SIZE
    conduits = Conduit.objects.filter(space=space).count()
    grown = max(abs(grains - last.grains) / max(last.grains, 1), abs(conduits - last.conduits) / max(last.conduits, 1))
    if grown >= GROWN:
        return True
    if clock.now() - last.at < timedelta(days=settings.CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS):
        return False
    # Only events with a change of the graph; recalls and finished jobs, this one included, have none.
    moved = Event.objects.filter(space=space, packed__isnull=False).exclude(kind=EVENT).order_by("-xid", "-id")
    newest = moved.values_list("at", flat=True).first()
    return newest is not None and newest > last.at
