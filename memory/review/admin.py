"""Admin page of the review queue: items with what they propose, to accept and to deny."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from accounts.adminsite import filters, formatting
from accounts.adminsite.formatting import BadgeStyle
from accounts.adminsite.forms import ActionForm
from accounts.adminsite.index_tiles import Tile, list_address, register_tiles
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.visitor import SignedIn
from fluxcore.visible_text import visible
from memory.review import edited_text, kinds
from memory.review.kinds import ReviewKind
from memory.review.models import ReviewItem

_STATES: dict[str, BadgeStyle] = {"open": "warn", "accepted": "good", "denied": "bad", "withdrawn": "calm"}


def described(row: ReviewItem) -> dict[str, Any]:
    """What an item proposes; nothing if its kind, or what it was about, is gone."""
    return kinds.find(row.kind).describe(row) if row.kind in kinds.names() else {}


def difference(row: ReviewItem, shown: dict[str, Any]) -> SafeString:
    """The difference of an item, or why there is none."""
    change = shown.get("change", {})
    text = change.get("diff") or change.get("no_diff") or "Nothing differs."
    since = formatting.badge(kinds.find(row.kind).outdated, "warn") if change.get("changed_since") else ""
    return format_html('{}<pre class="data">{}</pre>', since, visible(text, keep="\t\n"))


class SeenWidget(forms.Widget):
    """The difference that is shown, and in a hidden input the name of that state."""

    row: ReviewItem

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        shown = described(self.row)
        hidden = format_html('<input type="hidden" name="{}" value="{}">', name, shown.get("seen", ""))
        return hidden + difference(self.row, shown)


class AcceptItemForm(ActionForm):
    seen = forms.CharField(label="Difference", max_length=64, widget=SeenWidget)

    def prepare(self) -> None:
        self.fields["seen"].widget.row = self.row


class EditItemForm(AcceptItemForm):
    text = forms.CharField(
        label="Text to accept",
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 16, "spellcheck": "false", "autocapitalize": "none"}),
    )

    def prepare(self) -> None:
        super().prepare()
        self.initial["text"] = _text(self.row)

    def clean_text(self) -> str:
        return edited_text.sent_back(self.cleaned_data["text"], like=_text(self.row) or "")


def _text(row: ReviewItem) -> str | None:
    """The proposed text, if there is one."""
    found: str | None = described(row).get("change", {}).get("text")
    return found


# These import their verbs when they run: declared calls import pydantic, which would slow down every start.
def _accept(principal: Any, row: ReviewItem, **given: Any) -> dict[str, Any]:
    from memory.review import handlers

    return dict(handlers.accept_review(principal, item=str(row.uuid), **given))


def _deny(principal: Any, row: ReviewItem, **given: Any) -> dict[str, Any]:
    from memory.review import handlers

    return dict(handlers.deny_review(principal, item=str(row.uuid), **given))


def _is_open(row: ReviewItem) -> bool:
    return row.state == "open"


def _is_editable(row: ReviewItem) -> bool:
    return _is_open(row) and (text := _text(row)) is not None and edited_text.is_editable(text)


@admin.register(ReviewItem)
class ReviewItemPage(FluxModelAdmin):
    reads = ""  # that of each row's kind
    called = ("review item", "review items")
    group = "Memory"
    about = "Proposals of agents that wait for a decision, and how earlier ones were decided."
    space_path = "space_id"
    row_actions = (
        Action(
            "accept",
            "Accept",
            "",
            _accept,
            AcceptItemForm,
            fits=_is_open,
            done="Accepted.",
            says="What is proposed takes effect as it is shown.",
        ),
        Action(
            "edit",
            "Edit and accept",
            "",
            _accept,
            EditItemForm,
            fits=_is_editable,
            done="Accepted.",
            says="The text below takes effect instead of the proposed one.",
        ),
        Action(
            "deny",
            "Deny",
            "",
            _deny,
            dangerous=True,
            fits=_is_open,
            done="Denied.",
            says="Nothing is changed. The author reads the reason.",
        ),
    )
    list_display = ["title", "kind_name", "status", "authored", "provenance", "updated", "decided", "space"]
    list_filter = [
        filters.values("state", "state", ReviewItem.ReviewState.values),
        filters.typed("author", "author", ReviewItem.by_author),
        filters.spaces("space_id"),
    ]
    search_fields = ["title__icontains"]
    ordering = ["-id"]
    fields = [
        "title",
        "kind_name",
        "status",
        "authored",
        "provenance",
        "reason",
        "created",
        "updated",
        "decided",
        "decision_reason",
        "proposed",
        "outside_id",
        "space",
    ]
    empty_says = "No review items yet. What agents propose is listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def reads_all(self, who: SignedIn) -> bool:
        return all(who.may(kind.reads) for kind in kinds.all_kinds())

    def spaces_read(self, who: SignedIn) -> list[int]:
        return [space for space in who.roles if any(_sees(who, kind, space) for kind in kinds.all_kinds())]

    def seen_by(self, who: SignedIn, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(kinds.where(lambda kind: [space for space in who.roles if _sees(who, kind, space)]))

    def sees(self, who: SignedIn, row: Any) -> bool:
        return self.reads_all(who) or (row.kind in kinds.names() and _sees(who, kinds.find(row.kind), row.space_id))

    def operation(self, action: Action, row: Any) -> str:
        return kinds.find(row.kind).decides

    def may_run(self, request: HttpRequest, action: Action, row: Any) -> bool:
        return row.kind in kinds.names() and super().may_run(request, action, row)

    @admin.display(description="kind")
    def kind_name(self, row: Any) -> str:
        return kinds.find(row.kind).label if row.kind in kinds.names() else str(row.kind)

    @admin.display(description="state", ordering="state")
    def status(self, row: Any) -> Any:
        return formatting.badge(row.state, _STATES[row.state])

    @admin.display(description="by")
    def authored(self, row: Any) -> Any:
        names = formatting.chips(row.author_names, most=3)
        return format_html("{} {}", names, visible(f"({row.label})")) if row.label else names

    @admin.display(description="provenance", ordering="origin")
    def provenance(self, row: Any) -> str:
        return str(row.origin).replace("_", " ")

    @admin.display(description="opened")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)

    @admin.display(description="last changed", ordering="updated_at")
    def updated(self, row: Any) -> Any:
        return formatting.relative_time(row.updated_at)

    @admin.display(description="decided", ordering="decided_at")
    def decided(self, row: Any) -> Any:
        if row.decided_at is None:
            return formatting.relative_time(None, none="not yet")
        return format_html("{} by {}", formatting.relative_time(row.decided_at), row.decided_by)

    @admin.display(description="difference")
    def proposed(self, row: Any) -> Any:
        return difference(row, described(row))


def _sees(who: SignedIn, kind: ReviewKind, space: int) -> bool:
    return who.may(kind.reads, space) or who.may(kind.decides, space)


@register_tiles
def _waiting(who: SignedIn) -> list[Tile]:
    mine = {space for kind in kinds.all_kinds() for space in who.spaces_where(kind.decides)}
    waiting = ReviewItem.objects.filter(kinds.where(lambda kind: who.spaces_where(kind.decides)), state="open")
    link = reverse("review") if len(mine) == 1 else list_address("review_reviewitem", state="open")
    return [Tile(waiting.values("pk"), "proposal waits for a decision", "proposals wait for a decision", link, True)]
