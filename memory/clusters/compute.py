"""The job `clusters.compute`: computes the clusters of a space, starting from the present ones.

Everything is read and computed outside any transaction and written in one commit. If another run has finished
meanwhile, nothing is written.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from fluxcore import clock, config, events, raw_sql
from fluxcore.work.run import Apply, Run
from memory.arena.changes import Changes, member_array
from memory.clusters import cluster_graph, cluster_use
from memory.clusters.plan import ClusterPlan, Layer, plan_layer
from memory.clusters.recompute_due import EVENT
from memory.grains.models import Cluster, Clustering, Entry, Member
from memory.grains.vectors import existing_grains

# How long a dissolved cluster can be read.
DISSOLVED_KEPT = timedelta(days=30)
_PIECE = 500
_CLUSTER = ("uuid", "space", "layer", "name", "terms", "size", "made_at", "changed_at")
_MEMBER = ("space", "cluster", "grain", "entry", "weight")
_MEMBERS, _CLUSTERS = Member._meta.db_table, Cluster._meta.db_table
_MOVED = f"UPDATE {_MEMBERS} SET cluster_id = %s, weight = %s WHERE id = %s"  # noqa: S608
_LEFT = f"DELETE FROM {_MEMBERS} WHERE id = %s"  # noqa: S608
_CHANGED = f"UPDATE {_CLUSTERS} SET name = %s, terms = %s, size = %s, changed_at = %s WHERE id = %s"  # noqa: S608
_DISSOLVED = f"UPDATE {_CLUSTERS} SET size = 0, changed_at = %s, dissolved_at = %s WHERE id = %s"  # noqa: S608


def cluster(run: Run) -> Apply | None:
    """The handler of `clusters.compute`."""
    if run.space is None:
        return None
    change = prepare_clusters(run.space, "worker")

    def apply() -> None:
        changes = change()
        run.say("Another run finished first: nothing was changed." if changes is None else _says(changes))

    return apply


def prepare_clusters(space: int, actor: str) -> Callable[[], dict[str, Any] | None]:
    """Compute the clusters of a space; returns the write, which returns what it changed, or None if outdated."""
    moment, last = clock.now(), _last(space)
    grains, entries, conduits = cluster_graph.load_graphs(
        space, int(moment.timestamp()), config.current().ENTRY_COOCCURRENCE_THRESHOLD
    )
    plans = plan_layer(space, Layer.GRAINS, grains), plan_layer(space, Layer.ENTRIES, entries)
    return lambda: _apply(space, actor, last, plans, len(grains.numbers), conduits)


def _last(space: int) -> int:
    return Clustering.objects.filter(space=space).values_list("run", flat=True).first() or 0


def _apply(
    space: int, actor: str, last: int, plans: tuple[ClusterPlan, ClusterPlan], grains: int, conduits: int
) -> dict[str, Any] | None:
    if _last(space) != last:
        return None
    moment = clock.now()
    changes: dict[str, Any] = {"run": last + 1}
    moved: list[tuple[int, int, float]] = []
    for one in plans:
        numbers, created = _number(space, one, moment)
        changed = _write_members(space, one, numbers)
        if one.layer == Layer.GRAINS:
            moved = changed
        changes[one.layer.name.lower()] = _write_clusters(space, one, numbers, moment, created, len(changed))
    for piece in _pieces(cluster_use.find_late_votes(space)):
        cluster_use.update_cluster_use(space, piece)
    Clustering.objects.update_or_create(
        space_id=space,
        defaults={
            "run": last + 1,
            "at": moment,
            "grains": grains,
            "conduits": conduits,
            "of_grains": plans[0].modularity,
            "of_entries": plans[1].modularity,
        },
    )
    Cluster.objects.filter(space=space, dissolved_at__lt=moment - DISSOLVED_KEPT).delete()
    packed = Changes(members=member_array(moved)).pack()
    events.append(EVENT, space=space, actor=actor, subject="", data=changes, packed=packed)
    return changes


def _says(changes: dict[str, Any]) -> str:
    return " ".join(
        f"{layer}: {of['clusters']} clusters, {of['made']} made, {of['changed']} changed, "
        f"{of['dissolved']} dissolved, modularity {of['modularity']:.3f}."
        for layer, of in changes.items()
        if layer != "run"
    )


def _number(space: int, one: ClusterPlan, moment: datetime) -> tuple[dict[int, int], set[int]]:
    """Id of the cluster by label: of the earlier cluster it continues, or of a new row."""
    numbers = dict(one.match.keeps)
    new = sorted(set(one.terms) - set(numbers))
    ids = {uuid.uuid4(): label for label in new}
    values = [
        (outside, space, one.layer.value, _name(one.terms[label]), one.terms[label], 0, moment, moment)
        for outside, label in ids.items()
    ]
    for piece in _pieces(values):
        for number, outside in raw_sql.upsert(Cluster, _CLUSTER, piece, "RETURNING id, uuid"):
            numbers[ids[outside if isinstance(outside, uuid.UUID) else uuid.UUID(outside)]] = number
    return numbers, {numbers[label] for label in new}


def _name(terms: Sequence[str]) -> str:
    return ", ".join(terms)[:200]


def _write_members(space: int, one: ClusterPlan, numbers: dict[int, int]) -> list[tuple[int, int, float]]:
    """Write changed members; returns (row, cluster or 0, weight) of each change."""
    wanted = {(row, numbers[label]): weight for (row, label), weight in one.members.items()}
    present = _still_there(space, one.layer, {row for row, _ in wanted.keys() - one.held.keys()})
    left = {key: number for key, (number, _) in one.held.items() if key not in wanted}
    free: dict[int, list[int]] = {}
    for (row, _), number in left.items():
        free.setdefault(row, []).append(number)
    moved: list[tuple[int, float, int]] = []
    new: list[tuple[Any, ...]] = []
    changed: list[tuple[int, int, float]] = []
    for (row, cluster), weight in wanted.items():
        known = one.held.get((row, cluster))
        if known is not None:
            if known[1] == weight:
                continue
            moved.append((cluster, weight, known[0]))
        elif row not in present:
            continue  # the grain was purged meanwhile
        elif free.get(row):
            moved.append((cluster, weight, free[row].pop()))
        else:
            ends = (row, None) if one.layer == Layer.GRAINS else (None, row)
            new.append((space, cluster, *ends, weight))
        changed.append((row, cluster, weight))
    out = {row for row, _ in left} - {row for row, _ in wanted}
    with connection.cursor() as cursor:
        cursor.executemany(_LEFT, [(number,) for numbers_left in free.values() for number in numbers_left])
        cursor.executemany(_MOVED, moved)
    if new:
        raw_sql.insert(Member, _MEMBER, new)
    return [*changed, *((row, 0, 0.0) for row in sorted(out))]


def _still_there(space: int, layer: Layer, numbers: set[int]) -> set[int]:
    if layer == Layer.GRAINS:
        return existing_grains(space, numbers)
    found: set[int] = set()
    for piece in _pieces(sorted(numbers)):
        found |= set(Entry.objects.filter(space=space, id__in=piece).values_list("id", flat=True))
    return found


def _write_clusters(
    space: int, one: ClusterPlan, numbers: dict[int, int], moment: datetime, created: set[int], moved: int
) -> dict[str, Any]:
    """Write changed names and sizes, move uses of split, merged or dissolved clusters; returns data of the event."""
    sizes = {numbers[label]: size for label, size in one.sizes.items()}
    terms = {numbers[label]: found for label, found in one.terms.items()}
    held = {
        number: (name, found, size)
        for number, name, found, size in Cluster.objects.filter(
            space=space, layer=one.layer, dissolved_at=None
        ).values_list("id", "name", "terms", "size")
    }
    values = []
    for number, found in terms.items():
        now = _name(found), found, sizes[number]
        if held.get(number) != now:
            values.append((now[0], _json(found), now[2], raw_sql.adapt_moment(moment), number))
    gone = sorted(one.match.gone)
    at = raw_sql.adapt_moment(moment)
    with connection.cursor() as cursor:
        cursor.executemany(_CHANGED, values)
        cursor.executemany(_DISSOLVED, [(at, at, number) for number in gone])
    moves = {old: [(numbers[label], factor) for label, factor in to] for old, to in one.match.moves.items()}
    carried = cluster_use.move_cluster_use(space, moves)
    return {
        "clusters": len(terms),
        "made": len(created),
        "changed": len({row[-1] for row in values} - created),
        "dissolved": len(gone),
        "members_moved": moved,
        "touches_carried": carried,
        "modularity": round(one.modularity, 4),
    }


def _json(terms: list[str]) -> Any:
    return Cluster._meta.get_field("terms").get_db_prep_save(terms, connection)


def _pieces(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for at in range(0, len(values), _PIECE):
        yield values[at : at + _PIECE]
