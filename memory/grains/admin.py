"""What the administration shows of grains."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from accounts import filters, origins, showing
from accounts.modeladmin import Act, FluxModelAdmin
from accounts.naming import names_of
from accounts.principals import Principal
from accounts.showing import Mood
from memory.grains.models import Grain
from memory.grains.pin import pin


def _pin(principal: Principal, row: Grain, **given: Any) -> None:
    pin(principal, grain=str(row.uuid), pinned=True, **given)


def _unpin(principal: Principal, row: Grain, **given: Any) -> None:
    pin(principal, grain=str(row.uuid), pinned=False, **given)


@names_of("grains")
def _newest(space: int, most: int) -> list[str]:
    """Grains have no names, and what reads one reads all: a few say enough."""
    found = Grain.objects.filter(space=space, status=Grain.Status.ACTIVE).order_by("-id")
    return [showing.shortened(text, 60) for text in found.values_list("text", flat=True)[: min(most, 3)]]


@admin.register(Grain)
class GrainPage(FluxModelAdmin):
    reads = "grains.read"
    called = ("grain", "grains")
    group = "Memory"
    about = "What is remembered, word for word, and where each text came from."
    space_path = "space_id"
    acts = (
        Act("pin", "Pin", "grains.manage", _pin, done="Pinned.", fits=lambda row: not row.pinned,
            says="Decay and clean-up leave it alone from now on."),
        Act("unpin", "Unpin", "grains.manage", _unpin, done="Let go.", fits=lambda row: row.pinned,
            says="It ages like any other grain again."),
    )  # fmt: skip
    list_display = ["beginning", "space", "origin_badge", "state", "writer", "recorded"]
    list_filter = [
        filters.values("status", "status", Grain.Status.values),
        filters.values("origin", "origin", origins.AUTHORITY),
        filters.choice("pinned", "pinned", {
            "yes": ("pinned", lambda: Q(pinned=True)), "no": ("not pinned", lambda: Q(pinned=False)),
        }),
        filters.spaces("space_id"),
        filters.typed("writer", "writer", lambda text: Q(writer=text) | Q(writer__endswith=f":{text}")),
    ]  # fmt: skip
    search_fields = ["text"]
    ordering = ["-id"]
    fields = [
        "whole", "space", "origin_badge", "state", "writer", "label", "corroborations", "recorded", "outside_id",
    ]  # fmt: skip
    empty_says = "Nothing is remembered yet. Store something through REST or MCP and it appears here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return showing.shortened(row.text, 60)

    @admin.display(description="text")
    def beginning(self, row: Any) -> str:
        return showing.shortened(row.text)

    @admin.display(description="text")
    def whole(self, row: Any) -> Any:
        return showing.words(row.text)

    @admin.display(description="origin", ordering="origin")
    def origin_badge(self, row: Any) -> Any:
        return showing.badge(row.origin.replace("_", " "), "calm" if row.origin.startswith("user") else "plain")

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> Any:
        moods: dict[str, Mood] = {"active": "good", "quarantined": "bad", "pending_deletion": "warn"}
        status = showing.badge(row.status.replace("_", " "), moods.get(row.status, "plain"))
        return format_html("{} {}", status, showing.badge("pinned", "calm")) if row.pinned else status

    @admin.display(description="recorded", ordering="id")
    def recorded(self, row: Any) -> Any:
        return showing.moment(row.recorded_at)
