"""Refused anonymous requests: all are counted, with one audit entry per source and minute."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F

from accounts import audit
from accounts.capabilities import parsed
from accounts.models import RefusalMinute
from accounts.principals import INSTANCE_CHAIN, Principal
from fluxcore import clock
from fluxcore.writes import booth

_NOBODY = Principal(
    kind="agent", name="-", space=None, chain=INSTANCE_CHAIN, capabilities=parsed(()), ceiling="external_source"
)
_MAX_SOURCES = 1000  # sources counted separately per process and minute; the others share one name
_KEPT = timedelta(days=7)

_lock = threading.Lock()
_counts: dict[tuple[str, datetime], int] = {}


def count_refusal(source: str) -> None:
    """Count a refusal. Only the first of a source and minute, and the sum of a past minute, are written at once."""
    minute = clock.now().replace(second=0, microsecond=0)
    key = (source[:64], minute)
    with _lock:
        if key not in _counts and sum(1 for _, when in _counts if when == minute) >= _MAX_SOURCES:
            key = ("others", minute)
        first = key not in _counts
        _counts[key] = _counts.get(key, 0) + 1
    if first:
        booth.post(lambda: _write(key))
        flush(older_than=minute)
        _flush_later()


def flush(*, older_than: datetime | None = None) -> None:
    """Write the sums of past minutes (all of them without `older_than`)."""
    with _lock:
        past = {old: _counts.pop(old) for old in list(_counts) if older_than is None or old[1] < older_than}
    if past:
        booth.post(lambda: _add(past))


_timer: threading.Timer | None = None


def _flush_later() -> None:
    """Start a timer that writes the sum of a minute soon after it, even without further refusals."""
    global _timer
    if settings.BOOTH == "inline" or (_timer is not None and _timer.is_alive()):
        return  # processes of commands and tests end sooner
    _timer = threading.Timer(75, _flush_past)
    _timer.daemon = True
    _timer.start()


def _flush_past() -> None:
    global _timer
    flush(older_than=clock.now().replace(second=0, microsecond=0))
    _timer = None
    if _counts:
        _flush_later()


def _add(past: dict[tuple[str, datetime], int]) -> None:
    for (source, minute), count in past.items():
        # The first one was counted when the row was created.
        RefusalMinute.objects.filter(source=source, minute=minute).update(count=F("count") + count - 1)


def _write(key: tuple[str, datetime]) -> None:
    source, minute = key
    _, created = RefusalMinute.objects.get_or_create(source=source, minute=minute, defaults={"count": 1})
    if created:
        audit.record(_NOBODY, "sign_in.token", source, outcome="refused", details={"minute": clock.rfc3339(minute)})
    else:
        RefusalMinute.objects.filter(source=source, minute=minute).update(count=F("count") + 1)


def forget_old() -> int:
    deleted, _ = RefusalMinute.objects.filter(minute__lt=clock.now() - _KEPT).delete()
    return deleted
