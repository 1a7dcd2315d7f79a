"""Admin page of feedback (votes): who rated which memory useful or not useful, and the effect on links."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin, Section
from memory.grains.admin import cells
from memory.grains.models import Vote, VoteEffect
from memory.learning import credit

_BEGINNING = 120
_MOST = 50


@admin.register(Vote)
class VoteAdmin(FluxModelAdmin):
    # Questions of others are private, as on the page of traces.
    reads = "grains.manage"
    called = ("feedback", "feedback")
    group = "Memory"
    about = (
        "Ratings of recalled memories: useful, not useful or missing. Recall learns from them; withdrawn feedback is "
        "unlearned exactly."
    )
    space_path = "space_id"
    list_display = ["question", "verdict", "about_grain", "by", "when", "state", "space"]
    list_filter = [
        filters.choice(
            "said",
            "rating",
            {
                "useful": ("useful", lambda: Q(useful=True, missed=False)),
                "missed": ("missing", lambda: Q(missed=True)),
                "not": ("not useful", lambda: Q(useful=False)),
            },
        ),
        filters.choice(
            "state",
            "state",
            {
                "standing": ("in effect", lambda: Q(undone_at=None)),
                "back": ("withdrawn", lambda: ~Q(undone_at=None)),
                "waiting": ("queued", lambda: Q(applied=False)),
            },
        ),
        filters.typed("by", "by", lambda text: Q(judged__actor=text) | Q(judged__actor__endswith=f":{text}")),
        filters.day("since", "from", "at"),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["question", "verdict", "strength", "about_grain", "by", "when", "state", "scale", "space"]
    empty_says = "No feedback yet. Agents send it with POST /feedback, people rate answers on the Recall page."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(
                query=Left("judged__query", _BEGINNING),
                actor=F("judged__actor"),
                text=Left("grain__text", _BEGINNING),
                grain_status=F("grain__status"),
            )
        )
        return rows.select_related("space")

    def titled(self, row: Any) -> str:
        return formatting.shorten(row.query, 60)

    @admin.display(description="question")
    def question(self, row: Any) -> str:
        return formatting.shorten(row.query, _BEGINNING)

    @admin.display(description="rating")
    def verdict(self, row: Any) -> Any:
        if row.missed:
            return formatting.badge("missing from the answer", "good")
        return formatting.badge("useful", "good") if row.useful else formatting.badge("not useful", "bad")

    @admin.display(description="memory")
    def about_grain(self, row: Any) -> Any:
        return cells.grain_link(row.grain_id, row.text, row.grain_status)

    @admin.display(description="by")
    def by(self, row: Any) -> str:
        return str(row.actor)

    @admin.display(description="when", ordering="at")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if not row.applied:
            return formatting.badge("queued")
        return formatting.badge("withdrawn") if row.undone_at else formatting.badge("applied", "good")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        effects = VoteEffect.objects.filter(space=row.space_id, vote=row.pk).select_related(
            "conduit__from_entry", "conduit__from_grain", "conduit__to_grain"
        )[:_MOST]
        return [
            Section(
                "Effect on links",
                ("link", "weight before", "weight now", "change by this feedback"),
                [(_link(one.conduit), *_weights(one)) for one in effects],
                says="No link was changed: the rating is stored with the question, and no link led to the memory.",
            )
        ]


def _link(conduit: Any) -> Any:
    start = conduit.from_entry.feature if conduit.from_entry else formatting.shorten(conduit.from_grain.text, 40)
    return cells.link_to("conduit", conduit.pk, f"{start} → {formatting.shorten(conduit.to_grain.text, 40)}")


def _weights(effect: VoteEffect) -> tuple[str, str, str]:
    conduit = effect.conduit
    base = conduit.weight if conduit.base is None else conduit.base
    part = (effect.gain - effect.loss) / credit.UNIT
    return f"{base:.3f}", f"{conduit.weight:.3f}", f"{part:+.3f}"
