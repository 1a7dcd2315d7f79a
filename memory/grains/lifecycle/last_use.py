"""Days since a grain was last used: returned by a recall, found useful, or restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import Max

from fluxcore import clock, raw_sql
from fluxcore.work.jobs import enqueue
from fluxcore.work.run import Apply, Run
from memory.grains.lifecycle.rules import ACTIVE, DAY
from memory.grains.models import Cursor, LastRecall, TraceGrain, Transition, Vote

MARK = "recalled"
PAGE = 50_000  # recalled grains that one run reads
# Rows read again, because PostgreSQL may commit a row after one with a higher id. Reading a row twice is harmless.
BACK = 2_000
_OR_LATER = (
    "ON CONFLICT (space_id, grain_id) DO UPDATE SET recalled_at = excluded.recalled_at "
    f"WHERE {LastRecall._meta.db_table}.recalled_at < excluded.recalled_at RETURNING grain_id"
)
_COLUMNS = ("space", "grain", "recalled_at")


def unused_days(space: int, recorded: Mapping[int, datetime], *, recorded_counts: bool = True) -> dict[int, float]:
    """Days since last use of each grain; for one that was never used, since it was recorded, or infinite."""
    now, grains = clock.now(), list(recorded)
    moments: dict[int, list[datetime]] = {grain: [at] if recorded_counts else [] for grain, at in recorded.items()}
    for found in (
        LastRecall.objects.filter(space=space, grain__in=grains).values_list("grain_id", "recalled_at"),
        Vote.objects.filter(space=space, grain__in=grains, useful=True, undone_at=None)
        .values_list("grain_id")
        .annotate(Max("at")),
        Transition.objects.filter(space=space, grain__in=grains, after=ACTIVE)
        .values_list("grain_id")
        .annotate(Max("at")),
    ):
        for grain, at in found:
            moments[grain].append(at)
    return {grain: (now - max(some)).total_seconds() / DAY if some else float("inf") for grain, some in moments.items()}


def keep_last_recalls(run: Run) -> Apply | None:
    """The handler of `grains.record_use`: the time of a grain's last recall is kept longer than its traces."""
    mark = Cursor.objects.filter(name=MARK).values_list("number", flat=True).first() or 0
    numbers = TraceGrain.objects.filter(id__gt=mark).order_by("id").values_list("id", flat=True)
    full = numbers[PAGE - 1 : PAGE].first()
    top = full or TraceGrain.objects.aggregate(top=Max("id"))["top"] or 0
    if top <= mark:
        return None
    found = list(
        TraceGrain.objects.filter(id__gt=mark - BACK, id__lte=top, trace__at__isnull=False, grain__status__isnull=False)
        .values_list("space_id", "grain_id")
        .annotate(Max("trace__at"))
        .order_by("space_id", "grain_id")
    )
    return lambda: _keep(run, found, top, more=full is not None)


def _keep(run: Run, found: Iterable[tuple[int, int, datetime]], top: int, *, more: bool) -> None:
    from memory.grains.vectors import existing_grains

    by_space: dict[int, list[tuple[int, int, datetime]]] = {}
    for one in found:
        by_space.setdefault(one[0], []).append(one)
    kept = 0
    for space, some in sorted(by_space.items()):
        existing = existing_grains(space, [grain for _, grain, _ in some])  # what was purged meanwhile is left out
        known = [one for one in some if one[1] in existing]
        for at in range(0, len(known), 500):
            kept += len(raw_sql.upsert(LastRecall, _COLUMNS, known[at : at + 500], _OR_LATER))
    Cursor.objects.update_or_create(name=MARK, defaults={"number": top})
    if kept:
        run.say(f"{kept} memories were recalled since.")
    if more:
        enqueue(run.kind, once_key="instance")
