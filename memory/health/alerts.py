"""Alerts: signed webhook messages about warnings, if an operator configured them, rate limited, without texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from django.conf import settings

from accounts.models import Space
from fluxcore import clock, config
from fluxcore.work.jobs import enqueue
from fluxcore.work.run import Apply, Run
from memory.health import jobs, webhook
from memory.health.models import Warning
from memory.health.signals import CRITICAL, INFO, SIGNALS_BY_NAME, WARNING, SignalReading
from memory.health.warning_rules import SignalStatus

_ORDER = (INFO, WARNING, CRITICAL)


def alert_problem() -> str | None:
    """Problem of the configuration because of which alerts cannot be sent, or None."""
    here = config.current()
    found = webhook.webhook_problem(here.ALERT_WEBHOOK_URL, here.ALERT_WEBHOOK_SECRET) if here.ALERTS_ENABLED else None
    return f"alerts are not sent: {found}" if found else None


def request_alert(space: int, reading: SignalReading, held: SignalStatus, what: str, now: datetime) -> SignalStatus:
    """Request an alert about a warning, unless it is not severe enough or one about its signal was sent recently."""
    here, at = config.current(), int(now.timestamp())
    lately = held.alerted and 0 <= at - held.alerted < here.ALERT_MIN_INTERVAL_HOURS * 3600
    small = _ORDER.index(held.severity) < _ORDER.index(here.ALERT_LEAST_SEVERITY)
    if not here.ALERTS_ENABLED or small or lately:
        return held
    enqueue(
        jobs.ALERT,
        {
            "signal": reading.signal.name,
            "severity": held.severity,
            "what": what,
            "value": reading.value,
            "low": reading.low,
            "high": reading.high,
            "at": clock.rfc3339(now),
        },
        space=space,
    )
    return replace(held, alerted=at)


def send_alert(run: Run) -> Apply | None:
    """The handler of `health.alert`. A failure is retried like any job, and then parked and shown to people."""
    here = config.current()
    if not here.ALERTS_ENABLED:
        run.say("Alerts were switched off meanwhile.")
        return None
    problem = alert_problem()
    if problem:
        run.say(problem)
        raise webhook.AlertUndeliverable(problem)
    body = orjson.dumps(alert_message(run))
    try:
        webhook.post_signed(
            here.ALERT_WEBHOOK_URL,
            body,
            secret=here.ALERT_WEBHOOK_SECRET,
            at=int(clock.now().timestamp()),
            private=here.ALERT_PRIVATE_ADDRESSES,
        )
    except webhook.AlertUndeliverable as error:
        run.say(f"The webhook failed: {error}.")
        raise
    run.say("Sent to the webhook.")
    signal, space = run.args["signal"], run.space
    return lambda: _sent(space, signal)


def _sent(space: int | None, signal: str) -> None:
    newest = Warning.objects.filter(space=space, signal=signal).order_by("-id").first()
    if newest is not None:
        newest.alerted_at = clock.now()
        newest.save(update_fields=["alerted_at"])


def alert_message(run: Run) -> dict[str, Any]:
    """Message of an alert: numbers, our own names and a sentence. A message that is sent again has the same id."""
    args = run.args
    signal = SIGNALS_BY_NAME.get(args["signal"])
    return {
        "id": str(run.uuid),
        "instance": settings.HOME.name,
        "space": Space.objects.filter(pk=run.space or 0).values_list("name", flat=True).first(),
        "signal": args["signal"],
        "severity": args["severity"],
        "event": args["what"],
        "value": args["value"],
        "healthy_range": [args["low"], args["high"]],
        "says": signal.says if signal else "",
        "suggestion": signal.suggestion if signal else "",
        "at": args["at"],
    }
