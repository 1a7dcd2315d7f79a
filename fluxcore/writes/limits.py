"""Rate limits that are exact over threads and processes: counts per second over a sliding minute.

A limit is counted in two steps. `ask` runs before the write: it refuses a caller who is clearly over the limit, cheaply
and without a lock. `Ticket.take` runs inside the write's transaction and makes the exact count, which is rolled back
with the write. With Redis, `ask` counts in one script, and the count is given back if the write fails. When Redis does
not answer, the database counts instead, and continues to count for a whole window after Redis is back: a Redis that
fails repeatedly, or has lost its data, never lifts the limit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from fluxcore import clock
from fluxcore.errors import Invalid, RateLimited
from fluxcore.models import LimitWindow
from fluxcore.writes import limit_messages, redis_limits
from fluxcore.writes.limit_windows import (
    WINDOW,
    LimitUse,
    add_count,
    any_alive,
    digest,
    place_of,
    share_of,
    sum_alive,
    wait_for,
)

_MANY = 1_000  # entries of _counted above which those without counts in the last minute are removed
_counted: dict[str, dict[str, int]] = {}
_counting = threading.Lock()


@dataclass
class Ticket:
    """Permission to count `cost` under a limit. `take` counts it, inside the write."""

    key: str
    cost: int
    limit: int
    total: int  # limit of all labels of the key together; without labels equal to `limit`
    label: str = ""  # its digest
    field: str | None = None  # field in which Redis counted it; None = not counted in Redis
    in_database: bool = True
    seen: str | None = None  # the database's counts as `ask` read them

    def take(self) -> None:
        if self.in_database:
            _take_in_database(self)

    def give_back(self) -> None:
        """Undo a count in Redis after the write failed. One in the database was rolled back."""
        if self.field is not None:
            redis_limits.current().give_back(self.key, self.cost, self.field)
            self.field = None

    def refuse_if_over(self, counts: dict[str, int], now: float) -> str:
        """The place where the label counts; refused if its share or the total is used up."""
        place = place_of(counts, now, self.label)
        share_wait = wait_for(share_of(counts, place), now, self.cost, self.limit)
        total_wait = wait_for(counts, now, self.cost, self.total)
        self.refuse_if_waiting(share_wait, total_wait)
        return place

    def refuse_if_waiting(self, share_wait: float, total_wait: float) -> None:
        """Refuse if there are seconds to wait, with the limit (share or total) whose wait is longer."""
        wait = max(share_wait, total_wait)
        if wait > 0:
            share = share_wait >= total_wait and self.total > self.limit
            limit = self.limit if share_wait >= total_wait else self.total
            raise limit_messages.rate_reached(self.key, limit=limit, seconds=WINDOW, wait=wait, of_caller=share)


def ask(key: str, *, cost: int, limit: int, label: str = "", total: int | None = None) -> Ticket:
    """A ticket for `cost` under the `limit` of a label and the `total` of the key; refused if they are reached."""
    if cost > limit:
        message, details = limit_messages.over_rate(key, limit=limit, cost=cost)
        raise Invalid(message, **details)
    ticket = Ticket(key, cost, limit, limit if total is None else total, digest(label))
    if settings.REDIS_URL and redis_limits.current().answering():
        taken = redis_limits.current().take(key, cost=cost, limit=limit, total=ticket.total, label=ticket.label)
        if taken is not None:
            share_wait, total_wait, ticket.field = taken
            ticket.refuse_if_waiting(share_wait, total_wait)
            ticket.in_database = redis_limits.current().doubtful()
    if ticket.in_database:
        try:
            ticket.seen = _counts(key)
            ticket.refuse_if_over(_parsed(ticket.seen), clock.seconds())
        except RateLimited:
            ticket.give_back()
            raise
    return ticket


def count(key: str, *, limit: int) -> float:
    """Count one call that writes nothing: 0 if it is allowed, else the seconds to wait.

    For calls too cheap for a commit. Exact over all processes with Redis, else within this process.
    """
    if settings.REDIS_URL and redis_limits.current().answering():
        taken = redis_limits.current().take(key, cost=1, limit=limit, total=limit)
        if taken is not None:
            return max(taken[0], taken[1])
    now = clock.seconds()
    with _counting:
        if len(_counted) > _MANY:
            for old in [old for old, counts in _counted.items() if not any_alive(counts, now)]:
                del _counted[old]
        counts = _counted.get(key, {})
        wait = wait_for(counts, now, 1, limit)
        if not wait:
            _counted[key] = add_count(counts, now, 1)
    return wait


def read_use(keys: Collection[str]) -> dict[str, LimitUse]:
    """Use of these limits in the last minute; unused limits are left out."""
    now, found = clock.seconds(), dict(LimitWindow.objects.filter(key__in=keys).values_list("key", "counts"))
    sums = {key: sum_alive(counts, now) for key, counts in found.items()}
    if settings.REDIS_URL and redis_limits.current().answering():
        for key, counts in redis_limits.current().counts(keys).items():
            # While both Redis and the database count, each may have only a part.
            sums[key] = max(sums.get(key, LimitUse(0, 0)), sum_alive(counts, now))
    return {key: count for key, count in sums.items() if count.total}


def _take_in_database(ticket: Ticket) -> None:
    """Count in the database, in one statement if the counts are still as `ask` read them."""
    if ticket.seen is not None and _add(ticket, ticket.seen, _SET_IF[connection.vendor], [ticket.seen]):
        return
    # SQLite's write transaction is exclusive already; PostgreSQL needs the row lock.
    lock = " FOR UPDATE" if connection.vendor == "postgresql" else ""
    counts = _counts(ticket.key, lock)
    if counts is None:
        LimitWindow.objects.bulk_create([LimitWindow(key=ticket.key)], ignore_conflicts=True)
        counts = _counts(ticket.key, lock)
    _add(ticket, counts, _SET, [])


def _add(ticket: Ticket, counts: str | None, statement: str, more: list[str]) -> bool:
    now, held = clock.seconds(), _parsed(counts)
    place = ticket.refuse_if_over(held, now)
    with connection.cursor() as cursor:
        cursor.execute(statement, [json.dumps(add_count(held, now, ticket.cost, place)), ticket.key, *more])
        return bool(cursor.rowcount)


_GET = f"SELECT counts FROM {LimitWindow._meta.db_table} WHERE key = %s"  # noqa: S608
_SET = f"UPDATE {LimitWindow._meta.db_table} SET counts = %s WHERE key = %s"  # noqa: S608
_SET_IF = {"sqlite": f"{_SET} AND counts = %s", "postgresql": f"{_SET} AND counts = %s::jsonb"}


def _counts(key: str, lock: str = "") -> str | None:
    """A window's counts as JSON text, read with plain SQL for speed: every store needs them."""
    with connection.cursor() as cursor:
        cursor.execute(_GET + lock, [key])
        row = cursor.fetchone()
    return None if row is None else str(row[0])  # a plain cursor returns JSON as text on both databases


def _parsed(counts: str | None) -> dict[str, int]:
    found: dict[str, int] = json.loads(counts) if counts is not None else {}
    return found


def forget_old() -> int:
    """Delete windows without counts in the last minute."""
    now = clock.seconds()
    old = [
        key for key, counts in LimitWindow.objects.values_list("key", "counts").iterator() if not any_alive(counts, now)
    ]
    rows = LimitWindow.objects.filter(pk__in=old[:500])
    if connection.vendor == "postgresql":
        # Another process may have counted in one of them since: lock the rows, then check them again.
        locked = rows.select_for_update(skip_locked=True).values_list("key", "counts")
        rows = rows.filter(pk__in=[key for key, counts in locked if not any_alive(counts, now)])
    deleted, _ = rows.delete()
    return deleted
