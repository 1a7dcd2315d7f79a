"""Limits that are exact over threads and processes: counts per second over a sliding minute.

A limit is taken in two steps. `ask` runs before the write: it refuses a caller who is plainly over,
cheaply and without a lock. `Ticket.take` runs inside the write's transaction and is the count that
holds, rolled back with the write if that fails. With Redis the count is taken by `ask` in one script
and given back if the write fails. When Redis does not answer, the database counts instead, and goes on
counting beside it for a whole window after it came back: a Redis that fails again and again, or lost
its memory while away, never opens the limit.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection

from fluxcore.errors import Invalid, RateLimited
from fluxcore.models import LimitWindow

log = logging.getLogger(__name__)

WINDOW = 60  # seconds
_MANY = 1_000  # callers counted in this process, above which those whose minute is over are forgotten
_counted: dict[str, dict[str, int]] = {}
_counting = threading.Lock()
_REDIS_PAUSE = 5.0  # seconds the database counts alone after Redis failed to answer


def wait_for(counts: dict[str, int], now: float, cost: int, limit: int) -> float:
    """Seconds until `cost` more fit under `limit`; 0 = now.

    A second counts until all of it has left the window, so the limit is never exceeded and the
    answer is late by less than a second. Seconds from a clock that has since been set back are
    dropped once they are more than a window ahead.
    """
    alive = sorted((int(second), count) for second, count in counts.items() if _alive(int(second), now))
    total = sum(count for _, count in alive)
    wait = 0.0
    for second, count in alive:
        if total + cost <= limit:
            break
        total -= count
        wait = second + 1 + WINDOW - now
    return wait


def _alive(second: int, now: float) -> bool:
    return now - WINDOW < second + 1 <= now + 1 + WINDOW


def added(counts: dict[str, int], now: float, cost: int) -> dict[str, int]:
    kept = {second: count for second, count in counts.items() if _alive(int(second), now)}
    here = str(int(now))
    kept[here] = kept.get(here, 0) + cost
    return kept


@dataclass
class Ticket:
    """Permission to count `cost` under a limit, to be taken inside the write."""

    key: str
    cost: int
    limit: int
    second: int | None = None  # where Redis counted it; None = it did not
    in_database: bool = True

    def take(self) -> None:
        if self.in_database:
            _take_in_database(self.key, self.cost, self.limit)

    def give_back(self) -> None:
        """The write failed: a count made in Redis must not be charged to the caller."""
        if self.second is not None:
            _redis().give_back(self.key, self.cost, self.second)
            self.second = None


def ask(key: str, *, cost: int, limit: int) -> Ticket:
    if cost > limit:
        raise Invalid(f"One call may not take more than the limit of {limit} a minute.", limit=limit)
    ticket = Ticket(key, cost, limit)
    if settings.REDIS_URL and _redis().answering():
        taken = _redis().take(key, cost, limit)
        if taken is not None:
            wait, ticket.second = taken
            _refuse_if(wait, limit)
            ticket.in_database = _redis().doubtful()
    if ticket.in_database:
        try:
            _refuse_if(wait_for(_counts(key) or {}, time.time(), cost, limit), limit)
        except RateLimited:
            ticket.give_back()
            raise
    return ticket


def count(key: str, *, limit: int) -> float:
    """Count one call that writes nothing: 0 if it may go on, else the seconds to wait.

    For what is too cheap to be given a commit. Exact over all processes with Redis, else within this one.
    """
    if settings.REDIS_URL and _redis().answering():
        taken = _redis().take(key, 1, limit)
        if taken is not None:
            return taken[0]
    now = time.time()
    with _counting:
        if len(_counted) > _MANY:
            for one in [one for one, counts in _counted.items() if not _any_alive(counts, now)]:
                del _counted[one]
        counts = _counted.get(key, {})
        wait = wait_for(counts, now, 1, limit)
        if not wait:
            _counted[key] = added(counts, now, 1)
    return wait


def used(keys: Collection[str]) -> dict[str, int]:
    """What counts under these limits at this moment; only those under which anything does."""
    now, found = time.time(), dict(LimitWindow.objects.filter(key__in=keys).values_list("key", "counts"))
    sums = {key: _alive_sum(counts, now) for key, counts in found.items()}
    if settings.REDIS_URL and _redis().answering():
        for key, counts in _redis().counts(keys).items():
            # While the database counts beside it, each knows of some.
            sums[key] = max(sums.get(key, 0), _alive_sum(counts, now))
    return {key: count for key, count in sums.items() if count}


def _alive_sum(counts: Mapping[str, int], now: float) -> int:
    return sum(int(count) for second, count in counts.items() if _alive(int(second), now))


def _refuse_if(wait: float, limit: int) -> None:
    if wait > 0:
        raise RateLimited(retry_after=wait, limit=limit, per_seconds=WINDOW)


def _take_in_database(key: str, cost: int, limit: int) -> None:
    # SQLite's write transaction is exclusive already; PostgreSQL needs the row lock.
    lock = " FOR UPDATE" if connection.vendor == "postgresql" else ""
    counts = _counts(key, lock)
    if counts is None:
        LimitWindow.objects.bulk_create([LimitWindow(key=key)], ignore_conflicts=True)
        counts = _counts(key, lock) or {}
    now = time.time()
    _refuse_if(wait_for(counts, now, cost, limit), limit)
    with connection.cursor() as cursor:
        cursor.execute(_SET, [json.dumps(added(counts, now, cost)), key])


_GET = f"SELECT counts FROM {LimitWindow._meta.db_table} WHERE key = %s"  # noqa: S608
_SET = f"UPDATE {LimitWindow._meta.db_table} SET counts = %s WHERE key = %s"  # noqa: S608


def _counts(key: str, lock: str = "") -> dict[str, int] | None:
    """A window's counts, with plain SQL: every store asks twice."""
    with connection.cursor() as cursor:
        cursor.execute(_GET + lock, [key])
        row = cursor.fetchone()
    if row is None:
        return None
    found: dict[str, int] = json.loads(row[0])  # both databases hand the JSON out as text to a plain cursor
    return found


# The same rule as `wait_for` and `added`, run inside Redis so that check and count are one step.
_SCRIPT = """
local now, cost, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local flat, alive, total = redis.call('HGETALL', KEYS[1]), {}, 0
for i = 1, #flat, 2 do
  local second, count = tonumber(flat[i]), tonumber(flat[i + 1])
  if second + 1 > now - window and second + 1 <= now + 1 + window then
    alive[#alive + 1] = {second, count}
    total = total + count
  else
    redis.call('HDEL', KEYS[1], flat[i])
  end
end
if total + cost <= limit then
  redis.call('HINCRBY', KEYS[1], math.floor(now), cost)
  redis.call('EXPIRE', KEYS[1], window * 2 + 2)
  return {'0', math.floor(now)}
end
table.sort(alive, function(a, b) return a[1] < b[1] end)
local wait = 0
for _, pair in ipairs(alive) do
  if total + cost <= limit then break end
  total = total - pair[2]
  wait = pair[1] + 1 + window - now
end
return {tostring(wait), -1}
"""

# Taken from the second it was counted in, and only if that is still there: a negative count left
# behind in another second would let somebody over the limit later.
_GIVE_BACK = """
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if count >= tonumber(ARGV[2]) then redis.call('HINCRBY', KEYS[1], ARGV[1], -tonumber(ARGV[2])) end
return 0
"""


class _Redis:
    def __init__(self, url: str) -> None:
        import redis

        self._errors = (redis.RedisError, OSError)
        self._client = redis.Redis.from_url(
            url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=None, health_check_interval=0
        )
        self._script = self._client.register_script(_SCRIPT)
        self._give_back = self._client.register_script(_GIVE_BACK)
        self._prefix = f"flux:{settings.HOME.name}:limit:"
        self._quiet_until = 0.0
        self._doubtful_until = 0.0

    def doubtful(self) -> bool:
        """True until Redis has answered for a whole window: its counts may not be all there were."""
        return time.monotonic() < self._doubtful_until

    def _failed(self, error: BaseException) -> None:
        log.warning("Redis does not answer (%s); the database counts limits meanwhile", type(error).__name__)
        self._quiet_until = time.monotonic() + _REDIS_PAUSE
        self._doubtful_until = self._quiet_until + WINDOW + 2

    def answering(self) -> bool:
        return time.monotonic() >= self._quiet_until

    def take(self, key: str, cost: int, limit: int) -> tuple[float, int | None] | None:
        """Seconds to wait (0 = taken) and the second it counts in; None when Redis does not answer."""
        try:
            answer: Any = self._script(keys=[self._prefix + key], args=[time.time(), cost, limit, WINDOW])
        except self._errors as error:
            self._failed(error)
            return None
        wait, second = float(answer[0]), int(answer[1])
        return wait, second if second >= 0 else None

    def counts(self, keys: Collection[str]) -> dict[str, dict[str, int]]:
        """The windows as they are; nothing when it does not answer."""
        try:
            with self._client.pipeline(transaction=False) as line:
                for key in keys:
                    line.hgetall(self._prefix + key)
                answers: Any = line.execute()
        except self._errors as error:
            self._failed(error)
            return {}
        return {
            key: {second.decode(): int(count) for second, count in flat.items()}
            for key, flat in zip(keys, answers, strict=True)
        }

    def give_back(self, key: str, cost: int, second: int) -> None:
        try:
            self._give_back(keys=[self._prefix + key], args=[second, cost])
        except self._errors as error:
            self._failed(error)


_made: dict[str, _Redis] = {}
_making = threading.Lock()


def _redis() -> _Redis:
    url = settings.REDIS_URL or ""
    with _making:
        if url not in _made:
            _made[url] = _Redis(url)
        return _made[url]


def forget_old() -> int:
    """Drop windows in which nothing counts any more."""
    now = time.time()
    old = [
        key
        for key, counts in LimitWindow.objects.values_list("key", "counts").iterator()
        if not _any_alive(counts, now)
    ]
    rows = LimitWindow.objects.filter(pk__in=old[:500])
    if connection.vendor == "postgresql":
        # Somebody may have counted in one of them since: lock, then look again.
        locked = rows.select_for_update(skip_locked=True).values_list("key", "counts")
        rows = rows.filter(pk__in=[key for key, counts in locked if not _any_alive(counts, now)])
    deleted, _ = rows.delete()
    return deleted


def _any_alive(counts: dict[str, int], now: float) -> bool:
    return any(_alive(int(second), now) for second in counts)
