"""Admin page of vectors: the embedding of each memory by each encoder."""

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
    about = "Embeddings of memories. Vectors of different encoders are never compared."
    space_path = "space_id"
    list_display = ["of_grain", "encoder", "dimension", "space"]
    list_display_links = ["encoder"]  # the first column leads elsewhere
    list_filter = [
        filters.typed("encoder", "encoder", lambda text: Q(encoder=text)),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["of_grain", "encoder", "dimension", "scale", "space"]
    empty_says = "No vectors yet. The worker computes them shortly after a memory is stored."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super().get_queryset(request).annotate(text=Left("grain__text", 200), status=F("grain__status"))
        )
        return rows.select_related("space").defer("data")

    def titled(self, row: Any) -> str:
        return f"{row.encoder}: {formatting.shorten(row.text, 60)}"

    @admin.display(description="memory")
    def of_grain(self, row: Any) -> Any:
        return cells.grain_link(row.grain_id, row.text, row.status)
