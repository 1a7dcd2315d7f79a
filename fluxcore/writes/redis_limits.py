"""Counts of rate limits in Redis: check and count in one step, for all processes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from typing import Any

from django.conf import settings

from fluxcore import clock
from fluxcore.writes import limit_windows
from fluxcore.writes.limit_windows import OTHERS, WINDOW

log = logging.getLogger(__name__)

PAUSE = 5.0  # seconds without asking Redis after it has failed

# The same rule as `place_of`, `wait_for` and `add_count` in limit_windows.py, run inside Redis as one step.
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


class RedisLimits:
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
        self._quiet_until = time.monotonic() + PAUSE
        self._doubtful_until = self._quiet_until + WINDOW + 2

    def answering(self) -> bool:
        return time.monotonic() >= self._quiet_until

    def take(
        self, key: str, *, cost: int, limit: int, total: int, label: str = ""
    ) -> tuple[float, float, str | None] | None:
        """Count `cost`: seconds to wait for the label's share and for the total, and the field it was counted in.

        None when Redis does not answer.
        """
        args = (clock.seconds(), cost, WINDOW, limit, total, label, limit_windows.MOST_LABELS, OTHERS)
        try:
            answer: Any = self._script(keys=[self._prefix + key], args=args)
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


_by_url: dict[str, RedisLimits] = {}
_lock = threading.Lock()


def current() -> RedisLimits:
    """The counts in the Redis of this instance; REDIS_URL must be set."""
    url = settings.REDIS_URL or ""
    with _lock:
        if url not in _by_url:
            _by_url[url] = RedisLimits(url)
        return _by_url[url]
