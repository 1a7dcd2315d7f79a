"""Circuit breaker of the model server, shared by all processes in one row: pauses between calls after failures.

After the first failure the pause is PAUSE, and each further one doubles it up to LONGEST. A success ends it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F
from django.db.models.functions import Coalesce

from fluxcore import clock, config
from memory.extraction.models import ModelServer

PAUSE, LONGEST = 1.0, 60.0  # seconds


def server_name() -> str:
    """Key of the breaker: address and model. Another choice in config.yaml starts without failures."""
    settings = config.current()
    return f"{settings.LLM_BASE_URL} {settings.LLM_MODEL}"[:300]


def pause_after(failures: int) -> timedelta:
    return timedelta(seconds=min(LONGEST, PAUSE * 2 ** min(max(failures - 1, 0), 30)))


def server_state() -> ModelServer:
    return ModelServer.objects.filter(pk=server_name()).first() or ModelServer(pk=server_name())


def take_turn() -> datetime | None:
    """Reserve a call: None if it may be made now, else the time of the next attempt."""
    server, now = server_state(), clock.now()
    if server.failures == 0 or server.next_at is None:
        return None
    # Of several callers at once, one may call. A time far in the future means that the clock was set back since.
    due = ModelServer.objects.filter(pk=server.pk, failures__gt=0).exclude(
        next_at__gt=now, next_at__lte=now + timedelta(seconds=LONGEST)
    )
    return None if due.update(next_at=now + pause_after(server.failures)) else server.next_at


def record_failure(problem: str) -> None:
    """Inside a write."""
    server, now = server_state(), clock.now()
    ModelServer.objects.get_or_create(pk=server.pk)
    ModelServer.objects.filter(pk=server.pk).update(
        failures=F("failures") + 1,
        next_at=now + pause_after(server.failures + 1),
        down_since=Coalesce(F("down_since"), now),
        problem=problem[:200],
    )


def record_success() -> None:
    """Inside a write."""
    ModelServer.objects.update_or_create(
        pk=server_name(),
        defaults={"failures": 0, "next_at": None, "down_since": None, "well_at": clock.now(), "problem": ""},
    )
