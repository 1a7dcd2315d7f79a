"""Breadth of a grain: the number of clusters in which it was useful often enough."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count

from fluxcore import config
from memory.grains.models import ClusterUse


def count_clusters_used(space: int, grains: Sequence[int]) -> dict[int, int]:
    """By grain, the number of clusters with a use of CLUSTER_TOUCH_THRESHOLD or more."""
    enough = ClusterUse.objects.filter(
        space=space, grain__in=grains, weight__gte=config.current().CLUSTER_TOUCH_THRESHOLD, cluster__dissolved_at=None
    )
    return dict(enough.values_list("grain").annotate(Count("id")))
