"""Admin pages of grants and of agents' requests for them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts import grants
from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, ExpiryField, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.adminsite.state_badges import grant_state, request_state
from accounts.models import Grant, GrantRequest
from accounts.principals import Principal
from fluxcore import clock


class AgentRowPage(FluxModelAdmin):
    """Base page for rows that belong to an agent."""

    space_path = "agent__space_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("agent__space")

    def titled(self, row: Any) -> str:
        return f"{row.agent.name}: {row.capability}"

    @admin.display(description="capability", ordering="capability")
    def what(self, row: Any) -> Any:
        return formatting.chips([row.capability])

    @admin.display(description="agent", ordering="agent__name")
    def of(self, row: Any) -> Any:
        return formatting.link(reverse("admin:accounts_agent_change", args=[row.agent_id]), row.agent.name)

    @admin.display(description="space", ordering="agent__space__name")
    def space(self, row: Any) -> str:
        return str(row.agent.space.name)


class NewGrantForm(ActionForm):
    space = SpaceField()
    agent = forms.CharField(max_length=64, help_text="Name of an agent in that space.")
    capability = forms.CharField(
        max_length=grants.MAX_CAPABILITY, help_text="For example grains.manage or artifacts.write:reports/*"
    )
    expires_at = ExpiryField()

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]


class AcceptForm(ActionForm):
    expires_at = ExpiryField()


class DeclineForm(ActionForm):
    def prepare(self) -> None:
        self.fields["reason"].help_text = "Shown to the agent and recorded in the audit log."


def _give(principal: Principal, row: None, **given: Any) -> None:
    grants.give(principal, **given)


def _revoke(principal: Principal, row: Grant, **given: Any) -> None:
    grants.revoke(principal, grant=str(row.uuid), **given)


def _accept(principal: Principal, row: GrantRequest, **given: Any) -> None:
    grants.accept(principal, request=str(row.uuid), **given)


def _decline(principal: Principal, row: GrantRequest, **given: Any) -> None:
    grants.decline(principal, request=str(row.uuid), **given)


def _open() -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=clock.now()))


@admin.register(GrantRequest)
class RequestPage(AgentRowPage):
    reads = "accounts.read"
    called = ("grant request", "grant requests")
    group = "Agents"
    about = (
        "Capabilities that agents ask for after a refused request. Accepting one grants it immediately, until it "
        "expires."
    )
    row_actions = (
        Action(
            "accept",
            "Accept",
            "grant",
            _accept,
            AcceptForm,
            done="Granted.",
            fits=lambda row: row.state == "waiting",
            says="Grants the capability from the agent's next request, within its trust level, its parent's "
            "capabilities and your own rights.",
        ),
        Action(
            "decline",
            "Decline",
            "grant",
            _decline,
            DeclineForm,
            done="Declined.",
            dangerous=True,
            fits=lambda row: row.state == "waiting",
            says="The agent does not get the capability. It is shown your reason.",
        ),
    )
    list_display = ["what", "state_badge", "of", "space", "why", "asked"]
    list_filter = [
        filters.values("state", "state", GrantRequest.RequestState.values),
        filters.spaces("agent__space_id"),
        filters.typed("agent", "agent", lambda text: Q(agent__name=text)),
    ]
    search_fields = ["capability", "agent__name", "reason"]
    ordering = ["-id"]
    fields = [
        "what",
        "of",
        "space",
        "why_in_full",
        "asked",
        "state_badge",
        "answered_by",
        "answered",
        "answer",
        "given",
    ]
    empty_says = "No requests. When an agent asks for a capability it lacks, the request is listed here."

    @admin.display(description="reason given by the agent")
    def why(self, row: Any) -> str:
        return formatting.shorten(row.reason, 80)

    @admin.display(description="reason given by the agent")
    def why_in_full(self, row: Any) -> Any:
        return formatting.multiline(row.reason)

    @admin.display(description="requested", ordering="asked_at")
    def asked(self, row: Any) -> Any:
        return formatting.relative_time(row.asked_at)

    @admin.display(description="answered")
    def answered(self, row: Any) -> Any:
        return formatting.relative_time(row.answered_at, none="not yet")

    @admin.display(description="grant")
    def given(self, row: Any) -> Any:
        if row.grant_id is None:
            return formatting.NONE
        return formatting.link(reverse("admin:accounts_grant_change", args=[row.grant_id]), row.capability)

    @admin.display(description="state", ordering="state")
    def state_badge(self, row: Any) -> Any:
        return request_state(row)


@admin.register(Grant)
class GrantPage(AgentRowPage):
    reads = "accounts.read"
    called = ("grant", "grants")
    group = "Agents"
    about = "Capabilities granted to agents in addition to their own, until they expire or are revoked."
    adds = Action(
        "give",
        "Grant a capability",
        "grant",
        _give,
        NewGrantForm,
        done="Granted.",
        says="Takes effect immediately, within the agent's trust level, its parent's capabilities and your own rights.",
    )
    row_actions = (
        Action(
            "revoke",
            "Revoke",
            "grant",
            _revoke,
            dangerous=True,
            done="Revoked.",
            fits=lambda row: row.revoked_at is None and (row.expires_at is None or row.expires_at > clock.now()),
            says="The agent loses the capability from its next request.",
        ),
    )
    list_display = ["what", "state", "of", "space", "granted_by", "granted", "ends"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "open": ("active", _open),
                "expired": ("expired", lambda: Q(revoked_at=None) & ~_open()),
                "revoked": ("revoked", lambda: Q(revoked_at__isnull=False)),
            },
        ),
        filters.spaces("agent__space_id"),
        filters.typed("agent", "agent", lambda text: Q(agent__name=text)),
    ]
    search_fields = ["capability", "agent__name", "reason", "granted_by"]
    ordering = ["-id"]
    fields = ["what", "of", "space", "reason", "granted_by", "granted", "ends", "revoked_by", "revoked", "state"]
    empty_says = (
        "No grants. Agents have only their own capabilities. Grant one here, on an agent's page, or by accepting a "
        "request."
    )

    @admin.display(description="granted", ordering="granted_at")
    def granted(self, row: Any) -> Any:
        return formatting.relative_time(row.granted_at)

    @admin.display(description="expires", ordering="expires_at")
    def ends(self, row: Any) -> Any:
        return formatting.relative_time(row.expires_at, none="never")

    @admin.display(description="revoked")
    def revoked(self, row: Any) -> Any:
        return formatting.relative_time(row.revoked_at, none="no")

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return grant_state(row)
