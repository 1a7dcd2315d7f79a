"""Admin page of health warnings: signals outside their healthy range, and who acknowledged them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.index_tiles import Tile, list_address, register_tiles
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.visitor import SignedIn
from memory.health import report
from memory.health.models import Warning
from memory.health.signals import SIGNALS_BY_NAME

_MOODS: dict[str, BadgeStyle] = {"INFO": "calm", "WARNING": "plain", "CRITICAL": "bad"}


def _acknowledge(principal: Any, row: Warning, **given: Any) -> dict[str, Any]:
    return dict(report.acknowledge(principal, signal=row.signal, **given))


@admin.register(Warning)
class WarningPage(FluxModelAdmin):
    reads = "health.read"
    called = ("health warning", "health warnings")
    group = "Memory"
    about = "Signals outside their healthy range. The Vitals page shows their charts."
    space_path = "space_id"
    row_actions = (
        Action(
            "acknowledge",
            "Acknowledge",
            "jobs.manage",
            _acknowledge,
            done="Acknowledged.",
            fits=lambda row: row.cleared_at is None and row.acknowledged_at is None,
            says="The warning is listed until it clears, but no longer counts against the health of the space.",
        ),
    )
    list_display = ["name", "level", "state", "now", "raised", "space"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "open": ("open", lambda: Q(cleared_at=None)),
                "cleared": ("cleared", lambda: ~Q(cleared_at=None)),
            },
        ),
        filters.values("severity", "severity", Warning.Severity.values),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["name", "level", "state", "now", "raised", "seen", "cleared", "times", "alerted", "what_to_do", "space"]
    empty_says = "No warnings. A signal that leaves its healthy range is listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return str(row.signal)

    @admin.display(description="signal")
    def name(self, row: Any) -> str:
        return str(row.signal)

    @admin.display(description="severity")
    def level(self, row: Any) -> Any:
        return formatting.badge(row.severity, _MOODS[row.severity])

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if row.cleared_at is not None:
            return formatting.badge("cleared", "good")
        return formatting.badge(f"acknowledged by {row.acknowledged_by}" if row.acknowledged_by else "open", "bad")

    @admin.display(description="value and healthy range")
    def now(self, row: Any) -> str:
        low, high = ("" if bound is None else f"{bound:.3g}" for bound in (row.low, row.high))
        value = "none" if row.value is None else f"{row.value:.3g}"
        return f"{value} (healthy: {low or 'any'} to {high or 'any'})"

    @admin.display(description="raised", ordering="raised_at")
    def raised(self, row: Any) -> Any:
        return formatting.relative_time(row.raised_at)

    @admin.display(description="last seen")
    def seen(self, row: Any) -> Any:
        return formatting.relative_time(row.seen_at)

    @admin.display(description="cleared")
    def cleared(self, row: Any) -> Any:
        return formatting.relative_time(row.cleared_at, none="not yet")

    @admin.display(description="sent to the webhook")
    def alerted(self, row: Any) -> Any:
        return formatting.relative_time(row.alerted_at, none="no")

    @admin.display(description="what to do")
    def what_to_do(self, row: Any) -> str:
        known = SIGNALS_BY_NAME.get(row.signal)
        return known.suggestion if known else ""


@register_tiles
def _open(who: SignedIn) -> list[Tile]:
    open_now = Warning.objects.filter(
        space__in=who.spaces_where("jobs.manage"), cleared_at=None, acknowledged_at=None
    ).exclude(severity=Warning.Severity.INFO)
    link = list_address("health_warning", state="open")
    return [Tile(open_now.values("pk"), "health warning", "health warnings", link, True)]
