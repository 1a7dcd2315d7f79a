"""Admin page of tokens: shown by prefix, revoked here. Only a digest of the token is stored."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts import origins, tokens
from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.adminsite.state_badges import ENDING_SOON, token_state
from accounts.models import Token
from accounts.principals import Principal
from fluxcore import clock


def _revoke(principal: Principal, row: Token, **given: Any) -> None:
    tokens.revoke(principal, prefix=row.prefix, **given)


def _ending() -> Q:
    moment = clock.now()
    return Q(revoked_at=None, expires_at__gt=moment, expires_at__lte=moment + ENDING_SOON)


@admin.register(Token)
class TokenPage(FluxModelAdmin):
    reads = "accounts.read"
    called = ("token", "tokens")
    group = "Agents"
    about = "Tokens of agents, listed by their first characters. The whole token was shown once, when it was minted."
    space_path = "agent__space_id"
    row_actions = (
        Action(
            "revoke",
            "Revoke",
            "accounts.manage",
            _revoke,
            dangerous=True,
            fits=lambda row: row.revoked_at is None,
            says="Every further request with this token is refused.",
            done="Revoked.",
        ),
    )
    list_display = ["begins", "state", "of", "space", "note", "ceiling", "ends", "last_used"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "active": ("active", lambda: Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=clock.now()))),
                "ending": ("expires within a week", _ending),
                "expired": ("expired", lambda: Q(revoked_at=None, expires_at__lte=clock.now())),
                "revoked": ("revoked", lambda: Q(revoked_at__isnull=False)),
            },
        ),
        filters.spaces("agent__space_id"),
        filters.values("ceiling", "maximum provenance", origins.CEILINGS),
        filters.typed("agent", "agent", lambda text: Q(agent__name=text)),
    ]
    search_fields = ["prefix", "agent__name", "note"]
    ordering = ["-id"]
    fields = ["begins", "of", "space", "ceiling", "note", "minted", "ends", "last_used", "state", "outside_id"]
    empty_says = "No tokens yet. Mint one on the page of an agent."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("agent__space").defer("digest")

    @admin.display(description="token", ordering="prefix")
    def begins(self, row: Any) -> Any:
        return formatting.code(str(row))

    @admin.display(description="agent", ordering="agent__name")
    def of(self, row: Any) -> Any:
        return formatting.link(reverse("admin:accounts_agent_change", args=[row.agent_id]), row.agent.name)

    @admin.display(description="space", ordering="agent__space__name")
    def space(self, row: Any) -> str:
        return str(row.agent.space.name)

    @admin.display(description="minted", ordering="created_at")
    def minted(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)

    @admin.display(description="expires", ordering="expires_at")
    def ends(self, row: Any) -> Any:
        return formatting.relative_time(row.expires_at, none="never")

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, row: Any) -> Any:
        return formatting.relative_time(row.last_used_at, none="never")

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return token_state(row)
