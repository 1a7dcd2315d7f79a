"""Storage use: number and bytes of grains by writer and by space, and their limits.

Counts are separate rows, changed in the commit that stores or purges grains; grains themselves are never counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from django.db import connection

from accounts.principals import Principal
from fluxcore import config
from fluxcore.errors import QuotaReached
from fluxcore.writes import limit_messages
from memory.engine.kinds import MADE_KINDS
from memory.grains.models import Grain, GrainUsage

SPACE = ""  # writer of the row that sums all writers of a space
_TABLE = GrainUsage._meta.db_table
_ADD = (
    f"INSERT INTO {_TABLE} (space_id, writer, grains, bytes) VALUES {{rows}} "  # noqa: S608
    f"ON CONFLICT (space_id, writer) DO UPDATE SET grains = {_TABLE}.grains + excluded.grains, "
    f"bytes = {_TABLE}.bytes + excluded.bytes RETURNING writer, grains, bytes"
)
_Used = dict[str, tuple[int, int]]  # number of grains and their bytes, by writer
_DO = "Delete memories and purge them"


@dataclass(frozen=True)
class Ceiling:
    """Limit of one writer, or of the space, in grains or bytes."""

    writer: str
    called: str
    what: str  # "grains" or "bytes"
    key: str  # of config.yaml

    @property
    def limit(self) -> int:
        found: int = getattr(config.current(), self.key)
        return found

    def refusal(self) -> QuotaReached:
        return limit_messages.quota_reached(
            self.called, limit=self.limit, what=self.what, raised_by=self.key, do=_DO, full=self.writer or "space"
        )


def ceilings(principal: Principal) -> list[Ceiling]:
    """Ceilings of a caller, its own before those of the space, which alone apply to people, the shell and models."""
    own = [
        Ceiling(principal.actor, f"The memory of {principal.name}", "grains", "MAX_GRAINS_PER_AGENT"),
        Ceiling(principal.actor, f"The memory of {principal.name}", "bytes", "MAX_BYTES_PER_AGENT"),
    ]
    return [
        *(own if principal.agent is not None else []),
        Ceiling(SPACE, "The space", "grains", "MAX_GRAINS_PER_SPACE"),
        Ceiling(SPACE, "The space", "bytes", "MAX_BYTES_PER_SPACE"),
    ]


def add_usage(principal: Principal, texts: Sequence[str]) -> None:
    """Count new grains with one statement, inside the write; raises a refusal if a ceiling is exceeded."""
    size = sum(map(size_of, texts))
    used = _add(principal.space or 0, {SPACE: (len(texts), size), principal.actor: (len(texts), size)})
    for one in ceilings(principal):
        if _part(used, one) > one.limit:
            raise one.refusal()


def count_fitting(principal: Principal, texts: Sequence[str]) -> tuple[int, QuotaReached | None]:
    """Number of these new grains, from the first on, that fit, and the refusal of the others. Inside the write."""
    used, fits, refusal = load_usage(principal.space or 0), len(texts), None
    for one in ceilings(principal):
        costs = [1] * len(texts) if one.what == "grains" else map(size_of, texts)
        left = sum(total <= one.limit for total in accumulate(costs, initial=_part(used, one))) - 1
        if max(left, 0) < fits:
            fits, refusal = max(left, 0), one.refusal()
    return fits, refusal


def subtract_usage(space: int, grains: Iterable[Grain]) -> None:
    """Subtract purged grains, inside the write."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for row in grains:
        if row.status in MADE_KINDS:
            continue  # they were never counted here
        for writer in (SPACE, row.writer):
            counts[writer] += 1
            sizes[writer] += size_of(row.text)
    if counts:
        _add(space, {writer: (-counts[writer], -sizes[writer]) for writer in counts})


def load_usage(space: int) -> _Used:
    """Grains and bytes stored in a space, by writer."""
    found = GrainUsage.objects.filter(space=space).values_list("writer", "grains", "bytes")
    return {writer: (grains, size) for writer, grains, size in found}


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _part(used: _Used, ceiling: Ceiling) -> int:
    return used.get(ceiling.writer, (0, 0))[ceiling.what == "bytes"]


def _add(space: int, changes: _Used) -> _Used:
    rows = sorted(changes.items())
    values = [value for writer, (grains, size) in rows for value in (space, writer, grains, size)]
    with connection.cursor() as cursor:
        cursor.execute(_ADD.format(rows=", ".join(["(%s, %s, %s, %s)"] * len(rows))), values)
        return {writer: (grains, size) for writer, grains, size in cursor.fetchall()}
