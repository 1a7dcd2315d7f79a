"""The page of vectors: which grains have been seen by which encoder."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin
from memory.grains.admin import cells
from memory.grains.models import Vector


@admin.register(Vector)
class VectorAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("vector", "vectors")
    group = "Memory"
    about = "Grains as an encoder sees them. Vectors of two encoders are never compared."
    space_path = "space_id"
    list_display = ["of_grain", "encoder", "dimension", "space"]
    list_display_links = ["encoder"]  # the first column leads elsewhere
    list_filter = [
        filters.typed("encoder", "encoder", lambda text: Q(encoder=text)),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["of_grain", "encoder", "dimension", "scale", "space"]
    empty_says = "No vector has been made yet. The worker makes them a moment after a grain is stored."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super().get_queryset(request).annotate(text=Left("grain__text", 200), status=F("grain__status"))
        )
        return rows.select_related("space").defer("data")

    def titled(self, row: Any) -> str:
        return f"{row.encoder}: {formatting.shorten(row.text, 60)}"

    @admin.display(description="grain")
    def of_grain(self, row: Any) -> Any:
        return cells.grain_link(row.grain_id, row.text, row.status)
