"""Admin pages of status changes of memories (Transition) and of purged memories (Tombstone)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin
from memory.grains.admin import cells
from memory.grains.admin.grain_actions import badge
from memory.grains.lifecycle import grain_history, rules
from memory.grains.models import Grain, Tombstone, Transition

_BEGINNING = 120


@admin.register(Transition)
class TransitionAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("status change", "status changes")
    group = "Memory"
    about = "Changes of status and decay class of memories, with their cause, the measured values and who made them."
    space_path = "space_id"
    list_display = ["about_grain", "from_badge", "to_badge", "cause", "by", "when", "space"]
    list_display_links = ["cause"]  # the first column leads elsewhere
    list_filter = [
        filters.values("after", "to", [*Grain.Status.values, *rules.CLASSES]),
        filters.typed("why", "cause", lambda text: _with_reason(text)),
        filters.typed("by", "by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.typed("grain", "memory id", lambda text: Q(grain__uuid=_uuid(text))),
        filters.day("since", "from day", "at"),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["about_grain", "from_badge", "to_badge", "cause", "decided_by", "said", "by", "when", "space"]
    empty_says = (
        "No status changes yet. When a memory is archived, promoted, deleted and so on, the change is listed here."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(text=Left("grain__text", _BEGINNING), grain_status=F("grain__status"))
            .select_related("space")
        )
        return rows

    def titled(self, row: Any) -> str:
        return f"{row.before} to {row.after}".replace("_", " ")

    @admin.display(description="memory")
    def about_grain(self, row: Any) -> Any:
        return cells.grain_link(row.grain_id, formatting.shorten(row.text, 80), row.grain_status)

    @admin.display(description="from", ordering="before")
    def from_badge(self, row: Any) -> Any:
        return badge(row.before)

    @admin.display(description="to", ordering="after")
    def to_badge(self, row: Any) -> Any:
        return badge(row.after)

    @admin.display(description="cause")
    def cause(self, row: Any) -> Any:
        return (
            formatting.shorten(row.reason, 80)
            if row.why == rules.BY_HAND and row.reason
            else rules.reason_text(row.why)
        )

    @admin.display(description="measured values")
    def decided_by(self, row: Any) -> Any:
        return grain_history.format_numbers(row.numbers) or formatting.NONE

    @admin.display(description="reason")
    def said(self, row: Any) -> Any:
        return row.reason or formatting.NONE

    @admin.display(description="by", ordering="actor")
    def by(self, row: Any) -> str:
        return str(row.actor)

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)


@admin.register(Tombstone)
class TombstoneAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("purged memory", "purged memories")
    group = "Memory"
    about = "Ids of memories that were purged. Neither their text nor a digest of it is kept."
    space_path = "space_id"
    list_display = ["outside", "origin", "purged", "by", "links", "votes", "space"]
    list_filter = [
        filters.typed("by", "by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.day("since", "from day", "purged_at"),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["outside", "origin", "recorded", "purged", "by", "links", "votes", "space"]
    empty_says = "No purged memories."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return str(row.uuid)

    @admin.display(description="memory")
    def outside(self, row: Any) -> str:
        return str(row.uuid)

    @admin.display(description="recorded")
    def recorded(self, row: Any) -> Any:
        return formatting.relative_time(row.recorded_at)

    @admin.display(description="purged", ordering="id")
    def purged(self, row: Any) -> Any:
        return formatting.relative_time(row.purged_at)

    @admin.display(description="by", ordering="actor")
    def by(self, row: Any) -> str:
        return str(row.actor)


def _with_reason(text: str) -> Q:
    """Rows whose reason begins with a text, as stored or as shown."""
    shown = [why for why, shown in rules.reason_texts().items() if shown.startswith(text)]
    return Q(why__startswith=text) | Q(why__in=shown)


def _uuid(text: str) -> Any:
    try:
        return UUID(text)
    except ValueError:
        return None
