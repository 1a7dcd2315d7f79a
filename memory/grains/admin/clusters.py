"""Admin pages of clusters, their members, and the usefulness of memories by cluster (ClusterUse)."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin, Section
from fluxcore.command_names import typed_command
from memory.grains.admin import cells
from memory.grains.models import Cluster, ClusterUse, ClusterUseVote, Member
from memory.learning.credit import UNIT

_BEGINNING = 200
_MOST = 50
_LAYERS = {Cluster.Layer.GRAINS.value: "memories", Cluster.Layer.ENTRIES.value: "entities"}


def _of_cluster(text: str) -> Q:
    """Filter rows by the id of a cluster. Looks up its row id first, because the indexes begin with the space."""
    space, number = Cluster.objects.filter(uuid=uuid.UUID(text)).values_list("space_id", "pk").first() or (0, 0)
    return Q(space=space, cluster=number)


def _called(row: Any) -> str:
    return row.cluster_name or "unnamed"


@admin.register(Cluster)
class ClusterAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("cluster", "clusters")
    group = "Memory"
    about = (
        "Groups of memories, or of entities, that are linked more closely to each other than to the rest, named after "
        "their most typical words. A cluster keeps its id as long as most of its members stay."
    )
    space_path = "space_id"
    list_display = ["shown_name", "of_what", "size", "changed", "state", "space"]
    list_filter = [
        filters.choice(
            "of",
            "type",
            {
                "grains": ("memories", lambda: Q(layer=Cluster.Layer.GRAINS)),
                "entries": ("entities", lambda: Q(layer=Cluster.Layer.ENTRIES)),
            },
        ),
        filters.choice(
            "state",
            "state",
            {
                "there": ("current", lambda: Q(dissolved_at=None)),
                "dissolved": ("dissolved", lambda: ~Q(dissolved_at=None)),
            },
        ),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["shown_name", "of_what", "size", "uuid", "made", "changed", "state", "space"]
    empty_says = (
        "No clusters yet. They are computed when a space has enough memories, or now with "
        f"{typed_command('flux_clusters run')}."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return row.name or "Unnamed cluster"

    @admin.display(description="name", ordering="name")
    def shown_name(self, row: Any) -> str:
        return row.name or "unnamed"

    @admin.display(description="type")
    def of_what(self, row: Any) -> str:
        return _LAYERS[row.layer]

    @admin.display(description="changed", ordering="changed_at")
    def changed(self, row: Any) -> Any:
        return formatting.relative_time(row.changed_at)

    @admin.display(description="created", ordering="made_at")
    def made(self, row: Any) -> Any:
        return formatting.relative_time(row.made_at)

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return formatting.badge("dissolved") if row.dissolved_at else formatting.badge("current", "good")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = _members(Member.objects.filter(space=row.space_id, cluster=row)).order_by("-weight", "id")
        shown = [(_member(one), cells.link_to("member", one.pk, cells.bar(one.weight))) for one in found[:_MOST]]
        return [Section("Most typical members", ("member", "weight"), shown, says="It has no members any more.")]


def _members(rows: QuerySet[Any]) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.annotate(
        text=Left("grain__text", _BEGINNING),
        status=F("grain__status"),
        kind=F("entry__kind"),
        feature=F("entry__feature"),
        cluster_name=F("cluster__name"),
    )
    return found


def _member(row: Any) -> Any:
    if row.entry_id:
        return format_html("{} {}", formatting.badge(row.kind), cells.link_to("entry", row.entry_id, row.feature))
    return cells.grain_link(row.grain_id, row.text, row.status)


@admin.register(Member)
class ClusterMemberAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("cluster member", "cluster members")
    group = "Memory"
    about = (
        "Members of clusters. A memory belongs to one cluster, with a weight for how typical it is; an entity can "
        "belong to several, with a share in each."
    )
    space_path = "space_id"
    list_display = ["who", "of_cluster", "how_much", "space"]
    list_display_links = ["how_much"]  # the first column leads elsewhere
    list_filter = [
        filters.choice(
            "kind",
            "kind",
            {
                "grain": ("memory", lambda: Q(entry=None)),
                "entry": ("entity", lambda: Q(grain=None)),
            },
        ),
        filters.typed("cluster", "cluster id", _of_cluster),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["who", "of_cluster", "how_much", "space"]
    empty_says = "No members yet. They are listed here once clusters have been computed."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return _members(super().get_queryset(request)).select_related("space")

    def titled(self, row: Any) -> str:
        return f"{row.feature if row.entry_id else formatting.shorten(row.text, 40)} in {_called(row)}"

    @admin.display(description="member")
    def who(self, row: Any) -> Any:
        return _member(row)

    @admin.display(description="cluster")
    def of_cluster(self, row: Any) -> Any:
        return cells.link_to("cluster", row.cluster_id, _called(row))

    @admin.display(description="weight")
    def how_much(self, row: Any) -> Any:
        return cells.bar(row.weight)


@admin.register(ClusterUse)
class ClusterUseAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("cluster usefulness", "cluster usefulness")
    group = "Memory"
    about = (
        "Clusters of entities through which a memory was recalled and rated useful. A memory that is useful through "
        "many clusters becomes core."
    )
    space_path = "space_id"
    list_display = ["of_grain", "of_cluster", "how_much", "last", "space"]
    list_display_links = ["how_much"]  # the first column leads elsewhere
    list_filter = [filters.typed("cluster", "cluster id", _of_cluster), filters.spaces("space_id")]
    ordering = ["-id"]
    fields = ["of_grain", "of_cluster", "how_much", "last", "space"]
    empty_says = "No data yet. It appears when feedback rates a memory useful that was recalled through a cluster."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(text=Left("grain__text", _BEGINNING), status=F("grain__status"), cluster_name=F("cluster__name"))
        )
        return rows.select_related("space")

    def titled(self, row: Any) -> str:
        return f"{formatting.shorten(row.text, 40)} through {_called(row)}"

    @admin.display(description="memory")
    def of_grain(self, row: Any) -> Any:
        return cells.grain_link(row.grain_id, row.text, row.status)

    @admin.display(description="cluster")
    def of_cluster(self, row: Any) -> Any:
        return cells.link_to("cluster", row.cluster_id, _called(row))

    @admin.display(description="weight", ordering="weight")
    def how_much(self, row: Any) -> str:
        return f"{row.weight:.2f}"

    @admin.display(description="last changed", ordering="at")
    def last(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = ClusterUseVote.objects.filter(space=row.space_id, grain=row.grain_id, cluster=row.cluster_id).order_by(
            "-vote"
        )
        shown = [
            (cells.link_to("vote", vote, f"feedback {vote}"), f"{amount / UNIT:.3f}")
            for vote, amount in found.values_list("vote_id", "amount")[:_MOST]
        ]
        return [
            Section(
                "Feedback that adds up to this weight",
                ("feedback", "contribution"),
                shown,
                says="All of its feedback was withdrawn.",
            )
        ]
