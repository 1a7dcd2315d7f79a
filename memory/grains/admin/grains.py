"""The page of grains, with everything that belongs to each."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode

from accounts import origins
from accounts.adminsite import filters, formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.forms import ActionForm
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from accounts.capability_preview import register_names
from accounts.principals import Principal
from fluxcore import clock
from memory.grains import dossier
from memory.grains.admin import cells, grain_actions
from memory.grains.grain_links import GrainLink
from memory.grains.models import DecayClass, Grain
from memory.grains.pin import pin
from memory.grains.validity import close
from memory.learning.grain_votes import GrainVote
from memory.recall.grain_recalls import GrainUse

MOODS: dict[str, BadgeStyle] = {"active": "good", "quarantined": "bad", "pending_deletion": "warn"}


class CloseForm(ActionForm):
    at = forms.DateTimeField(
        label="Until (UTC)",
        required=False,
        help_text="When it stopped being true. Leave it empty for now.",
        widget=forms.DateTimeInput({"type": "datetime-local", "step": 1}),
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        return {**found, "at": clock.rfc3339(found["at"])}


def _pin(principal: Principal, row: Grain, **given: Any) -> None:
    pin(principal, grain=str(row.uuid), pinned=True, **given)


def _unpin(principal: Principal, row: Grain, **given: Any) -> None:
    pin(principal, grain=str(row.uuid), pinned=False, **given)


def _close(principal: Principal, row: Grain, **given: Any) -> None:
    close(principal, grain=str(row.uuid), **given)


@register_names("grains")
def _newest(space: int, most: int) -> list[str]:
    """Grains have no names, and what reads one reads all: a few say enough."""
    found = Grain.objects.filter(space=space, status=Grain.Status.ACTIVE).order_by("-id")
    return [formatting.shorten(text, 60) for text in found.values_list("text", flat=True)[: min(most, 3)]]


@admin.register(Grain)
class GrainAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("grain", "grains")
    group = "Memory"
    about = "What is remembered, word for word, and where each text came from."
    space_path = "space_id"
    acts = (
        Action(
            "pin",
            "Pin",
            "grains.manage",
            _pin,
            done="Pinned.",
            fits=lambda row: not row.pinned,
            says="Decay and clean-up leave it alone from now on.",
        ),
        Action(
            "unpin",
            "Unpin",
            "grains.manage",
            _unpin,
            done="Let go.",
            fits=lambda row: row.pinned,
            says="It ages like any other grain again.",
        ),
        Action(
            "close",
            "Close",
            "grains.manage",
            _close,
            form=CloseForm,
            done="Closed.",
            fits=lambda row: row.valid_to is None,
            says="It was true until then: recall no longer answers with it, except as of an earlier moment.",
        ),
        *grain_actions.GRAIN_ACTIONS,
    )
    list_display = ["beginning", "space", "origin_badge", "state", "writer", "recorded"]
    list_filter = [
        filters.values("status", "status", Grain.Status.values),
        filters.values("origin", "origin", origins.AUTHORITY),
        filters.choice(
            "pinned",
            "pinned",
            {
                "yes": ("pinned", lambda: Q(pinned=True)),
                "no": ("not pinned", lambda: Q(pinned=False)),
            },
        ),
        filters.spaces("space_id"),
        filters.typed("writer", "writer", lambda text: Q(writer=text) | Q(writer__endswith=f":{text}")),
        filters.typed("session", "session", lambda text: Q(session=text) & ~Q(session="")),
        filters.typed("speaker", "speaker", lambda text: Q(speaker=text)),
    ]
    search_fields = ["text"]
    ordering = ["-id"]
    fields = [
        "whole",
        "space",
        "state",
        "origin_badge",
        "believed",
        "writer",
        "label",
        "said_by",
        "conversation",
        "tagged",
        "said",
        "valid",
        "recorded",
        "corroborations",
        "fades",
        "prepared",
        "outside_id",
    ]
    empty_says = "Nothing is remembered yet. Store something through REST or MCP and it appears here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def titled(self, row: Any) -> str:
        return formatting.shorten(row.text, 60)

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = dossier.load_dossier(self.principal(request, row), row.uuid)
        all_links = f"{reverse('admin:grains_conduit_changelist')}?grain={row.uuid}"
        columns = ("relation", "weight now", "affinity", "last used", "uses")
        return [
            Section(
                "Links in",
                ("from", *columns),
                [_tie(tie) for tie in found.ties.inward],
                says="Nothing leads here yet but its words.",
                more=all_links,
            ),
            Section(
                "Links out",
                ("to", *columns),
                [_tie(tie) for tie in found.ties.outward],
                says="It leads nowhere yet.",
                more=all_links,
            ),
            Section(
                "Found by", ("what", "kind", "weight now"), _doors(found.doors), says="It has no words to be found by."
            ),
            Section(
                "Lineage",
                ("grain", "relation", "other grain", "steps"),
                _lineage(found),
                says="It rests on nothing, and nothing has taken its place.",
            ),
            Section(
                "Recalls",
                ("when", "question", "by", "place"),
                [_use(use) for use in found.uses],
                says="No recall that is still on record returned it.",
            ),
            Section(
                "Votes",
                ("when", "said", "question", "by"),
                [_opinion(one) for one in found.opinions],
                says="Nobody has judged it yet.",
            ),
            Section(
                "History",
                ("when", "from", "to", "why", "by", "decided by"),
                grain_actions.history_rows(found.steps),
                says="It has always been as it is.",
                more=f"{reverse('admin:grains_transition_changelist')}?grain={row.uuid}",
            ),
        ]

    @admin.display(description="text")
    def beginning(self, row: Any) -> str:
        return formatting.shorten(row.text)

    @admin.display(description="text")
    def whole(self, row: Any) -> Any:
        return formatting.multiline(row.text)

    @admin.display(description="origin", ordering="origin")
    def origin_badge(self, row: Any) -> Any:
        return formatting.badge(row.origin.replace("_", " "), "calm" if row.origin.startswith("user") else "plain")

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> Any:
        status = formatting.badge(row.status.replace("_", " "), MOODS.get(row.status, "plain"))
        return format_html("{} {}", status, formatting.badge("pinned", "calm")) if row.pinned else status

    @admin.display(description="believed")
    def believed(self, row: Any) -> Any:
        authority = origins.AUTHORITY[row.authority].replace("_", " ")
        return format_html("{} as {}", cells.bar(row.confidence), authority)

    @admin.display(description="speaker")
    def said_by(self, row: Any) -> Any:
        return row.speaker or formatting.NONE

    @admin.display(description="session")
    def conversation(self, row: Any) -> Any:
        if not row.session:
            return formatting.NONE
        address = f"{reverse('admin:grains_grain_changelist')}?{urlencode({'session': row.session})}"
        return format_html("{}, place {}", formatting.link(address, row.session), row.ordinal + 1)

    @admin.display(description="tags")
    def tagged(self, row: Any) -> Any:
        return formatting.chips(row.tags)

    @admin.display(description="said")
    def said(self, row: Any) -> Any:
        return formatting.relative_time(row.said_at)

    @admin.display(description="valid")
    def valid(self, row: Any) -> Any:
        if row.valid_from is None and row.valid_to is None:
            return "always"
        return format_html(
            "from {} until {}",
            formatting.relative_time(row.valid_from, none="ever"),
            formatting.relative_time(row.valid_to, none="further notice"),
        )

    @admin.display(description="recorded", ordering="id")
    def recorded(self, row: Any) -> Any:
        return formatting.relative_time(row.recorded_at)

    @admin.display(description="links fade")
    def fades(self, row: Any) -> str:
        return {0: "as usual", 1: "slowly", 2: "soon"}[DecayClass(row.decay_class)]

    @admin.display(description="vector and neighbours")
    def prepared(self, row: Any) -> Any:
        return formatting.badge("made", "good") if row.enriched else formatting.badge("waiting", "warn")


def _tie(tie: GrainLink) -> tuple[Any, ...]:
    end: Any = formatting.NONE
    if tie.entry is not None:
        end = format_html("{} {}", formatting.badge(tie.entry[0]), tie.entry[1])
    elif tie.grain is not None:
        end = cells.grain_link(tie.grain.number, tie.grain.snippet, tie.grain.status)
    return (
        end,
        tie.relation.label.lower(),
        cells.bar(tie.weight),
        f"{tie.affinity:.2f}",
        formatting.relative_time(tie.used_at),
        tie.use_count,
    )


def _doors(doors: list[dossier.GrainFeature]) -> list[tuple[Any, ...]]:
    """Entries and what was learned about terms line by line, the plain words of the text together."""
    rows: list[tuple[Any, ...]] = [
        (door.feature, door.kind, cells.bar(door.weight)) for door in doors if door.weight is not None
    ]
    plain = [door for door in doors if door.weight is None]
    if plain:
        # With an index in memory the rarest come first, and say how rare they are.
        said = [door.feature if door.idf is None else f"{door.feature} {door.idf:.1f}" for door in plain]
        rows.append((formatting.chips(said), "words", formatting.NONE))
    return rows


def _lineage(found: dossier.GrainDossier) -> list[tuple[Any, ...]]:
    chain = [
        (
            cells.grain_link(link.source.number, link.source.snippet, link.source.status),
            link.relation.label.lower(),
            cells.grain_link(link.target.number, link.target.snippet, link.target.status),
            link.depth,
        )
        for link in (*found.ties.back, *found.ties.ahead)
    ]
    same = [
        ("this one", "says the same as", cells.grain_link(end.number, str(end.uuid), end.status), 1)
        for end in found.ties.same_text
    ]
    return [*chain, *same]


def _opinion(one: GrainVote) -> tuple[Any, ...]:
    said = "missing from the answer" if one.missed else "useful" if one.vote > 0 else "not useful"
    said = f"{said}, implied" if one.implied else said
    badge = formatting.badge(said, "good" if one.vote > 0 else "warn")
    return formatting.relative_time(one.at), badge, formatting.shorten(one.query or "", 80), one.by or formatting.NONE


def _use(use: GrainUse) -> tuple[Any, ...]:
    question: Any = format_html('<span class="none">{}</span>', "somebody else's question")
    if use.number is not None:
        question = cells.link_to("trace", use.number, formatting.shorten(use.query or "", 80))
    return formatting.relative_time(clock.parse(use.at or "")), question, use.asked_by or formatting.NONE, use.place
