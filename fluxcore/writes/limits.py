"""Rate limits that are exact over threads and processes: counts per second over a sliding minute.

A limit is counted in two steps. `ask` runs before the write: it refuses a caller who is clearly over the limit, cheaply
and without a lock. `Ticket.take` runs inside the write's transaction and makes the exact count, which is rolled back
with the write. With Redis, `ask` counts in one script, and the count is given back if the write fails. When Redis does
not answer, the database counts instead, and continues to count for a whole window after Redis is back: a Redis that
fails repeatedly, or has lost its data, never lifts the limit.

Each caller of an agent (`X-Caller-Id`) has a share inside the total of the agent. All counts of an agent are in one
window, by second and by a digest of the label, so that both limits are checked in one read and counted in one write. A
window has at most MOST_LABELS labels at a time; further labels share one place.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

from fluxcore import clock
from fluxcore.errors import Invalid, RateLimited
from fluxcore.models import LimitWindow
from fluxcore.writes import limit_messages

log = logging.getLogger(__name__)

WINDOW = 60  # seconds
MOST_LABELS = 256  # labels of one agent that have their own share in the same minute
OTHERS = "*"  # the place shared by labels above MOST_LABELS
_MANY = 1_000  # entries of _counted above which those without counts in the last minute are removed
_counted: dict[str, dict[str, int]] = {}
_counting = threading.Lock()
_REDIS_PAUSE = 5.0  # seconds without asking Redis after it has failed


def wait_for(counts: dict[str, int], now: float, cost: int, limit: int) -> float:
    """Seconds until `cost` more fit under `limit`; 0 = now.

    A second counts until all of it has left the window, so the limit is never exceeded and the wait is too long by
    less than a second. Seconds in the future (from a clock that was set back) are ignored if they are more than a
    window ahead.
    """
    alive = sorted((_second(field), count) for field, count in counts.items() if _alive(_second(field), now))
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


def add_count(counts: dict[str, int], now: float, cost: int, place: str = "") -> dict[str, int]:
    kept = {field: count for field, count in counts.items() if _alive(_second(field), now)}
    field = f"{int(now)}/{place}" if place else str(int(now))
    kept[field] = kept.get(field, 0) + cost
    return kept


def _second(field: str) -> int:
    """The second of a window's field, which is a second or a second and the digest of a label: 1800000000/5f1d…"""
    return int(field.partition("/")[0])


def digest(label: str) -> str:
    """Digest of a label for a window, because labels may be long and contain anything; "" without a label."""
    return hashlib.blake2b(label.encode(), digest_size=6).hexdigest() if label else ""


def field_of(counts: Mapping[str, int], now: float, label: str) -> str:
    """Place where a label counts: its digest, or OTHERS if the window has too many labels already.

    While OTHERS has counts, no new label gets its own place, because its earlier counts may be in OTHERS.
    """
    if not label:
        return ""
    known = {field.partition("/")[2] for field in counts if _alive(_second(field), now)} - {""}
    return label if label in known or (OTHERS not in known and len(known) < MOST_LABELS) else OTHERS


def share_of(counts: Mapping[str, int], place: str) -> dict[str, int]:
    return {field: count for field, count in counts.items() if field.partition("/")[2] == place}


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
            _redis().give_back(self.key, self.cost, self.field)
            self.field = None

    def refuse_if_over(self, counts: dict[str, int], now: float) -> str:
        """The place where the label counts; refused if its share or the total is used up."""
        place = field_of(counts, now, self.label)
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
    if settings.REDIS_URL and _redis().answering():
        taken = _redis().take(ticket)
        if taken is not None:
            share_wait, total_wait, ticket.field = taken
            ticket.refuse_if_waiting(share_wait, total_wait)
            ticket.in_database = _redis().doubtful()
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
    if settings.REDIS_URL and _redis().answering():
        taken = _redis().take(Ticket(key, 1, limit, limit))
        if taken is not None:
            return max(taken[0], taken[1])
    now = clock.seconds()
    with _counting:
        if len(_counted) > _MANY:
            for old in [old for old, counts in _counted.items() if not _any_alive(counts, now)]:
                del _counted[old]
        counts = _counted.get(key, {})
        wait = wait_for(counts, now, 1, limit)
        if not wait:
            _counted[key] = add_count(counts, now, 1)
    return wait


class LimitUse(NamedTuple):
    """Use of a limit in the last minute: in total, and by the label that has used most."""

    total: int
    busiest: int


def read_use(keys: Collection[str]) -> dict[str, LimitUse]:
    """Use of these limits in the last minute; unused limits are left out."""
    now, found = clock.seconds(), dict(LimitWindow.objects.filter(key__in=keys).values_list("key", "counts"))
    sums = {key: _alive_sums(counts, now) for key, counts in found.items()}
    if settings.REDIS_URL and _redis().answering():
        for key, counts in _redis().counts(keys).items():
            # While both Redis and the database count, each may have only a part.
            sums[key] = max(sums.get(key, LimitUse(0, 0)), _alive_sums(counts, now))
    return {key: count for key, count in sums.items() if count.total}


def _alive_sums(counts: Mapping[str, int], now: float) -> LimitUse:
    by_place: Counter[str] = Counter()
    for field, count in counts.items():
        if _alive(_second(field), now):
            by_place[field.partition("/")[2]] += int(count)
    return LimitUse(by_place.total(), max(by_place.values(), default=0))


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


# The same rule as `field_of`, `wait_for` and `add_count`, run inside Redis so that check and count are one step.
_SCRIPT = """
local now, cost, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local limit, total, label, most, others = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], tonumber(ARGV[7]), ARGV[8]
local flat, alive, known, labels = redis.call('HGETALL', KEYS[1]), {}, {}, 0
for i = 1, #flat, 2 do
  local second, place = string.match(flat[i], '^(%d+)/?(.*)$')
  second = tonumber(second)
  if second + 1 > now - window and second + 1 <= now + 1 + window then
    alive[#alive + 1] = {second, tonumber(flat[i + 1]), place}
    if place ~= '' and not known[place] then
      known[place] = true
      labels = labels + 1
    end
  else
    redis.call('HDEL', KEYS[1], flat[i])
  end
end
if label ~= '' and not known[label] and (known[others] or labels >= most) then label = others end
table.sort(alive, function(a, b) return a[1] < b[1] end)
local function wait_for(bound, place)
  local used, wait = 0, 0
  for _, entry in ipairs(alive) do if not place or entry[3] == place then used = used + entry[2] end end
  for _, entry in ipairs(alive) do
    if used + cost <= bound then break end
    if not place or entry[3] == place then
      used = used - entry[2]
      wait = entry[1] + 1 + window - now
    end
  end
  return wait
end
local share_wait, total_wait = wait_for(limit, label), wait_for(total, nil)
if share_wait > 0 or total_wait > 0 then return {tostring(share_wait), tostring(total_wait), ''} end
local field = tostring(math.floor(now))
if label ~= '' then field = field .. '/' .. label end
redis.call('HINCRBY', KEYS[1], field, cost)
redis.call('EXPIRE', KEYS[1], window * 2 + 2)
return {'0', '0', field}
"""

# Gives back a count in the second where it was counted, and only if that second still exists: a negative count in
# another second would let somebody over the limit later.
_GIVE_BACK = """
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if count >= tonumber(ARGV[2]) then redis.call('HINCRBY', KEYS[1], ARGV[1], -tonumber(ARGV[2])) end
return 0
"""


class _Redis:
    """Counts of limits in Redis."""

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
        """True until Redis has answered for a whole window: its counts may be incomplete before."""
        return time.monotonic() < self._doubtful_until

    def _failed(self, error: BaseException) -> None:
        log.warning("Redis does not answer (%s); the database counts limits meanwhile", type(error).__name__)
        self._quiet_until = time.monotonic() + _REDIS_PAUSE
        self._doubtful_until = self._quiet_until + WINDOW + 2

    def answering(self) -> bool:
        return time.monotonic() >= self._quiet_until

    def take(self, ticket: Ticket) -> tuple[float, float, str | None] | None:
        """Count a ticket: seconds to wait for the label's share and for the total, and the field it was counted in.

        None when Redis does not answer.
        """
        args = (clock.seconds(), ticket.cost, WINDOW, ticket.limit, ticket.total, ticket.label, MOST_LABELS, OTHERS)
        try:
            answer: Any = self._script(keys=[self._prefix + ticket.key], args=args)
        except self._errors as error:
            self._failed(error)
            return None
        return float(answer[0]), float(answer[1]), answer[2].decode() or None

    def counts(self, keys: Collection[str]) -> dict[str, dict[str, int]]:
        """The counts of these windows; empty if Redis does not answer."""
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for key in keys:
                    pipeline.hgetall(self._prefix + key)
                answers: Any = pipeline.execute()
        except self._errors as error:
            self._failed(error)
            return {}
        return {
            key: {field.decode(): int(count) for field, count in flat.items()}
            for key, flat in zip(keys, answers, strict=True)
        }

    def give_back(self, key: str, cost: int, field: str) -> None:
        try:
            self._give_back(keys=[self._prefix + key], args=[field, cost])
        except self._errors as error:
            self._failed(error)


_redis_client: dict[str, _Redis] = {}
_redis_lock = threading.Lock()


def _redis() -> _Redis:
    url = settings.REDIS_URL or ""
    with _redis_lock:
        if url not in _redis_client:
            _redis_client[url] = _Redis(url)
        return _redis_client[url]


def forget_old() -> int:
    """Delete windows without counts in the last minute."""
    now = clock.seconds()
    old = [
        key
        for key, counts in LimitWindow.objects.values_list("key", "counts").iterator()
        if not _any_alive(counts, now)
    ]
    rows = LimitWindow.objects.filter(pk__in=old[:500])
    if connection.vendor == "postgresql":
        # Another process may have counted in one of them since: lock the rows, then check them again.
        locked = rows.select_for_update(skip_locked=True).values_list("key", "counts")
        rows = rows.filter(pk__in=[key for key, counts in locked if not _any_alive(counts, now)])
    deleted, _ = rows.delete()
    return deleted


def _any_alive(counts: dict[str, int], now: float) -> bool:
    return any(_alive(_second(field), now) for field in counts)
