"""Update of conduit weights from votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection

from fluxcore import config
from memory.engine.text import words
from memory.grains.models import Conduit, Entry, Vote, VoteEffect
from memory.learning import credit
from memory.learning.credit import ConduitCredit
from memory.learning.vote_stats import VoteStats

_CONDUITS = Conduit._meta.db_table
_CHANGED = (
    f"UPDATE {_CONDUITS} SET weight = %s, affinity = %s, used_at = %s, use_count = %s, base = %s, "  # noqa: S608
    "base_affinity = %s, base_used_at = %s, base_uses = %s, gain = %s, loss = %s WHERE id = %s"
)
_HELD = (
    "SELECT c.id, c.from_entry_id, e.kind, e.feature, c.from_grain_id, c.to_grain_id, c.relation, c.weight, "  # noqa: S608
    "c.affinity, c.decay_class, c.made_at, c.used_at, c.use_count, c.base, c.base_affinity, c.base_used_at, "
    f"c.base_uses, c.gain, c.loss FROM {_CONDUITS} c "
    f"LEFT JOIN {Entry._meta.db_table} e ON e.id = c.from_entry_id WHERE c.id IN ({{marks}}) ORDER BY c.id"
)
_USED = (
    f"SELECT e.conduit_id, COUNT(*), {{seconds}} FROM {VoteEffect._meta.db_table} e "  # noqa: S608
    f"JOIN {Vote._meta.db_table} v ON v.id = e.vote_id "
    "WHERE e.conduit_id IN ({marks}) AND v.useful GROUP BY e.conduit_id"
)


@dataclass
class ConduitUses:
    """Useful votes over each conduit: those that are new, and conduits where earlier ones were taken back."""

    new: dict[int, tuple[int, int]] = field(default_factory=dict)  # how many, and when the last one was given
    again: set[int] = field(default_factory=set)

    def add(self, conduit: int, at: int) -> None:
        count, last = self.new.get(conduit, (0, 0))
        self.new[conduit] = count + 1, max(last, at)


@dataclass
class WeightChanges:
    """Changed conduits as packed for the arena, ids of removed ones, and statistics of the changes."""

    changed: list[tuple[object, ...]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    moved: VoteStats = field(default_factory=VoteStats)


def apply_credits(change: Mapping[int, ConduitCredit], born: Iterable[int], uses: ConduitUses) -> WeightChanges:
    """Add the steps to their conduits. The effects of the votes must be written already."""
    found = WeightChanges()
    touched = sorted({*(one for one, step in change.items() if step != ConduitCredit()), *born})
    if not touched:
        return found
    ceiling = config.current().WEIGHT_CEILING
    counted = _counted(sorted(uses.again & set(touched)))
    values: list[tuple[Any, ...]] = []
    for held in _held(touched):
        number, step = held.id, change.get(held.id, ConduitCredit())
        gain, loss, base = held.gain + step.gain, held.loss + step.loss, held.before_votes()
        if not gain and not loss and base.weight == 0:
            found.gone.append(number)  # it existed only because of votes that were undone
            continue
        if number in uses.again:
            count, used = counted.get(number, (0, 0))
            count, used = count + base.uses, max(used, base.used_at)
        else:
            more, last = uses.new.get(number, (0, 0))
            count, used = held.use_count + more, max(held.used_at, last)
        at = max(held.made_at, used)
        weight = credit.credited_weight(base.weight, gain, loss, ceiling)
        affinity = credit.credited_affinity(gain, loss, base.affinity) if held.entry else 1.0
        found.moved.note(held.weight, weight, by_loss=step.loss > 0)
        kept = (base.weight, base.affinity, base.used_at, base.uses) if gain or loss else (None,) * 4
        values.append((weight, affinity, at, count, *kept, gain, loss, number))
        found.changed.append(
            (
                number,
                held.entry or 0,
                held.key,
                held.from_grain or 0,
                held.to_grain,
                weight,
                affinity,
                held.made_at,
                at,
                held.relation,
                held.decay_class,
            )
        )
    with connection.cursor() as cursor:
        cursor.executemany(_CHANGED, values)
    if found.gone:
        Conduit.objects.filter(id__in=found.gone).delete()
    return found


class _BaseConduit(NamedTuple):
    """A conduit as it was before any vote."""

    weight: float
    affinity: float
    used_at: int
    uses: int


class _HeldConduit(NamedTuple):
    """A conduit as it is, with the key of the entry it begins at."""

    id: int
    entry: int | None
    key: int
    from_grain: int | None
    to_grain: int
    relation: int
    weight: float
    affinity: float
    decay_class: int
    made_at: int
    used_at: int
    use_count: int
    base: float | None
    base_affinity: float | None
    base_used_at: int | None
    base_uses: int | None
    gain: int
    loss: int

    def before_votes(self) -> _BaseConduit:
        if self.base is None:
            return _BaseConduit(self.weight, self.affinity, self.used_at, self.use_count)
        # Where the first vote came before these three were kept, nothing was.
        return _BaseConduit(self.base, self.base_affinity or 1.0, self.base_used_at or 0, self.base_uses or 0)


def _held(touched: Sequence[int]) -> Iterator[_HeldConduit]:
    with connection.cursor() as cursor:
        cursor.execute(_HELD.format(marks=_marks(touched)), list(touched))
        rows = cursor.fetchall()
    for number, entry, kind, feature, *rest in rows:
        yield _HeldConduit(number, entry, words.key(f"{kind}:{feature}") if entry else 0, *rest)


def _counted(conduits: Sequence[int]) -> dict[int, tuple[int, int]]:
    """By conduit: number of useful votes over it, and time of the last one."""
    if not conduits:
        return {}
    seconds = "floor(extract(epoch FROM MAX(v.at)))::bigint"
    if connection.vendor != "postgresql":
        seconds = "unixepoch(substr(MAX(v.at), 1, 19))"
    with connection.cursor() as cursor:
        cursor.execute(_USED.format(seconds=seconds, marks=_marks(conduits)), list(conduits))
        return {conduit: (count, at) for conduit, count, at in cursor.fetchall()}


def _marks(numbers: Sequence[int]) -> str:
    return ", ".join(["%s"] * len(numbers))
