"""Cluster use: the clusters through which a grain was useful.

A useful vote adds one ClusterUseVote for each cluster of the entries on its path: those its conduits begin at, and
those its question names. Their amounts add up to the strength of the vote: many uses make a grain widely useful,
one question never does. Amounts are whole numbers and ClusterUse is their sum: neither the order of votes nor a retry
changes it, and an undone vote leaves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Exists, Max, OuterRef, Sum

from fluxcore import raw_sql
from memory.engine.text import question
from memory.grains.models import ClusterUse, ClusterUseVote, Conduit, Entry, Member, Vote, VoteEffect
from memory.learning.credit import UNIT

# Votes without ClusterUseVote rows that one clustering examines again: their entries had no cluster before.
LATE = 2_000
_PIECE = 500
_PASSAGE = ("space", "vote", "grain", "cluster", "amount")
_TOUCH = ("space", "grain", "cluster", "weight", "at")
_PASSAGES, _TOUCHES = ClusterUseVote._meta.db_table, ClusterUse._meta.db_table
_OR_ADD = f"ON CONFLICT (vote_id, cluster_id) DO UPDATE SET amount = {_PASSAGES}.amount + excluded.amount RETURNING id"
_LOST = f"DELETE FROM {_PASSAGES} WHERE id = %s"  # noqa: S608
_CHANGED = f"UPDATE {_TOUCHES} SET weight = %s, at = %s WHERE id = %s"  # noqa: S608
_ENDED = f"DELETE FROM {_TOUCHES} WHERE id = %s"  # noqa: S608

# (vote, cluster) → (grain, amount)
Passages = dict[tuple[int, int], tuple[int, int]]


def update_cluster_use(space: int, votes: Sequence[int]) -> None:
    """Update ClusterUseVote rows of these votes, and the ClusterUse of their grains."""
    stored: Passages = {}
    numbers: dict[tuple[int, int], int] = {}
    for number, vote, cluster, grain, amount in ClusterUseVote.objects.filter(vote__in=votes).values_list(
        "id", "vote_id", "cluster_id", "grain_id", "amount"
    ):
        stored[vote, cluster], numbers[vote, cluster] = (grain, amount), number
    computed = _passages(space, votes)
    if stored == computed:
        return
    lost = [key for key in stored if stored[key] != computed.get(key)]
    new = [key for key in computed if stored.get(key) != computed[key]]
    with connection.cursor() as cursor:
        cursor.executemany(_LOST, [(numbers[key],) for key in lost])
    if new:
        raw_sql.insert(
            ClusterUseVote,
            _PASSAGE,
            [(space, vote, computed[vote, one][0], one, computed[vote, one][1]) for vote, one in new],
        )
    recompute_use(space, {*(stored[key][0] for key in lost), *(computed[key][0] for key in new)})


def find_late_votes(space: int) -> list[int]:
    """Useful votes that had no cluster when they were applied; their entries may have one now."""
    through = ClusterUseVote.objects.filter(vote=OuterRef("pk"))
    found = Vote.objects.filter(space=space, useful=True, applied=True, undone_at=None).exclude(Exists(through))
    return list(found.order_by("-id").values_list("id", flat=True)[:LATE])


def _passages(space: int, votes: Sequence[int]) -> Passages:
    standing = list(
        Vote.objects.filter(space=space, id__in=votes, useful=True, undone_at=None)
        .order_by("id")
        .values_list("id", "grain_id", "strength", "at", "judged__query")
    )
    entries = _entries(space, standing)
    shares: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for entry, cluster, weight in Member.objects.filter(
        space=space, entry__in={one for some in entries.values() for one in some}, cluster__dissolved_at=None
    ).values_list("entry_id", "cluster_id", "weight"):
        shares[entry].append((cluster, weight))
    found: Passages = {}
    for vote, grain, strength, _, _ in standing:
        known = [shares[one] for one in sorted(entries[vote]) if one in shares]
        sums: dict[int, float] = defaultdict(float)
        for some in known:
            for cluster, weight in sorted(some):
                sums[cluster] += weight / len(known)
        found |= {
            (vote, one): (grain, amount) for one, part in sums.items() if (amount := round(part * strength * UNIT))
        }
    return found


def _entries(space: int, standing: Sequence[tuple[Any, ...]]) -> dict[int, set[int]]:
    """By vote: the entries its conduits begin at, and those its question names that lead to the grain."""
    found: dict[int, set[int]] = {vote: set() for vote, *_ in standing}
    effects = VoteEffect.objects.filter(space=space, vote__in=list(found)).exclude(conduit__from_entry=None)
    for vote, entry in effects.values_list("vote_id", "conduit__from_entry_id"):
        found[vote].add(entry)
    named = {
        vote: {(str(one.kind), one.feature) for one in question.read_question(query, int(at.timestamp())).mentions}
        for vote, _, _, at, query in standing
    }
    grains = {grain for vote, grain, *_ in standing if named[vote]}
    wired: dict[int, list[tuple[int, tuple[str, str]]]] = defaultdict(list)
    if grains:
        # Conduits created by votes have no base: only entries of the text itself count here.
        conduits = Conduit.objects.filter(space=space, to_grain__in=grains, from_grain=None).exclude(base=0)
        conduits = conduits.exclude(from_entry__kind=Entry.Kind.TERM)
        for grain, entry, kind, feature in conduits.values_list(
            "to_grain_id", "from_entry_id", "from_entry__kind", "from_entry__feature"
        ):
            wired[grain].append((entry, (kind, feature)))
    for vote, grain, *_ in standing:
        found[vote] |= {entry for entry, name in wired[grain] if name in named[vote]}
    return found


def move_cluster_use(space: int, moves: dict[int, list[tuple[int, float]]]) -> int:
    """Move ClusterUseVote rows of split, merged or dissolved clusters to those of their members; returns how many."""
    grains: set[int] = set()
    lost: list[int] = []
    gained: dict[tuple[int, int, int], int] = defaultdict(int)
    for number, vote, grain, cluster, amount in ClusterUseVote.objects.filter(
        space=space, cluster__in=list(moves)
    ).values_list("id", "vote_id", "grain_id", "cluster_id", "amount"):
        lost.append(number)
        grains.add(grain)
        for to, factor in moves[cluster]:
            gained[vote, grain, to] += round(amount * factor)
    with connection.cursor() as cursor:
        cursor.executemany(_LOST, [(number,) for number in lost])
    values = [(space, vote, grain, to, amount) for (vote, grain, to), amount in sorted(gained.items()) if amount]
    for at in range(0, len(values), _PIECE):
        raw_sql.upsert(ClusterUseVote, _PASSAGE, values[at : at + _PIECE], _OR_ADD)
    recompute_use(space, grains)
    return len(lost)


def recompute_use(space: int, grains: Iterable[int]) -> None:
    """Set ClusterUse of these grains to the sum of their ClusterUseVote rows; one statement for each kind of change."""
    wanted = sorted(grains)
    for at in range(0, len(wanted), _PIECE):
        _retouch(space, wanted[at : at + _PIECE])


def _retouch(space: int, grains: list[int]) -> None:
    sums = {
        (grain, cluster): (total / UNIT, last)
        for grain, cluster, total, last in ClusterUseVote.objects.filter(space=space, grain__in=grains)
        .values_list("grain_id", "cluster_id")
        .annotate(Sum("amount"), Max("vote__at"))
    }
    held = {
        (grain, cluster): (number, (weight, at))
        for number, grain, cluster, weight, at in ClusterUse.objects.filter(space=space, grain__in=grains).values_list(
            "id", "grain_id", "cluster_id", "weight", "at"
        )
    }
    with connection.cursor() as cursor:
        cursor.executemany(_ENDED, [(held[key][0],) for key in held.keys() - sums.keys()])
        cursor.executemany(
            _CHANGED,
            [
                (weight, raw_sql.adapt_moment(last), held[key][0])
                for key, (weight, last) in sums.items()
                if key in held and held[key][1] != (weight, last)
            ],
        )
    new = [(space, *key, *sums[key]) for key in sums if key not in held]
    if new:
        raw_sql.insert(ClusterUse, _TOUCH, new)
