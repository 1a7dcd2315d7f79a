"""Health report of a space: last measurement, open warnings, feedback and provenance by caller.

Nothing is computed here, so the cost does not depend on the history of the space.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock, events
from fluxcore.errors import Invalid, NotFound
from memory.health import measure
from memory.health.models import SpaceHealth, Warning
from memory.health.signals import SIGNALS, SIGNALS_BY_NAME, ReadingState
from memory.health.warning_rules import SignalStatus

_DIGITS = 4


@selector("health.report", needs="health.read")
def report(principal: Principal) -> dict[str, Any]:
    """Health report of a space in the format of flux-memory."""
    if principal.space is None:
        raise Invalid("The space is missing.", field="space")
    kept = SpaceHealth.objects.filter(space=principal.space).first()
    callers = measure.caller_counts(principal.space, clock.now())
    return {
        "status": kept.status if kept else "healthy",
        "signals": {signal.name: _signal(signal.name, kept) for signal in SIGNALS},
        "active_warnings": [warning_record(row) for row in _open(principal.space).order_by("-id")],
        "caller_feedback": [
            {
                "caller": who,
                "answers": int(sums.get("answered", 0)),
                "judged": int(sums.get("judged", 0)),
                "rate": round_value(sums.get("judged", 0) / sums["answered"]),
            }
            for who, sums in sorted(callers.items())
            if sums.get("answered")
        ],
        "caller_provenance": [
            {
                "caller": who,
                "stores": int(sums["stores"]),
                "user_stated": int(sums.get("stated", 0)),
                "share": round_value(sums.get("stated", 0) / sums["stores"]),
            }
            for who, sums in sorted(callers.items())
            if sums.get("stores")
        ],
        "learning": kept.replay or None if kept else None,
        "computed_at": clock.rfc3339(kept.measured_at) if kept else None,
    }


def _signal(name: str, kept: SpaceHealth | None) -> dict[str, Any]:
    signal, held = SIGNALS_BY_NAME[name], SignalStatus.of(kept.signals.get(name, {}) if kept else {})
    bad = held.state in (ReadingState.LOW, ReadingState.HIGH)
    return {
        "value": round_value(held.value),
        "healthy": not bad,
        "state": held.state,
        "range": [round_value(held.low), round_value(held.high)],
        "window_hours": signal.window,
        "severity": held.severity or None,
        "suggestion": signal.suggestion if bad or held.severity else None,
    }


def warning_record(row: Warning) -> dict[str, Any]:
    signal = SIGNALS_BY_NAME.get(row.signal)
    return {
        "signal": row.signal,
        "severity": row.severity,
        "value": round_value(row.value),
        "range": [round_value(row.low), round_value(row.high)],
        "times": row.times,
        "first_seen": clock.rfc3339(row.raised_at),
        "last_seen": clock.rfc3339(row.seen_at),
        "cleared_at": clock.rfc3339(row.cleared_at),
        "acknowledged_by": row.acknowledged_by or None,
        "suggestion": signal.suggestion if signal else "",
    }


def round_value(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def _open(space: int) -> QuerySet[Warning]:
    return Warning.objects.filter(space=space, cleared_at=None)


@verb("health.acknowledge", needs="jobs.manage")
def acknowledge(call: RunningCall, *, signal: str) -> Change:
    """Acknowledge a warning: it is still listed, but does not affect the status of the space any more."""
    if signal not in SIGNALS_BY_NAME:
        raise Invalid(f"There is no signal {str(signal)[:40]!r}.", field="signal")
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")

    def change() -> dict[str, Any]:
        known = {"acknowledged_at": clock.now(), "acknowledged_by": call.principal.actor}
        if not _open(space).filter(signal=signal).update(**known):
            raise NotFound("There is no open warning for this signal.", signal=signal)
        SpaceHealth.objects.filter(space=space).update(status=measure.space_status(space))
        call.record(signal)
        events.append("warning.acknowledged", space=space, actor=call.principal.actor, subject=signal)
        return {"signal": signal, "acknowledged_by": call.principal.actor}

    return change
