"""The Vitals page: each health signal as a chart with its healthy range, and what to do when it is outside."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.adminsite.index_tiles import list_address
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from fluxcore import clock
from fluxcore.errors import Invalid
from memory.health import history, report
from memory.health.history import SignalLine
from memory.health.signals import SIGNALS_BY_NAME, Signal

RANGES = {"day": "Day", "week": "Week", "month": "Month"}
_STATES = {
    "healthy": "healthy",
    "low": "too low",
    "high": "too high",
    "warming": "collecting data",
    "idle": "no data",
}
_WAYS = {
    "without": "Without feedback",
    "others": "With feedback on other queries",
    "own": "With feedback on all queries",
}
# Titles of the signals; their names are those of the API.
TITLES = {
    "retrieval_success_rate": "Useful recalls",
    "fallback_trigger_rate": "Recalls without a known word",
    "feedback_compliance_rate": "Recalls with feedback",
    "avg_hops_per_retrieval": "Hops per recall",
    "highway_count": "Strong links",
    "highway_growth_rate": "New strong links",
    "shortcut_creation_rate": "New shortcuts",
    "conduit_dissolution_rate": "Dissolved links",
    "avg_weight_drop_on_failure": "Weight lost after \u201cnot useful\u201d",
    "avg_conduit_weight": "Average link weight",
    "orphan_rate": "Memories without links",
    "promotion_events": "New core memories",
    "core_grain_count": "Core memories",
    "dormant_grain_rate": "Dormant memories",
    "provenance_skew": "Stored as user-stated",
    "hit_rate": "Useful recalls by week",
    "calibration_error": "Error of confidence",
    "learning_gain": "Gain by feedback",
}


@dataclass(frozen=True)
class Vital:
    """A health signal as a card of the page."""

    signal: Signal
    now: dict[str, Any]
    line: SignalLine | None

    @property
    def title(self) -> str:
        return TITLES[self.signal.name]

    @property
    def state(self) -> str:
        return _STATES[self.now["state"]]

    @property
    def value(self) -> str:
        return format_number(self.now["value"])

    @property
    def range(self) -> str:
        low, high = self.now["range"]
        if self.now["state"] == "idle" and low is None and high is None:
            low, high = self.signal.low, self.signal.high  # not measured yet
        if low is not None and high is not None:
            return f"{format_number(low)} to {format_number(high)}"
        return f"at least {format_number(low)}" if low is not None else f"at most {format_number(high)}"

    @property
    def window(self) -> str:
        return {0: "now", 24: "last 24 hours", 168: "last 7 days", 720: "last 30 days"}[self.signal.window]

    @property
    def span(self) -> str:
        """Lowest and highest value of the time range that is shown."""
        known = [value for value in self.line.value if value is not None] if self.line else []
        return f"{format_number(min(known))} to {format_number(max(known))}" if known else ""


def format_number(value: float | None) -> str:
    if value is None:
        return "no data"
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


@sign_in_required
@require_safe
def vitals(request: HttpRequest) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me, over = current_visitor(request).principal(space.pk), request.GET.get("range", "day")
    try:
        lines = history.timeline(me, over=over)
    except Invalid:
        return redirect(reverse("vitals"))
    health = report.report(me)
    # Signals with a warning first, the rest in the order of the table.
    found = sorted(
        (Vital(SIGNALS_BY_NAME[name], now, lines.get(name)) for name, now in health["signals"].items()),
        key=lambda one: (one.now["severity"] is None, one.now["healthy"]),
    )
    return render(
        request,
        "dashboard/vitals.html",
        {
            "space": space,
            "status": health["status"],
            "measured_at": clock.parse(health["computed_at"]) if health["computed_at"] else None,
            "vitals": found,
            "warnings": [(TITLES.get(one.signal, one.signal), one) for one in history.warnings(me)],
            "all_warnings": list_address("health_warning", space=space.name),
            "weeks": [{**week, "percent": round(100 * week["rate"])} for week in history.weekly_hit_rates(me)],
            "replay": _replay(health["learning"]),
            "callers": health["caller_feedback"],
            "over": over,
            "ranges": [(name, says, name == over) for name, says in RANGES.items()],
            "lines": {name: asdict(line) for name, line in lines.items()},
        },
    )


def _replay(kept: dict[str, Any] | None) -> dict[str, Any] | None:
    if not kept:
        return None
    rows = [(says, f"{kept[way]['hit_rate']:.0%}", f"{kept[way]['ndcg']:.3f}") for way, says in _WAYS.items()]
    return {"questions": kept["questions"], "gain": f"{kept['gain']:+.3f}", "rows": rows}
