"""Admin page of agents: programs with capabilities, tokens and a trust level."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from accounts import effective_capabilities, lookalikes, trust
from accounts.admin import agent_actions
from accounts.admin.people import MOST_COMPARED
from accounts.adminsite import filters, formatting
from accounts.adminsite.index_tiles import agents_never_called
from accounts.adminsite.modeladmin import FluxModelAdmin, Section
from accounts.adminsite.state_badges import grant_state, token_state
from accounts.models import Agent, Grant, Token
from fluxcore import clock


@admin.register(Agent)
class AgentPage(FluxModelAdmin):
    reads = "accounts.read"
    called = ("agent", "agents")
    group = "Agents"
    about = "Programs that use the memory. Each has capabilities and tokens and belongs to one space."
    space_path = "space_id"
    adds = agent_actions.CREATE
    row_actions = agent_actions.ROW_ACTIONS
    list_display = ["name_with_badge", "state", "space", "trust_badge", "capability_chips", "token_count", "last_call"]
    list_filter = [
        filters.spaces("space_id"),
        filters.choice(
            "state",
            "state",
            {
                "active": ("active", lambda: Q(active=True)),
                "stopped": ("suspended", lambda: Q(active=False)),
            },
        ),
        filters.values("trust", "trust level", trust.LEVELS),
        filters.choice("calls", "requests", {"never": ("never", agents_never_called)}),
    ]
    list_select_related = ["space"]
    search_fields = ["name"]
    ordering = ["space__name", "name"]
    fields = [
        "full_name",
        "space",
        "trust_badge",
        "parent_link",
        "state",
        "votes",
        "mcp_tools",
        "own_capabilities",
        "effective",
        "last_call",
        "outside_id",
        "created",
    ]
    empty_says = "No agents yet. Create one, mint its token and put the token into your program's configuration."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space", "parent")

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        numbers, moment = [row.pk for row in rows], clock.now()
        usable = Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=moment))
        counted = {
            agent: (count, last)
            for agent, count, last in Token.objects.filter(agent__in=numbers)
            .order_by()
            .values_list("agent")
            .annotate(usable=Count("pk", filter=usable), last=Max("last_used_at"))
        }
        names: dict[int, set[str]] = {}
        in_spaces = Agent.objects.filter(space__in={row.space_id for row in rows}).order_by()
        for space, name in in_spaces.values_list("space_id", "name")[:MOST_COMPARED]:
            names.setdefault(space, set()).add(name)
        alike = {space: lookalikes.find_lookalikes(found) for space, found in names.items()}
        for row in rows:
            row.usable_tokens, row.last_used_at = counted.get(row.pk, (0, None))
            row.alike = alike.get(row.space_id, {}).get(row.name, [])

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        tokens_shown = row.tokens.order_by("-id")[:10]
        grants_shown = Grant.objects.filter(agent=row).order_by("-id")[:10]
        return [
            Section(
                "Tokens",
                ("token", "maximum provenance", "note", "minted", "last used", "state"),
                [
                    (
                        formatting.link(reverse("admin:accounts_token_change", args=[token.pk]), token),
                        token.ceiling,
                        token.note,
                        formatting.relative_time(token.created_at),
                        formatting.relative_time(token.last_used_at, none="never"),
                        token_state(token),
                    )
                    for token in tokens_shown
                ],
                says="No tokens yet. The agent needs a token to send requests: use Mint token.",
                more=_list("accounts_token", row),
            ),
            Section(
                "Grants",
                ("capability", "granted by", "granted", "expires", "state"),
                [
                    (
                        formatting.link(reverse("admin:accounts_grant_change", args=[grant.pk]), grant.capability),
                        grant.granted_by,
                        formatting.relative_time(grant.granted_at),
                        formatting.relative_time(grant.expires_at, none="never"),
                        grant_state(grant),
                    )
                    for grant in grants_shown
                ],
                says="No grants. The agent has only its own capabilities.",
                more=_list("accounts_grant", row),
            ),
        ]

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("What capabilities allow", reverse("admin:preview"))]

    def titled(self, row: Any) -> str:
        return str(row.name)

    @admin.display(description="name", ordering="name")
    def name_with_badge(self, row: Any) -> Any:
        return formatting.name_with_warning(row.name, row.alike)

    @admin.display(description="name")
    def full_name(self, row: Any) -> Any:
        return formatting.name_with_full_warning(row.name, row.alike)

    @admin.display(description="trust level", ordering="trust")
    def trust_badge(self, row: Any) -> Any:
        return formatting.badge(row.trust, "warn" if row.trust == Agent.Trust.PRIVILEGED else "plain")

    @admin.display(description="capabilities")
    def capability_chips(self, row: Any) -> Any:
        return formatting.chips(row.capabilities, most=3)

    @admin.display(description="own capabilities")
    def own_capabilities(self, row: Any) -> Any:
        return formatting.chips(row.capabilities)

    @admin.display(description="effective capabilities")
    def effective(self, row: Any) -> Any:
        """Own capabilities and grants, limited by trust level and parent."""
        address = f"{reverse('admin:preview')}?agent={row.pk}"
        texts = effective_capabilities.capabilities_of(row).texts
        return format_html("{} {}", formatting.chips(texts), formatting.link(address, "See what they allow"))

    @admin.display(description="tokens")
    def token_count(self, row: Any) -> Any:
        return row.usable_tokens or formatting.badge("none", "warn")

    @admin.display(description="last request")
    def last_call(self, row: Any) -> Any:
        return formatting.relative_time(row.last_used_at, none="never")

    @admin.display(description="state", ordering="active")
    def state(self, row: Any) -> Any:
        return formatting.badge("active", "good") if row.active else formatting.badge("suspended", "bad")

    @admin.display(description="feedback")
    def votes(self, row: Any) -> Any:
        return "required before the next recall" if row.must_rate else "optional, with reminders"

    @admin.display(description="additional MCP tools")
    def mcp_tools(self, row: Any) -> Any:
        return formatting.chips(row.tools)

    @admin.display(description="parent")
    def parent_link(self, row: Any) -> Any:
        if row.parent is None:
            return formatting.NONE
        return formatting.link(reverse("admin:accounts_agent_change", args=[row.parent.pk]), row.parent.name)

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)


def _list(address: str, agent: Agent) -> str:
    return f"{reverse(f'admin:{address}_changelist')}?agent={agent.name}&space={agent.space.name}"
