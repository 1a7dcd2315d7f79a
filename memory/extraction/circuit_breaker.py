"""While the model is down it is asked at most once a second, whoever asks: a row all processes share decides.

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
    """What may be down: this model at this address. Another choice in config.yaml begins anew."""
    settings = config.current()
    return f"{settings.LLM_BASE_URL} {settings.LLM_MODEL}"[:300]


def pause_after(failures: int) -> timedelta:
    return timedelta(seconds=min(LONGEST, PAUSE * 2 ** min(max(failures - 1, 0), 30)))


def server_state() -> ModelServer:
    return ModelServer.objects.filter(pk=server_name()).first() or ModelServer(pk=server_name())


def take_turn() -> datetime | None:
    """Whether a call may be made now: None, and while it is down the turn is taken; else when to come again."""
    server, now = server_state(), clock.now()
    if server.failures == 0 or server.next_at is None:
        return None
    # Of all who come at once one gets it. A time far ahead is a clock that was set back since.
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
