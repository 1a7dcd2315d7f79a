"""Admin page of traces: the record of each recall with its results and their scores."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.adminsite import filters, formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.modeladmin import FluxModelAdmin, Section
from memory.grains.admin import cells
from memory.grains.models import Grain, Relation, Trace
from memory.recall import explain
from memory.recall.trace_record import TraceRecord, unpack_trace

_MOODS: dict[str, BadgeStyle] = {"warm": "good"}


def trace_record(row: Trace) -> TraceRecord:
    return TraceRecord(
        row.uuid,
        row.space_id,
        row.actor,
        row.label,
        row.at,
        row.query,
        row.rung,
        row.confidence,
        row.hop_count,
        unpack_trace(row.body),
    )


@admin.register(Trace)
class TraceAdmin(FluxModelAdmin):
    # Questions of others are private: the same rule as in `trace_list.list_traces`.
    reads = "grains.manage"
    called = ("trace", "traces")
    group = "Memory"
    about = (
        "Records of recalls: the question, the results, and the words, vectors and links that matched. Deleted after "
        "the retention period."
    )
    space_path = "space_id"
    list_display = ["question", "actor", "sure", "rung_badge", "when", "space"]
    list_filter = [
        filters.values("rung", "search mode", list(explain.RUNG_SENTENCES)),
        filters.typed("actor", "asked by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.day("since", "from", "at"),
        filters.day("until", "to", "at", until=True),
        filters.spaces("space_id"),
    ]
    search_fields = ["query"]
    ordering = ["-id"]
    fields = [
        "whole",
        "says",
        "actor",
        "label",
        "when",
        "sure",
        "rung_badge",
        "bounded",
        "features",
        "hop_count",
        "space",
        "outside_id",
    ]
    empty_says = "No traces yet. Each recall is recorded here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return formatting.shorten(row.query, 60)

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        why = explain.explain_record(trace_record(row))["grains"]
        named = {one["grain_id"] for one in why} | {
            step[end] for one in why for step in one["path"] for end in ("from_grain", "to_grain") if step.get(end)
        }
        rows = Grain.objects.filter(space=row.space_id, uuid__in=named).values_list("uuid", "pk", "text", "status")
        known = {str(outside): cells.grain_link(number, text, status) for outside, number, text, status in rows}
        most = max((abs(part["part"]) for one in why for part in one["parts"]), default=1.0)
        found = [
            (
                one["place"],
                format_html('{}<div class="help">{}</div>', _of(known, one["grain_id"]), one["says"]),
                cells.bar(one["score"]),
                _parts(one["parts"], most),
            )
            for one in why
        ]
        words = [
            (one["place"], word["term"], cells.bar(word["part"], most=_most(one["words"])))
            for one in why
            for word in one["words"]
        ]
        steps = [
            (
                one["place"],
                step["hop"],
                _of(known, step["from_grain"])
                if step.get("from_grain")
                else formatting.code(step.get("from_entry", "")),
                Relation(step["relation"]).label.lower(),
                _of(known, step.get("to_grain")),
                cells.bar(step["weight"]),
                cells.bar(step["signal"]),
            )
            for one in why
            for step in one["path"]
        ]
        return [
            Section(
                "Results",
                ("rank", "memory", "score", "parts of the score"),
                found,
                says="The recall returned no memories.",
            ),
            Section(
                "Matched words",
                ("rank", "word", "part of the score"),
                words,
                says="No word of the question occurs in a result.",
            ),
            Section(
                "Links used",
                ("rank", "hop", "from", "relation", "to", "weight", "signal"),
                steps,
                says="No links were used.",
            ),
        ]

    @admin.display(description="question")
    def question(self, row: Any) -> Any:
        return formatting.shorten(row.query)

    @admin.display(description="question")
    def whole(self, row: Any) -> Any:
        return formatting.multiline(row.query)

    @admin.display(description="summary")
    def says(self, row: Any) -> Any:
        return explain.explain_record(trace_record(row))["says"]

    @admin.display(description="confidence", ordering="confidence")
    def sure(self, row: Any) -> Any:
        return cells.bar(row.confidence, says="estimated chance that a right memory is among the first five")

    @admin.display(description="search mode", ordering="rung")
    def rung_badge(self, row: Any) -> Any:
        return formatting.badge(row.rung, _MOODS.get(row.rung, "warn"), title=explain.RUNG_SENTENCES.get(row.rung, ""))

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    @admin.display(description="filters")
    def bounded(self, row: Any) -> Any:
        return formatting.pretty_json(trace_record(row).body.get("bounds"))

    @admin.display(description="words and entities")
    def features(self, row: Any) -> Any:
        return formatting.chips(trace_record(row).body.get("features", []))


def _of(known: dict[str, SafeString], grain: str | None) -> Any:
    return known.get(grain or "") or format_html('<span class="none">{}</span>', "purged memory")


def _most(words: list[dict[str, Any]]) -> float:
    return max((abs(word["part"]) for word in words), default=1.0) or 1.0


def _parts(parts: list[dict[str, Any]], most: float) -> SafeString:
    """One bar per line; parts too small to be seen are left out."""
    seen = [part for part in parts if abs(part["part"]) >= 0.005]
    lines = ((cells.bar(part["part"], most=most, label=part["called"]),) for part in seen)
    return format_html_join("", "<div>{}</div>", lines) or formatting.NONE
