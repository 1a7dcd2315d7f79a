"""What people do with the life of grains, the page of its steps, and the page of what was purged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest

from accounts import filters, showing
from accounts.modeladmin import Act, FluxModelAdmin
from accounts.principals import Principal
from accounts.showing import Mood
from accounts.verbs import Verb
from memory.grains.admin import bars
from memory.grains.lifecycle import rules, story, verbs
from memory.grains.lifecycle.purge import purge
from memory.grains.lifecycle.rules import ACTIVE, ARCHIVED, DORMANT, PENDING, QUARANTINED
from memory.grains.models import DecayClass, Grain, Tombstone, Transition

_BEGINNING = 120
MOODS: dict[str, Mood] = {
    "active": "good", "core": "good", "quarantined": "bad", "pending_deletion": "warn",
}  # fmt: skip


def _run(verb: Verb) -> Callable[..., None]:
    def run(principal: Principal, row: Grain, **given: Any) -> None:
        verb(principal, grain=str(row.uuid), **given)

    return run


def _in(*statuses: str) -> Callable[[Any], bool]:
    return lambda row: row.status in statuses


_MANAGE = "grains.manage"
ACTS = (
    Act("archive", "Archive", _MANAGE, _run(verbs.archive), done="Archived.", fits=_in(ACTIVE, DORMANT),
        says="It answers only where others leave room, and comes back by use."),
    Act("restore", "Restore", _MANAGE, _run(verbs.restore), done="It is active again.", fits=_in(DORMANT, ARCHIVED),
        says="It answers like any other grain again, and what led to it is made anew."),
    Act("quarantine", "Quarantine", _MANAGE, _run(verbs.quarantine), done="Quarantined.", dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED), says="No answer holds it any more, unless a question asks for it."),
    Act("release", "Release", _MANAGE, _run(verbs.release), done="Released.", fits=_in(QUARANTINED),
        says="It answers like any other grain again."),
    Act("promote", "Promote", _MANAGE, _run(verbs.promote), done="It is core now.",
        fits=lambda row: row.decay_class != DecayClass.CORE, says="What leads to it fades slowest from now on."),
    Act("demote", "Demote", _MANAGE, _run(verbs.demote), done="It is a working grain now.",
        fits=lambda row: row.decay_class == DecayClass.CORE, says="What leads to it fades as usual again."),
    Act("delete", "Delete", _MANAGE, _run(verbs.delete), done="Marked for deletion.", dangerous=True,
        fits=_in(ACTIVE, DORMANT, ARCHIVED, QUARANTINED),
        says="It answers no longer. It is purged when the time to undo that is over, a day if nobody changed it."),
    Act("undelete", "Undo deletion", _MANAGE, _run(verbs.undelete), done="It is where it was before.",
        fits=_in(PENDING), says="Takes the mark back."),
    Act("purge", "Purge", "purge", _run(purge), done="Purged.", dangerous=True,
        says="Removes its text, words, vectors, links and votes for good, and withholds questions that quote it. "
        "Only that there was a grain stays known. This cannot be undone."),
)  # fmt: skip


@admin.register(Transition)
class TransitionPage(FluxModelAdmin):
    reads = "grains.read"
    called = ("transition", "transitions")
    group = "Memory"
    about = "Every step in the life of grains: from where to where, why, by which numbers, on whose word."
    space_path = "space_id"
    list_display = ["about_grain", "from_badge", "to_badge", "cause", "by", "when", "space"]
    list_filter = [
        filters.values("after", "to", [*Grain.Status.values, *rules.CLASSES]),
        filters.typed("why", "why", lambda text: Q(why__startswith=text)),
        filters.typed("by", "by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.typed("grain", "grain", lambda text: Q(grain__uuid=_uuid(text))),
        filters.day("since", "from day", "at"),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["about_grain", "from_badge", "to_badge", "cause", "decided_by", "said", "by", "when", "space"]
    empty_says = "Every grain is still as it was stored."

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

    @admin.display(description="grain")
    def about_grain(self, row: Any) -> Any:
        return bars.grain(row.grain_id, showing.shortened(row.text, 80), row.grain_status)

    @admin.display(description="from", ordering="before")
    def from_badge(self, row: Any) -> Any:
        return badge(row.before)

    @admin.display(description="to", ordering="after")
    def to_badge(self, row: Any) -> Any:
        return badge(row.after)

    @admin.display(description="why")
    def cause(self, row: Any) -> Any:
        return showing.shortened(row.reason, 80) if row.why == rules.BY_HAND and row.reason else row.why

    @admin.display(description="decided by")
    def decided_by(self, row: Any) -> Any:
        return story.numbers(row.numbers) or showing.NONE

    @admin.display(description="reason")
    def said(self, row: Any) -> Any:
        return row.reason or showing.NONE

    @admin.display(description="by", ordering="actor")
    def by(self, row: Any) -> str:
        return str(row.actor)

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return showing.moment(row.at)


@admin.register(Tombstone)
class TombstonePage(FluxModelAdmin):
    reads = "grains.read"
    called = ("purged grain", "purged grains")
    group = "Memory"
    about = (
        "That there was a grain, and nothing of what it said. Its digest proves to whoever knows it what was purged."
    )
    space_path = "space_id"
    list_display = ["outside", "origin", "purged", "by", "links", "votes", "space"]
    list_filter = [
        filters.typed("by", "by", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.day("since", "from day", "purged_at"),
        filters.spaces("space_id"),
    ]
    ordering = ["-id"]
    fields = ["outside", "digest", "origin", "recorded", "purged", "by", "links", "votes", "space"]
    empty_says = "Nothing was ever purged."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return str(row.uuid)

    @admin.display(description="grain")
    def outside(self, row: Any) -> str:
        return str(row.uuid)

    @admin.display(description="recorded")
    def recorded(self, row: Any) -> Any:
        return showing.moment(row.recorded_at)

    @admin.display(description="purged", ordering="id")
    def purged(self, row: Any) -> Any:
        return showing.moment(row.purged_at)

    @admin.display(description="by", ordering="actor")
    def by(self, row: Any) -> str:
        return str(row.actor)


def badge(name: str) -> Any:
    return showing.badge(name.replace("_", " "), MOODS.get(name, "plain"))


def _uuid(text: str) -> Any:
    from uuid import UUID

    try:
        return UUID(text)
    except ValueError:
        return None


def steps(found: list[story.Told]) -> list[tuple[Any, ...]]:
    """The history of one grain, for its page."""
    return [
        (
            showing.moment(one.at), badge(one.before), badge(one.after), one.reason or one.why, one.actor,
            story.numbers(one.numbers) or showing.NONE,
        )
        for one in found
    ]  # fmt: skip
