"""Admin page of memories people deleted or quarantined, with how often each was stored again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html

from accounts import origins
from accounts.adminsite import filters, formatting
from accounts.adminsite.index_tiles import Tile, list_address, register_tiles
from accounts.adminsite.modeladmin import FluxModelAdmin
from accounts.visitor import SignedIn
from fluxcore import clock
from memory.grains.admin import cells
from memory.grains.admin.grain_actions import badge
from memory.grains.models import Grain, Removal

_BEGINNING = 120
_LATELY = timedelta(days=7)


@admin.register(Removal)
class RemovalAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("removed memory", "removed memories")
    group = "Memory"
    about = (
        "Memories a person deleted or quarantined, and how often the same text was stored again since. To undo this, "
        "open the row, follow the link to the memory, and use Undo deletion or Release."
    )
    space_path = "space_id"
    list_display = ["beginning", "state", "by", "when", "again", "last", "space"]
    list_filter = [
        filters.choice(
            "repeats",
            "stored again",
            {
                "yes": ("yes", lambda: Q(repeats__gt=0)),
                "no": ("no", lambda: Q(repeats=0)),
            },
        ),
        filters.typed("by", "removed by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["about_grain", "state", "covers", "by", "when", "again", "last", "space"]
    empty_says = (
        "No removed memories. Memories that a person deletes or quarantines are listed here until they are released "
        "or purged."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        same = Grain.objects.filter(space=OuterRef("space"), digest=OuterRef("digest"), status=OuterRef("status"))
        first = same.order_by("id")
        rows: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(
                grain=Subquery(first.values("id")[:1]),
                text=Left(Subquery(first.values("text")[:1]), _BEGINNING),
            )
            .select_related("space")
        )
        return rows

    def titled(self, row: Any) -> str:
        return formatting.shorten(row.text, 60) if row.text else f"Removed by {row.actor}"

    @admin.display(description="memory")
    def beginning(self, row: Any) -> Any:
        return formatting.shorten(row.text, 80) if row.text else formatting.NONE

    @admin.display(description="memory")
    def about_grain(self, row: Any) -> Any:
        return cells.link_to("grain", row.grain, formatting.shorten(row.text, 80)) if row.grain else formatting.NONE

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> Any:
        return badge(row.status)

    @admin.display(description="applies to")
    def covers(self, row: Any) -> str:
        return f"the same text with provenance {origins.AUTHORITY[row.authority].replace('_', ' ')} or lower"

    @admin.display(description="removed by", ordering="actor")
    def by(self, row: Any) -> str:
        return str(row.actor)

    @admin.display(description="removed", ordering="at")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    @admin.display(description="stored again", ordering="repeats")
    def again(self, row: Any) -> Any:
        return (
            formatting.badge(f"{row.repeats} times" if row.repeats > 1 else "once", "warn") if row.repeats else "never"
        )

    @admin.display(description="last stored again", ordering="repeated_at")
    def last(self, row: Any) -> Any:
        if row.repeated_at is None:
            return formatting.NONE
        return format_html("{} by {}", formatting.relative_time(row.repeated_at), row.repeated_by)


@register_tiles
def _stored_again(who: SignedIn) -> list[Tile]:
    lately = Removal.objects.filter(
        space__in=who.spaces_where("grains.manage"), repeats__gt=0, repeated_at__gte=clock.now() - _LATELY
    )
    link = list_address("grains_removal", repeats="yes")
    says = ("removed memory was stored again this week", "removed memories were stored again this week")
    return [Tile(lately.values("pk"), *says, link)]
