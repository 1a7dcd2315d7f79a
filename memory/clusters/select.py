"""Selectors of clusters: list, and one cluster with its members, the most typical first."""

from __future__ import annotations

import uuid
from typing import Any

from django.db.models import F, Q

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from fluxcore.errors import Invalid, NotFound
from memory.clusters.recompute_due import SHOWN
from memory.grains import select
from memory.grains.models import Cluster, Clustering, Member

LAYERS = tuple(layer.name.lower() for layer in Cluster.Layer)
# A cursor is one integer: the descending sort key in the upper bits, the id of the row in the lower ones.
_SIZE, _BELOW_SIZE = (1 << 31) - 1, 32
_WEIGHT, _BELOW_WEIGHT = 100, 48


@selector("clusters.list", needs="grains.read")
def page(
    principal: Principal, *, layer: str | None = None, limit: int = 50, cursor: str | None = None
) -> dict[str, Any]:
    """A page of the clusters of a space, largest first, the time of computation, and the next cursor."""
    if layer is not None and layer not in LAYERS:
        raise Invalid(f"layer must be one of {', '.join(LAYERS)}.", field="layer")
    select.check_limit(limit)
    rows = Cluster.objects.filter(space=principal.space, dissolved_at=None)
    if layer is not None:
        rows = rows.filter(layer=LAYERS.index(layer))
    if cursor is not None:
        size, number = _split(cursor, _BELOW_SIZE)
        rows = rows.filter(Q(size__lt=_SIZE - size) | Q(size=_SIZE - size, id__gt=number))
    found = list(rows.order_by("-size", "id")[: limit + 1])
    last = Clustering.objects.filter(space=principal.space).first()
    return {
        "clusters": [cluster_shape(one) for one in found[:limit]],
        "count": len(found[:limit]),
        "computed_at": clock.rfc3339(last.at) if last else None,
        "modularity": {"grains": round(last.of_grains, 4), "entries": round(last.of_entries, 4)} if last else None,
        "next_cursor": _after(_SIZE - found[limit - 1].size, found[limit - 1].pk, _BELOW_SIZE)
        if len(found) > limit
        else None,
    }


@selector("clusters.get", needs="grains.read")
def load_cluster(
    principal: Principal, cluster: uuid.UUID, *, limit: int = 50, cursor: str | None = None
) -> dict[str, Any]:
    """One cluster with a page of its members. A dissolved one has none, and is forgotten after a month."""
    select.check_limit(limit)
    row = Cluster.objects.filter(space=principal.space, uuid=cluster).first()
    if row is None:
        raise NotFound("There is no cluster with this id.")
    members = Member.objects.filter(space=principal.space, cluster=row)
    if cursor is not None:
        weight, number = _split(cursor, _BELOW_WEIGHT)
        # Weights are hundredths; comparing with half a step of tolerance avoids errors of floats.
        edge = (_WEIGHT - weight) / _WEIGHT
        members = members.filter(
            Q(weight__lt=edge - 0.005) | Q(weight__gte=edge - 0.005, weight__lte=edge + 0.005, id__gt=number)
        )
    if row.layer == Cluster.Layer.GRAINS:
        members = members.filter(grain__status__in=SHOWN)
        columns = ("grain__uuid", "grain__text", "grain__status")
    else:
        columns = ("entry__kind", "entry__feature", "entry__id")
    found = list(members.order_by(F("weight").desc(), "id").values_list("id", "weight", *columns)[: limit + 1])
    edge_row = found[limit - 1] if len(found) > limit else None
    return {
        **cluster_shape(row),
        "dissolved_at": clock.rfc3339(row.dissolved_at),
        "members": [_member(row, one) for one in found[:limit]],
        "count": len(found[:limit]),
        "next_cursor": _after(_WEIGHT - round(edge_row[1] * _WEIGHT), edge_row[0], _BELOW_WEIGHT) if edge_row else None,
    }


def cluster_shape(row: Cluster) -> dict[str, Any]:
    return {
        "id": str(row.uuid),
        "name": row.name,
        "terms": row.terms,
        "size": row.size,
        "layer": LAYERS[row.layer],
        "made_at": clock.rfc3339(row.made_at),
        "changed_at": clock.rfc3339(row.changed_at),
    }


def _member(cluster: Cluster, row: tuple[Any, ...]) -> dict[str, Any]:
    _, weight, first, second, third = row
    grain = {"id": str(first), "content": second, "status": third} if cluster.layer == Cluster.Layer.GRAINS else None
    entry = {"kind": first, "feature": second} if grain is None else None
    return {"grain": grain, "entry": entry, "weight": round(weight, 4)}


def _after(first: int, number: int, bits: int) -> str:
    return select.cursor_of(first << bits | number)


def _split(cursor: str, bits: int) -> tuple[int, int]:
    value = select.cursor_position(cursor)
    return value >> bits, value & ((1 << bits) - 1)
