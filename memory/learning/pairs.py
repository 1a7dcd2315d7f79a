"""Pairs of grains useful for the same question: counted, and linked by a shortcut once they are frequent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from django.db import connection
from django.db.models import Exists, OuterRef

from fluxcore import clock, config, raw_sql
from memory.grains.linking import NewConduit, insert_conduits
from memory.grains.models import Conduit, Relation, UsefulPair, Vote

_TABLE = UsefulPair._meta.db_table
_PAIR = ("space", "one", "other", "count")
_OR_COUNT = (
    "ON CONFLICT (space_id, one_id, other_id) "
    f"DO UPDATE SET count = {_TABLE}.count + excluded.count RETURNING one_id, other_id, count, conduit"
)
_HAS_ONE = Exists(Conduit.objects.filter(id=OuterRef("conduit")))
_MOST_TOGETHER = 12  # useful grains of one question that are paired


@dataclass
class ShortcutChanges:
    """New shortcuts as packed for the arena, and ids of removed ones."""

    made: list[tuple[object, ...]] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)


def recount_pairs(
    space: int, judged: Iterable[int], votes: Sequence[int], moved: Iterable[int] = ()
) -> ShortcutChanges:
    """Count the pairs of these questions again after the given votes were applied or undone; `moved` are the
    conduits these votes changed.
    """
    change = _change(space, judged, set(votes))
    found = ShortcutChanges(cut=_abandoned(space, moved))
    if not change:
        if found.cut:
            _cut(space, found.cut)
        return found
    settings = config.current()
    values = [(space, one, other, count) for (one, other), count in sorted(change.items())]
    wanted: list[tuple[int, int]] = []
    for one, other, count, conduit in raw_sql.upsert(UsefulPair, _PAIR, values, _OR_COUNT):
        if conduit is None and count >= settings.SHORTCUT_THRESHOLD:
            wanted.append((one, other))
        elif conduit is not None and count < settings.SHORTCUT_THRESHOLD:
            found.cut.append(conduit)
    # A shortcut that later votes used is kept until those votes are undone too.
    found.cut = list(Conduit.objects.filter(id__in=found.cut, gain=0, loss=0).values_list("id", flat=True))
    _cut(space, found.cut)
    for pair in wanted:
        if _room(space, pair):
            (inserted,) = insert_conduits(
                space,
                [NewConduit(pair[1], Relation.RELATED, settings.INITIAL_SHORTCUT_WEIGHT, grain=pair[0])],
                int(clock.now().timestamp()),
            )
            if inserted is not None:  # None: the grains were linked already
                found.made.append(inserted)
                UsefulPair.objects.filter(space=space, one=pair[0], other=pair[1]).update(conduit=inserted[0])
    return found


def _abandoned(space: int, moved: Iterable[int]) -> list[int]:
    """Shortcuts among these conduits that neither a frequent pair nor a vote supports."""
    least = config.current().SHORTCUT_THRESHOLD
    idle = Conduit.objects.filter(id__in=list(moved), from_entry=None, gain=0, loss=0)
    return [
        number
        for number, one, other in idle.values_list("id", "from_grain_id", "to_grain_id")
        if UsefulPair.objects.filter(space=space, one=one, other=other, conduit=number, count__lt=least).exists()
    ]


def _cut(space: int, conduits: Sequence[int]) -> None:
    """Remove these shortcuts, and pairs of count 0 without a shortcut."""
    if conduits:
        UsefulPair.objects.filter(space=space, conduit__in=conduits).update(conduit=None)
        Conduit.objects.filter(id__in=conduits).delete()
    UsefulPair.objects.filter(space=space, count__lte=0).exclude(_HAS_ONE).delete()


def _change(space: int, judged: Iterable[int], votes: set[int]) -> dict[tuple[int, int], int]:
    """Change of the counts of pairs by these votes.

    A question's pairs are counted when all their votes are applied: `applied` still says what was counted before.
    """
    by_question: dict[int, list[tuple[int, bool, bool]]] = defaultdict(list)
    rows_of = Vote.objects.filter(space=space, judged__in=list(judged)).values_list(
        "judged_id", "grain_id", "id", "useful", "undone_at", "counted"
    )
    for question, grain, number, useful, undone, counted in rows_of:
        now = useful and undone is None if number in votes else counted
        by_question[question].append((grain, counted, now))
    change: dict[tuple[int, int], int] = defaultdict(int)
    for found in by_question.values():
        for sign, at in ((-1, 1), (1, 2)):
            grains = sorted(one[0] for one in found if one[at])[:_MOST_TOGETHER]
            for pair in combinations(grains, 2):
                change[pair] += sign
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {Vote._meta.db_table} SET counted = (useful AND undone_at IS NULL) "  # noqa: S608
            f"WHERE id IN ({', '.join(['%s'] * len(votes))})",
            list(votes),
        )
    return {pair: count for pair, count in change.items() if count}


def _room(space: int, pair: tuple[int, int]) -> bool:
    """Whether both grains have fewer conduits than MAX_EDGES_PER_GRAIN."""
    most = config.current().MAX_EDGES_PER_GRAIN
    return all(
        Conduit.objects.filter(space=space, from_grain=one).count()
        + Conduit.objects.filter(space=space, to_grain=one, from_entry=None).count()
        < most
        for one in pair
    )
