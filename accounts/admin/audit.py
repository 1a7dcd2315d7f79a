"""Admin pages of the audit log: entries, status and verification of the chains, export."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any

from asgiref.sync import sync_to_async
from django import forms
from django.contrib import admin
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from accounts import audit, grants, scopes
from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, ExpiryField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.audit import chain_status
from accounts.audit.checkpoints import ChainStatus
from accounts.capabilities import OPERATIONS, split, without_namespace
from accounts.models import AuditEntry, Space
from accounts.principals import INSTANCE_CHAIN, Principal
from accounts.visitor import SignedIn, current_visitor
from fluxcore import clock
from fluxcore.errors import FluxError, Invalid

_CHUNK = 1000


def missing_capability(row: AuditEntry) -> str:
    """The capability a refused agent lacked; empty if it cannot be granted."""
    if row.outcome != AuditEntry.Outcome.REFUSED or not row.actor.startswith("agent:") or row.chain == INSTANCE_CHAIN:
        return ""
    operation, colon, target = str(_details(row).get("missing", "")).partition(":")
    if without_namespace(operation) not in OPERATIONS:
        return ""
    wanted = f"{operation}:{scopes.literal(target)}" if colon else operation
    try:
        split(wanted)
    except Invalid:
        return ""  # the entry has only the beginning of a long name
    return wanted


def _details(row: AuditEntry) -> dict[str, Any]:
    found = json.loads(row.details)
    return found if isinstance(found, dict) else {}


class GrantMissingForm(ActionForm):
    capability = forms.CharField(max_length=grants.MAX_CAPABILITY)
    expires_at = ExpiryField()

    def prepare(self) -> None:
        self.fields["capability"].initial = missing_capability(self.row)


def _grant(principal: Principal, row: AuditEntry, **given: Any) -> None:
    space = Space.objects.get(uuid=row.chain)
    grants.give(principal, space=space.name, agent=row.actor.removeprefix("agent:"), **given)


class ChainFilter(filters.Filter):
    """Filter by chain, listed by the names of spaces; only chains the person may read."""

    title, parameter_name = "chain", "chain"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(chain_status.readable_chains(current_visitor(request)).items())

    def has_output(self) -> bool:
        return len(self.lookup_choices) > 1 or self.value() is not None

    def narrow(self, request: HttpRequest, value: str) -> Q:
        if value not in dict(self.lookup_choices):
            raise KeyError(value)
        return Q(chain=value)


@admin.register(AuditEntry)
class AuditPage(FluxModelAdmin):
    reads = "audit.read"
    called = ("audit entry", "audit entries")
    group = "Audit"
    about = "Every write, refused request and sign-in, recorded in tamper-evident chains."
    row_actions = (
        Action(
            "grant",
            "Grant this capability",
            "grant",
            _grant,
            GrantMissingForm,
            done="Granted.",
            fits=lambda row: bool(missing_capability(row)),
            says="Grants the agent the capability it lacked, within its trust level, its parent's capabilities and "
            "your own rights.",
        ),
    )
    list_display = ["when", "outcome_badge", "actor", "action", "what", "short_reason", "chain_name"]
    list_filter = [
        ChainFilter,
        filters.values("outcome", "outcome", AuditEntry.Outcome.values),
        filters.typed("actor", "actor", lambda text: Q(actor=text) | Q(actor__endswith=f":{text}")),
        filters.typed("action", "action", lambda text: Q(action__startswith=text)),
        filters.day("from", "from day", "at"),
        filters.day("until", "to day", "at", until=True),
    ]
    search_fields = ["actor", "action", "object", "reason"]
    ordering = ["-id"]
    fields = [
        "when",
        "actor",
        "action",
        "object",
        "outcome_badge",
        "reason",
        "details_json",
        "chain_name",
        "position",
        "hash_code",
        "previous_hash",
    ]
    empty_says = "No entries yet. Writes, refused requests and sign-ins are listed here."

    def seen_by(self, who: SignedIn, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows.filter(chain__in=chain_status.readable_chains(who))

    def sees(self, who: SignedIn, row: Any) -> bool:
        return who.may(self.reads) or row.chain in chain_status.readable_chains(who)

    def space_of(self, row: Any) -> int | None:
        """Space of the chain. Entries have no foreign key to a space, because they are kept after it is deleted."""
        return row.space_number if hasattr(row, "space_number") else None

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        found = {space.uuid.hex: space for space in current_visitor(request).spaces.values()}
        for row in rows:
            space = found.get(row.chain)
            row.space_number = space.pk if space is not None else None
            row.chain_called = (
                chain_status.INSTANCE if row.chain == INSTANCE_CHAIN else space.name if space else row.chain[:8]
            )

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("Chains and checkpoints", reverse("admin:chains")), ("Export", reverse("admin:export"))]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("chains/", view(self.chains_view), name="chains"),
            path("export/", view(self.export_view), name="export"),
            *super().get_urls(),
        ]

    # Chains ----------------------------------------------------------------------------------------
    def chains_view(self, request: HttpRequest) -> HttpResponse:
        """List the chains with their checkpoints; a POST verifies one of them or all."""
        if not self.has_view_permission(request):
            raise self._refused(request, self.reads)
        who, report, refusal, seconds = current_visitor(request), None, None, 0.0
        mine = chain_status.verifiable_chains(who)
        if request.method == "POST":
            wanted = request.POST.get("chain", "")
            if wanted and wanted not in mine:
                raise Http404
            try:
                report, seconds = chain_status.verify([wanted] if wanted else list(mine))
            except FluxError as error:
                refusal = error
        elif request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        found = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Chains and checkpoints",
            "chains": [_chain_row(status, mine) for status in chain_status.visible_statuses(who)],
            "report": report,
            "refusal": refusal,
            "seconds": seconds,
            "names": mine,
            "runs": who.may("instance.manage"),
            "verdicts": [(mine.get(verdict.chain, verdict.chain), verdict) for verdict in report.chains]
            if report
            else [],
        }
        return TemplateResponse(request, "admin/flux/chains.html", found, status=refusal.status if refusal else 200)

    def export_view(self, request: HttpRequest) -> StreamingHttpResponse:
        """Export the entries as they are hashed, one JSON object per line, for independent verification."""
        if not self.has_view_permission(request) or request.method not in ("GET", "HEAD"):
            raise self._refused(request, self.reads)
        mine = chain_status.verifiable_chains(current_visitor(request))
        wanted = request.GET.get("chain")
        if wanted is not None and wanted not in mine:
            raise Http404
        chains = [wanted] if wanted is not None else list(mine)
        # Under ASGI Django would read a synchronous iterator to its end before it sends the first byte.
        lines = _lines_async(chains) if isinstance(request, ASGIRequest) else _lines(chains)
        name = "audit" if wanted is None else f"audit-{wanted[:8]}"
        return StreamingHttpResponse(
            lines,
            content_type="application/jsonl; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.jsonl"'},
        )

    # Columns ---------------------------------------------------------------------------------------
    def titled(self, row: Any) -> str:
        return f"{row.action} by {row.actor}"

    @admin.display(description="when", ordering="id")
    def when(self, row: Any) -> Any:
        return formatting.relative_time(row.at)

    @admin.display(description="object")
    def what(self, row: Any) -> Any:
        return format_html('<span title="{}">{}</span>', row.object, formatting.shorten(row.object, 18))

    @admin.display(description="outcome", ordering="outcome")
    def outcome_badge(self, row: Any) -> Any:
        return formatting.badge(row.outcome, "bad" if row.outcome == AuditEntry.Outcome.REFUSED else "good")

    @admin.display(description="reason")
    def short_reason(self, row: Any) -> str:
        return formatting.shorten(row.reason, 60)

    @admin.display(description="chain")
    def chain_name(self, row: Any) -> str:
        return str(row.chain_called)

    @admin.display(description="position")
    def position(self, row: Any) -> int:
        return int(row.seq)

    @admin.display(description="details")
    def details_json(self, row: Any) -> Any:
        return formatting.pretty_json(_details(row))

    @admin.display(description="hash")
    def hash_code(self, row: Any) -> Any:
        return formatting.code(row.hash)

    @admin.display(description="previous hash")
    def previous_hash(self, row: Any) -> Any:
        return formatting.code(row.prev)


def _chain_row(status: ChainStatus, names: dict[str, str]) -> dict[str, Any]:
    """Values of one chain for a row of the table."""
    if status.checkpoint_at is None or status.checkpoint_entries is None:
        checkpoint = formatting.badge(
            "none yet", "warn", title="Without a checkpoint, entries removed from the end would go unnoticed."
        )
    else:
        newer = status.entries - status.checkpoint_entries
        since = (
            formatting.badge(f"{newer} newer entries" if newer > 1 else "1 newer entry", "plain")
            if newer > 0
            else formatting.badge("up to date", "good")
        )
        checkpoint = format_html("{} {}", formatting.relative_time(clock.parse(status.checkpoint_at)), since)
    last = chain_status.last_verification(status.chain)
    if last is None:
        verified: Any = formatting.NONE
    else:
        found = formatting.badge("intact", "good") if last.verdict.sound else formatting.badge("broken", "bad")
        verified = format_html("{} {}", found, formatting.relative_time(last.at))
    return {
        "status": status,
        "name": names.get(status.chain, status.chain[:8]),
        "newest": formatting.relative_time(clock.parse(status.newest)),
        "checkpoint": checkpoint,
        "verified": verified,
    }


def _chunk(chain: str, after: int | None) -> list[dict[str, Any]]:
    return list(islice(audit.export(chain, after=after), _CHUNK))


def _written(entries: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def _lines(chains: list[str]) -> Iterator[str]:
    for chain in chains:
        after: int | None = None
        while entries := _chunk(chain, after):
            yield _written(entries)
            after = entries[-1]["seq"]


async def _lines_async(chains: list[str]) -> AsyncIterator[str]:
    for chain in chains:
        after: int | None = None
        while entries := await sync_to_async(_chunk)(chain, after):
            yield _written(entries)
            after = entries[-1]["seq"]
