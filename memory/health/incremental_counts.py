"""Incremental counts of grains and links: a large space is counted over several measurements, a small one at once.

Running totals would be wrong after the first change that missed an update. This counts rows, at most `STRETCH` grains
and their links at a time, so the cost does not depend on the size of the space.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

from memory.grains.models import Conduit, DecayClass, Grain
from memory.learning.vote_stats import HIGHWAY

STRETCH = 5_000
_STATUSES = tuple(Grain.Status.values)
_PARTS = ("core", "orphans", "conduits", "weight", "highways")
_GRAINS, _CONDUITS = Grain._meta.db_table, Conduit._meta.db_table
_COUNT = f"""
    SELECT COUNT(*), MAX(id), SUM(core), SUM(orphan), SUM(links), SUM(weight), SUM(highways) FROM (
        SELECT g.id, CASE WHEN g.decay_class = {DecayClass.CORE.value} THEN 1 ELSE 0 END AS core,
            COUNT(c.id) AS links, COALESCE(SUM(c.weight), 0) AS weight,
            COALESCE(SUM(CASE WHEN c.weight >= {HIGHWAY} THEN 1 ELSE 0 END), 0) AS highways,
            CASE WHEN g.enriched AND COUNT(c.id) = 0 AND NOT EXISTS (
                SELECT 1 FROM {_CONDUITS} o
                WHERE o.space_id = g.space_id AND o.from_grain_id = g.id AND o.from_entry_id IS NULL
            ) THEN 1 ELSE 0 END AS orphan
        FROM (
            SELECT id, space_id, decay_class, enriched FROM {_GRAINS}
            WHERE space_id = %s AND status = %s AND id > %s ORDER BY id LIMIT %s
        ) AS g LEFT JOIN {_CONDUITS} c ON c.space_id = g.space_id AND c.to_grain_id = g.id
        GROUP BY g.id, g.space_id, g.decay_class, g.enriched
    ) AS counted
"""  # noqa: S608


def count_next_stretch(space: int, walk: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float] | None]:
    """Count the next part; returns the state of the count, and the totals once it is complete."""
    at, after = int(walk.get("status", 0)), int(walk.get("after", 0))
    sums: dict[str, float] = dict(walk.get("sums", {}))
    left = STRETCH
    while at < len(_STATUSES):
        status = _STATUSES[at]
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, [space, status, after, left])
            grains, last, *parts = cursor.fetchone()
        sums[status] = sums.get(status, 0.0) + grains
        for name, value in zip(_PARTS, parts, strict=True):
            # Only active grains are counted as core or orphaned; links are counted whatever their target.
            if name not in ("core", "orphans") or status == Grain.Status.ACTIVE:
                sums[name] = sums.get(name, 0.0) + float(value or 0)
        left -= grains
        if left <= 0:
            return {"status": at, "after": last, "sums": sums}, None
        at, after = at + 1, 0
    return {}, sums
