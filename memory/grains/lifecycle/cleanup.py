"""The job `grains.prune_links`: removes links that have decayed below the floor, so that arenas stay small.

A run reads all conduits of a space in the order of their ids, outside any transaction, and removes a page in one
commit. Kept are conduits changed by votes (an undo needs them as they were), conduits with a relation other than
`related`, and conduits to grains that a person stated or pinned or that were used lately.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from django.db import connection

from fluxcore import clock, config, events, uptime
from fluxcore.work.run import Apply, Run
from memory.arena.changes import Changes
from memory.grains.lifecycle import jobs, rules
from memory.grains.lifecycle.last_use import unused_days
from memory.grains.lifecycle.transitions import WORKER
from memory.grains.models import Conduit, Grain, Relation, UsefulPair, VoteEffect

LOOKED_AT = 10  # conduits read at once for each that may be removed: most of them stay
READS = 20  # most reads of one step
_TABLE, _EFFECTS, _GRAINS = Conduit._meta.db_table, VoteEffect._meta.db_table, Grain._meta.db_table
# Only this relation is removed: the others state facts.
_KINDS = f"{int(Relation.RELATED)}, {int(Relation.NEXT)}"
_LOOK = (
    f"SELECT id, weight, made_at, used_at, decay_class, to_grain_id FROM {_TABLE} "  # noqa: S608
    f"WHERE space_id = %s AND id > %s AND base IS NULL AND relation IN ({_KINDS}) ORDER BY id LIMIT %s"
)
_VOTED = f"NOT EXISTS (SELECT 1 FROM {_EFFECTS} e WHERE e.conduit_id = c.id)"  # noqa: S608


def clean(run: Run) -> Apply | None:
    """The handler of `grains.prune_links`."""
    space = run.space
    if space is None:
        return None
    doubt = uptime.now().doubt
    if doubt:
        run.say(doubt)
        return None
    page, last, more = config.current().CLEANUP_BATCH_SIZE, int(run.args.get("after", 0)), True
    cut: list[tuple[int, int, int]] = []
    for _ in range(READS):
        found, last, more = _look(space, last, page)
        cut = _needless(space, found)
        if cut or not more:
            break
    if not cut and not more:
        return None
    return lambda: _apply(run, space, cut, last if more else None)


def _look(space: int, after: int, page: int) -> tuple[list[tuple[int, int, int]], int, bool]:
    """(id, used at, target) of a page of conduits below the floor; the last id read; whether there are more."""
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, [space, after, LOOKED_AT * page])
        rows: list[Any] = cursor.fetchall()
    if not rows:
        return [], after, False
    number, weight, made, used, kind, to = (np.array(column) for column in zip(*rows, strict=True))
    gone = rules.dead_conduits(
        weight.astype(np.float32), used=used, made=made, decay_class=kind, now=int(clock.now().timestamp())
    )
    found = list(zip(number[gone].tolist(), used[gone].tolist(), to[gone].tolist(), strict=True))
    if len(found) > page:  # enough for one commit; the rest is read again
        return found[:page], found[page - 1][0], True
    return found, int(number[-1]), len(rows) == LOOKED_AT * page


def _needless(space: int, found: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Conduits that lead to no grain which is exempt or was used lately."""
    grains = sorted({to for _, _, to in found})
    limit = config.current().DORMANCY_UNUSED_DAYS
    kept = set()
    for at in range(0, len(grains), 1000):
        rows = Grain.objects.filter(space=space, id__in=grains[at : at + 1000]).values_list(
            "id", "pinned", "authority", "recorded_at"
        )
        unused = unused_days(space, {number: recorded for number, _, _, recorded in rows}, recorded_counts=False)
        kept |= {
            number
            for number, pinned, authority, _ in rows
            if rules.is_exempt(pinned=pinned, authority=authority) or unused[number] < limit
        }
    return [one for one in found if one[2] not in kept]


def _apply(run: Run, space: int, seen: list[tuple[int, int, int]], after: int | None) -> None:
    """Remove conduits, except those that were used or voted on since they were read."""
    marks = ", ".join(["%s"] * len(seen))
    cut: list[int] = []
    if seen:
        used = {number: at for number, at, _ in seen}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT c.id, c.used_at FROM {_TABLE} c "  # noqa: S608
                f"WHERE c.space_id = %s AND c.id IN ({marks}) AND c.base IS NULL AND {_VOTED}",
                [space, *used],
            )
            cut = sorted(number for number, at in cursor.fetchall() if used[number] == at)
    if cut:
        # The pair can get its shortcut again.
        UsefulPair.objects.filter(space=space, conduit__in=cut).update(conduit=None)
        Conduit.objects.filter(space=space, id__in=cut)._raw_delete("default")
        run.say(f"{len(cut)} decayed links were removed.")
        events.append(
            "conduits.cut",
            space=space,
            actor=WORKER,
            subject="",
            data={"conduits": len(cut)},
            packed=Changes(cut=tuple(cut)).pack(),
        )
    if after is not None:
        jobs.clean(space, after=after)
