"""Admin pages of links between memories (conduits) and of entities (entries)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin, Section
from fluxcore import clock
from memory.engine.graph import decay
from memory.grains import decay_settings
from memory.grains.admin import cells
from memory.grains.grain_links import SHOWN
from memory.grains.models import Conduit, DecayClass, Entry, Grain, Relation

_BEGINNING = 200


def _of_grain(text: str) -> Q:
    """Filter links by a memory at either end. Looks up its row id first, because the indexes begin with the space."""
    space, number = Grain.objects.filter(uuid=uuid.UUID(text)).values_list("space_id", "pk").first() or (0, 0)
    return Q(space=space) & (Q(to_grain=number) | Q(from_entry=None, from_grain=number))


def weights(rows: Sequence[Conduit]) -> list[float]:
    """Current weights of links, after decay."""
    left = decay.effective_weight(
        np.array([row.weight for row in rows], np.float32),
        used=np.array([row.used_at for row in rows], np.int64),
        made=np.array([row.made_at for row in rows], np.int64),
        decay_class=np.array([row.decay_class for row in rows], np.int64),
        now=int(clock.now().timestamp()),
        fading=decay_settings.current(),
    )
    return [float(one) for one in left]


def _is(relation: Relation) -> Callable[[], Q]:
    return lambda: Q(relation=relation)


@admin.register(Conduit)
class ConduitAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("link", "links")
    group = "Memory"
    about = (
        "Directed, weighted links from an entity (name, number or date) to a memory, or between two memories. Unused "
        "links decay."
    )
    space_path = "space_id"
    list_display = ["begins", "relation_name", "leads_to", "weight_now", "last_used", "use_count", "space"]
    list_display_links = ["relation_name"]  # the first column leads elsewhere
    list_filter = [
        filters.choice("relation", "relation", {one.name.lower(): (one.label.lower(), _is(one)) for one in Relation}),
        filters.choice(
            "from",
            "from",
            {
                "entry": ("entity", lambda: Q(from_grain=None)),
                "grain": ("memory", lambda: Q(from_entry=None)),
            },
        ),
        filters.typed("grain", "memory id", _of_grain),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = [
        "begins",
        "relation_name",
        "leads_to",
        "weight_now",
        "weight_stored",
        "affinity",
        "fades",
        "use_count",
        "last_used",
        "made",
        "space",
    ]
    empty_says = "No links yet. They are created when memories are stored."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(
                kind=F("from_entry__kind"),
                feature=F("from_entry__feature"),
                from_text=Left("from_grain__text", _BEGINNING),
                from_status=F("from_grain__status"),
                to_text=Left("to_grain__text", _BEGINNING),
                to_status=F("to_grain__status"),
            )
        )
        return rows.select_related("space")

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        for row, weight in zip(rows, weights(rows), strict=True):
            row.left = weight

    def titled(self, row: Any) -> str:
        start = row.feature if row.from_entry_id else formatting.shorten(row.from_text, 40)
        return f"{start} → {formatting.shorten(row.to_text, 40)}"

    @admin.display(description="from")
    def begins(self, row: Any) -> Any:
        if row.from_entry_id:
            return format_html(
                "{} {}", formatting.badge(row.kind), cells.link_to("entry", row.from_entry_id, row.feature)
            )
        return cells.grain_link(row.from_grain_id, row.from_text, row.from_status)

    @admin.display(description="to")
    def leads_to(self, row: Any) -> Any:
        return cells.grain_link(row.to_grain_id, row.to_text, row.to_status)

    @admin.display(description="relation", ordering="relation")
    def relation_name(self, row: Any) -> str:
        return Relation(row.relation).label.lower()

    @admin.display(description="weight now")
    def weight_now(self, row: Any) -> Any:
        return cells.bar(row.left, says=f"{row.weight:.3f} when last used")

    @admin.display(description="weight when last used")
    def weight_stored(self, row: Any) -> str:
        return f"{row.weight:.3f}"

    @admin.display(description="decay")
    def fades(self, row: Any) -> str:
        return {0: "normal", 1: "slow", 2: "fast"}[DecayClass(row.decay_class)]

    @admin.display(description="last used", ordering="used_at")
    def last_used(self, row: Any) -> Any:
        return formatting.relative_time(_at(row.used_at))

    @admin.display(description="created")
    def made(self, row: Any) -> Any:
        return formatting.relative_time(_at(row.made_at))


@admin.register(Entry)
class EntryAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("entity", "entities")
    group = "Memory"
    about = (
        "Names, numbers and dates that memories share, and terms with learned weights. Recall starts from those in "
        "the question."
    )
    space_path = "space_id"
    list_display = ["feature", "kind", "space"]
    list_filter = [filters.values("kind", "kind", Entry.Kind.values), filters.spaces("space_id")]
    search_fields = ["feature"]
    ordering = ["-id"]
    fields = ["feature", "kind", "space"]
    empty_says = "No entities yet. Names, numbers and dates in stored memories are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = Conduit.objects.filter(space=row.space_id, from_entry=row, from_grain=None).order_by("-to_grain")
        links = list(
            found.annotate(to_text=Left("to_grain__text", _BEGINNING), to_status=F("to_grain__status"))[:SHOWN]
        )
        left = weights(links)
        shown = [
            (
                cells.grain_link(link.to_grain_id, link.to_text, link.to_status),
                cells.link_to("conduit", link.pk, cells.bar(weight)),
                f"{link.affinity:.2f}",
                formatting.relative_time(_at(link.used_at)),
                link.use_count,
            )
            for link, weight in zip(links, left, strict=True)
        ]
        columns = ("memory", "weight now", "affinity", "last used", "uses")
        return [Section("Linked memories, newest first", columns, shown, says="It is not linked to any memory.")]

    def titled(self, row: Any) -> str:
        return str(row.feature)


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
