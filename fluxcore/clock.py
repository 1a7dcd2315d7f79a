"""The one clock: UTC at rest, RFC 3339 with an offset at the edges, naive times refused.

Nothing else asks the machine what time it is. Two modules build on this clock what it cannot say alone:
`fluxcore/uptime.py` how long the instance has run, and `memory/keyvalue/expiry_clock.py` a moment that never
goes backwards. Durations inside a process are measured with `time.monotonic`.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from fluxcore.errors import Invalid

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
)

_WHOLE = len("2026-11-16 04:30:00.000001")


def now() -> datetime:
    return datetime.now(UTC)


def seconds() -> float:
    """Now in seconds since 1970, as files and counters keep it."""
    return time.time()


def nanoseconds() -> int:
    """The same, for what must be ordered more finely than a float can say."""
    return time.time_ns()


def steady() -> float:
    """Seconds that only grow, by one each second, the same for all processes of the machine, also while it sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@lru_cache(maxsize=1)
def boot() -> str:
    """Which start of the machine this is: `steady` counts from there."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:64]
    except OSError:
        return f"since {int(seconds() - steady()) // 3600}"  # no such number here: near enough to tell two apart


def rfc3339(moment: datetime | str | None) -> str | None:
    """`2026-11-16T04:30:00.000001Z`. Also takes the text SQLite hands out on raw queries."""
    if moment is None:
        return None
    if isinstance(moment, str):
        if len(moment) == _WHOLE and moment[10] == " ":  # as SQLite keeps it, and in UTC
            return f"{moment[:10]}T{moment[11:]}Z"
        moment = datetime.fromisoformat(moment)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse(text: str, *, name: str = "time") -> datetime:
    """A moment from outside. A time without an offset is refused: nobody can know which one was meant."""
    shape = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if shape is None:
        raise Invalid(f"{name}: not an RFC 3339 time, for example 2026-11-16T04:30:00Z.", field=name)
    if shape.group(1) is None:
        raise Invalid(f"{name}: the time needs an offset, for example {text}Z.", field=name)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(f"{name}: there is no such time.", field=name) from None
