"""Current time, and times as text: UTC when stored, RFC 3339 with an offset in requests and answers.

No other module reads the system time. Two modules build on this one: `fluxcore/uptime.py` for how long the instance has
run, and `memory/keyvalue/expiry_clock.py` for a time that never goes backwards. Durations inside a process are measured
with `time.monotonic`.
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
    """Current time in seconds since 1970, as files and counters store it."""
    return time.time()


def nanoseconds() -> int:
    """The same, for what must be ordered more finely than a float can say."""
    return time.time_ns()


def steady() -> float:
    """Monotonic seconds, the same for all processes of the machine, counted also while it sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@lru_cache(maxsize=1)
def boot() -> str:
    """Identifier of the machine's last boot, from which `steady` counts."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:64]
    except OSError:
        return f"since {int(seconds() - steady()) // 3600}"  # no boot id on this system: the hour of the boot


def rfc3339(moment: datetime | str | None) -> str | None:
    """A time as RFC 3339 text, `2026-11-16T04:30:00.000001Z`. Also takes SQLite's text from raw queries."""
    if moment is None:
        return None
    if isinstance(moment, str):
        if len(moment) == _WHOLE and moment[10] == " ":  # as SQLite stores it, in UTC
            return f"{moment[:10]}T{moment[11:]}Z"
        moment = datetime.fromisoformat(moment)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def parse(text: str, *, name: str = "time") -> datetime:
    """Parse an RFC 3339 time. One without an offset is refused, because its time zone is unknown."""
    shape = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if shape is None:
        raise Invalid(f"{name}: not an RFC 3339 time, for example 2026-11-16T04:30:00Z.", field=name)
    if shape.group(1) is None:
        raise Invalid(f"{name}: the time needs an offset, for example {text}Z.", field=name)
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise Invalid(f"{name}: there is no such time.", field=name) from None
