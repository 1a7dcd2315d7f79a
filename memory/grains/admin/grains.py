"""Admin page of memories (grains): text, provenance, links, recalls, feedback, history."""

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
from memory.engine.kinds import MADE_KINDS
from memory.grains import dossier, sources
from memory.grains.admin import cells, grain_actions, grain_source
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
        help_text="When the memory stopped being true. Empty: now.",
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
    """The newest memories, as examples on the capability preview: memories have no names."""
    found = Grain.objects.filter(space=space, status=Grain.Status.ACTIVE).order_by("-id")
    return [formatting.shorten(text, 60) for text in found.values_list("text", flat=True)[: min(most, 3)]]


@admin.register(Grain)
class GrainAdmin(FluxModelAdmin):
    reads = "grains.read"
    called = ("memory", "memories")
    group = "Memory"
    about = "Stored memories with their text, provenance and status."
    space_path = "space_id"
    row_actions = (
        Action(
            "pin",
            "Pin",
            "grains.manage",
            _pin,
            done="Pinned.",
            fits=lambda row: not row.pinned,
            says="Pinned memories are exempt from decay and clean-up.",
        ),
        Action(
            "unpin",
            "Unpin",
            "grains.manage",
            _unpin,
            done="Unpinned.",
            fits=lambda row: row.pinned,
            says="Decay and clean-up apply to it again.",
        ),
        Action(
            "close",
            "Set end of validity",
            "grains.manage",
            _close,
            form=CloseForm,
            done="End of validity set.",
            fits=lambda row: row.valid_to is None,
            says="The memory was true until then. It is not recalled any more, except for questions about an "
            "earlier time.",
        ),
        *grain_actions.GRAIN_ACTIONS,
    )
    list_display = ["beginning", "space", "origin_badge", "state", "writer", "recorded"]
    list_filter = [
        filters.values("status", "status", Grain.Status.values),
        filters.values("origin", "provenance", origins.AUTHORITY),
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
    empty_says = (
        "No memories yet. Memories stored through REST, MCP, the dashboard or the command line are listed here."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Lists have memories only; passages, messages and values have pages, to which recalls lead."""
        rows = super().get_queryset(request).select_related("space")
        match = request.resolver_match
        return rows if match and "object_id" in match.kwargs else rows.exclude(status__in=MADE_KINDS)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        if row is None or row.status not in MADE_KINDS:
            return row
        seen = sources.citations(self.principal(request, row), row.space_id, [(row.pk, row.status)])
        return row if seen else None

    def available_actions(self, request: HttpRequest, row: Any) -> list[tuple[Action, str]]:
        """None on what was made from a file, a transcript or a key: these decide what becomes of it."""
        return [] if row.status in MADE_KINDS else super().available_actions(request, row)

    def titled(self, row: Any) -> str:
        return formatting.shorten(row.text, 60)

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = dossier.load_dossier(self.principal(request, row), row.uuid)
        all_links = f"{reverse('admin:grains_conduit_changelist')}?grain={row.uuid}"
        columns = ("relation", "weight now", "affinity", "last used", "uses")
        return [
            *grain_source.sections(found.particulars),
            Section(
                "Links in",
                ("from", *columns),
                [_tie(tie) for tie in found.ties.inward],
                says="No incoming links yet. Recall finds it by its words.",
                more=all_links,
            ),
            Section(
                "Links out",
                ("to", *columns),
                [_tie(tie) for tie in found.ties.outward],
                says="No outgoing links yet.",
                more=all_links,
            ),
            Section(
                "Words and entities",
                ("word or entity", "kind", "weight now"),
                _entry_link_rows(found.entry_links),
                says="It has no words or entities that recall could match.",
            ),
            Section(
                "Lineage",
                ("memory", "relation", "other memory", "steps"),
                _lineage(found),
                says="No sources or replacements.",
            ),
            Section(
                "Recalls",
                ("time", "question", "asked by", "rank"),
                [_use(use) for use in found.uses],
                says="No recall has returned it within the retention period of traces.",
            ),
            Section(
                "Feedback",
                ("time", "rating", "question", "by"),
                [_opinion(one) for one in found.opinions],
                says="No feedback yet.",
            ),
            Section(
                "History",
                ("time", "from", "to", "cause", "by", "measured values"),
                grain_actions.history_rows(found.steps),
                says="No changes since it was stored.",
                more=f"{reverse('admin:grains_transition_changelist')}?grain={row.uuid}",
            ),
        ]

    @admin.display(description="text")
    def beginning(self, row: Any) -> str:
        return formatting.shorten(row.text)

    @admin.display(description="text")
    def whole(self, row: Any) -> Any:
        return formatting.multiline(row.text)

    @admin.display(description="provenance", ordering="origin")
    def origin_badge(self, row: Any) -> Any:
        return formatting.badge(row.origin.replace("_", " "), "calm" if row.origin.startswith("user") else "plain")

    @admin.display(description="status", ordering="status")
    def state(self, row: Any) -> Any:
        status = formatting.badge(row.status.replace("_", " "), MOODS.get(row.status, "plain"))
        return format_html("{} {}", status, formatting.badge("pinned", "calm")) if row.pinned else status

    @admin.display(description="confidence")
    def believed(self, row: Any) -> Any:
        """Confidence, with the provenance the memory counts as where writers of a higher one have confirmed it."""
        authority = origins.AUTHORITY[row.authority]
        if authority == row.origin:
            return cells.bar(row.confidence)
        return format_html("{} confirmed as {}", cells.bar(row.confidence), authority.replace("_", " "))

    @admin.display(description="speaker")
    def said_by(self, row: Any) -> Any:
        return row.speaker or formatting.NONE

    @admin.display(description="session")
    def conversation(self, row: Any) -> Any:
        if not row.session:
            return formatting.NONE
        address = f"{reverse('admin:grains_grain_changelist')}?{urlencode({'session': row.session})}"
        return format_html("{}, message {}", formatting.link(address, row.session), row.ordinal + 1)

    @admin.display(description="tags")
    def tagged(self, row: Any) -> Any:
        return formatting.chips(row.tags)

    @admin.display(description="said at")
    def said(self, row: Any) -> Any:
        return formatting.relative_time(row.said_at)

    @admin.display(description="valid")
    def valid(self, row: Any) -> Any:
        if row.valid_from is None and row.valid_to is None:
            return "without limit"
        return format_html(
            "from {} until {}",
            formatting.relative_time(row.valid_from, none="the beginning"),
            formatting.relative_time(row.valid_to, none="now"),
        )

    @admin.display(description="recorded", ordering="id")
    def recorded(self, row: Any) -> Any:
        return formatting.relative_time(row.recorded_at)

    @admin.display(description="decay of links")
    def fades(self, row: Any) -> str:
        return {0: "normal", 1: "slow", 2: "fast"}[DecayClass(row.decay_class)]

    @admin.display(description="vector and similar memories")
    def prepared(self, row: Any) -> Any:
        return formatting.badge("ready", "good") if row.enriched else formatting.badge("queued", "warn")


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


def _entry_link_rows(entry_links: list[dossier.GrainFeature]) -> list[tuple[Any, ...]]:
    """Rows of entities and learned terms, then one row with all other words of the text."""
    rows: list[tuple[Any, ...]] = [
        (link.feature, link.kind, cells.bar(link.weight)) for link in entry_links if link.weight is not None
    ]
    plain = [link for link in entry_links if link.weight is None]
    if plain:
        # With an index in memory the rarest come first, with their inverse document frequency.
        labels = [link.feature if link.idf is None else f"{link.feature} {link.idf:.1f}" for link in plain]
        rows.append((formatting.chips(labels), "words", formatting.NONE))
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
        ("this memory", "has the same text as", cells.grain_link(end.number, str(end.uuid), end.status), 1)
        for end in found.ties.same_text
    ]
    return [*chain, *same]


def _opinion(one: GrainVote) -> tuple[Any, ...]:
    label = "missing from the answer" if one.missed else "useful" if one.vote > 0 else "not useful"
    label = f"{label}, implied" if one.implied else label
    badge = formatting.badge(label, "good" if one.vote > 0 else "warn")
    return formatting.relative_time(one.at), badge, formatting.shorten(one.query or "", 80), one.by or formatting.NONE


def _use(use: GrainUse) -> tuple[Any, ...]:
    question: Any = format_html('<span class="none">{}</span>', "question of another caller")
    if use.number is not None:
        question = cells.link_to("trace", use.number, formatting.shorten(use.query or "", 80))
    return formatting.relative_time(clock.parse(use.at or "")), question, use.asked_by or formatting.NONE, use.place
