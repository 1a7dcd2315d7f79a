"""Admin page of agents: programs with capabilities, tokens and a trust level."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Max, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from accounts import agents, capability_preview, effective_capabilities, grants, lookalikes, tokens, tool_groups, trust
from accounts import capabilities as caps
from accounts.admin.people import MOST_COMPARED
from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, CeilingField, ExpiryField, LinesField, SpaceField, split_lines
from accounts.adminsite.index_tiles import agents_never_called
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from accounts.adminsite.state_badges import grant_state, token_state
from accounts.models import Agent, Grant, Token
from accounts.principals import Principal
from fluxcore import clock
from fluxcore.errors import FluxError

_NAME = "1 to 64 characters: a-z, 0-9, _ and -."


class AgentForm(ActionForm):
    previews = True

    space = SpaceField()
    name = forms.CharField(max_length=64, help_text=_NAME)
    trust = forms.ChoiceField(
        label="Trust level",
        choices=[("", "Default (as its parent, or trusted)"), *((level, level) for level in trust.LEVELS)],
        required=False,
        help_text="Maximum trust level. It limits every capability the agent has or is granted later.",
    )
    parent = forms.CharField(
        required=False,
        max_length=64,
        help_text="Optional: an agent of the same space. This agent then never has more capabilities than its parent.",
    )
    capabilities = LinesField(
        required=False,
        initial="\n".join(agents.EVERYDAY_CAPABILITIES),
        help_text="One per line. An agent without capabilities may do nothing.",
    )

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]

    def given(self) -> dict[str, Any]:
        found = super().given()
        return {**found, "trust": found["trust"] or None, "parent": found["parent"] or None}

    def preview(self) -> Any:
        name = self.initial.get("space")
        space = next((space.pk for space in self.who.spaces.values() if space.name == name), None)
        return _would_allow(self, space, lambda wanted: caps.parsed(tuple(wanted)))


class CapabilitiesForm(ActionForm):
    previews = True

    capabilities = LinesField(
        required=False, help_text="One per line. These replace the capabilities the agent has now."
    )
    # The capabilities shown when the form was opened: if somebody changed them since, the form is refused.
    instead_of = LinesField(required=False, widget=forms.HiddenInput())

    def prepare(self) -> None:
        for name in ("capabilities", "instead_of"):
            self.fields[name].initial = "\n".join(self.row.capabilities)

    def given(self) -> dict[str, Any]:
        found = super().given()
        if "instead_of" not in self.data:
            del found["instead_of"]  # sent without our form, which always has this field
        return found

    def preview(self) -> Any:
        return _would_allow(self, self.row.space_id, lambda wanted: capabilities_with(self.row, wanted))


def capabilities_with(agent: Agent, capabilities: list[str]) -> caps.Capabilities:
    """Effective capabilities if these replaced its own, with its grants, limited by trust level and parent."""
    over = effective_capabilities.ancestor_layers(agent.parent_id, clock.now())
    granted = effective_capabilities.open_grants().filter(agent=agent).values_list("capability", flat=True)
    if over is None:
        return caps.parsed(())  # an ancestor is suspended, which suspends this agent too
    return effective_capabilities.combine_layers(
        effective_capabilities.layers(capabilities, granted, agent.trust), over
    )


def _would_allow(form: ActionForm, space: int | None, held: Any) -> Any:
    """Result of Preview: what the capabilities allow by domain, or an error message."""
    if "capabilities" not in form.initial:
        return None
    try:
        return capability_preview.preview_capabilities(
            held(caps.check(split_lines(form.initial["capabilities"]))), space
        )
    except FluxError as refusal:
        return refusal.message


class TrustForm(ActionForm):
    trust = forms.ChoiceField(label="Trust level", choices=[(level, level) for level in trust.LEVELS])

    def prepare(self) -> None:
        self.fields["trust"].initial = self.row.trust


class ToolsForm(ActionForm):
    tools = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Groups of MCP tools added to the default ones. Models choose worse from long tool lists.",
    )

    def prepare(self) -> None:
        self.fields["tools"].choices = [  # type: ignore[attr-defined]
            (name, f"{name}: {says}") for name, says in tool_groups.registered_groups().items()
        ]
        self.fields["tools"].initial = self.row.tools


class MintTokenForm(ActionForm):
    ceiling = CeilingField()
    expires_at = ExpiryField(initial="")
    note = forms.CharField(required=False, max_length=tokens.MAX_NOTE, help_text="Purpose of the token.")

    def prepare(self) -> None:
        self.fields["ceiling"].initial = tokens.usual_ceiling(self.row)


class GrantToAgentForm(ActionForm):
    capability = forms.CharField(
        max_length=grants.MAX_CAPABILITY, help_text="For example grains.manage or artifacts.write:reports/*"
    )
    expires_at = ExpiryField()


def _create(principal: Principal, row: None, **given: Any) -> None:
    agents.create_agent(principal, **given)


def _apply(principal: Principal, row: Agent, **given: Any) -> None:
    agents.apply_agent(principal, space=row.space.name, name=row.name, **given)


def _set_trust(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_trust(principal, space=row.space.name, name=row.name, **given)


def _require_votes(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_must_rate(principal, space=row.space.name, name=row.name, must_rate=True, **given)


def _only_remind(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_must_rate(principal, space=row.space.name, name=row.name, must_rate=False, **given)


def _set_tools(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_tools(principal, space=row.space.name, name=row.name, **given)


def _stop(principal: Principal, row: Agent, **given: Any) -> None:
    agents.switch_agent(principal, space=row.space.name, name=row.name, active=False, **given)


def _resume(principal: Principal, row: Agent, **given: Any) -> None:
    agents.switch_agent(principal, space=row.space.name, name=row.name, active=True, **given)


def _mint(principal: Principal, row: Agent, **given: Any) -> dict[str, Any]:
    return dict(tokens.mint(principal, space=row.space.name, agent=row.name, **given))


def _give(principal: Principal, row: Agent, **given: Any) -> None:
    grants.give(principal, space=row.space.name, agent=row.name, **given)


@admin.register(Agent)
class AgentPage(FluxModelAdmin):
    reads = "accounts.read"
    called = ("agent", "agents")
    group = "Agents"
    about = "Programs that use the memory. Each has capabilities and tokens and belongs to one space."
    space_path = "space_id"
    adds = Action(
        "create", "Create agent", "accounts.manage", _create, AgentForm, done="Agent created. Next: mint its token."
    )
    row_actions = (
        Action(
            "mint",
            "Mint token",
            "accounts.manage",
            _mint,
            MintTokenForm,
            shows="admin/flux/secret.html",
            says="The token is shown once, on the next page.",
        ),
        Action(
            "grant",
            "Grant capability",
            "grant",
            _give,
            GrantToAgentForm,
            done="Granted.",
            fits=lambda row: row.active,
            says="Adds a capability immediately, within the agent's trust level, its parent's capabilities and your "
            "own rights.",
        ),
        Action(
            "capabilities",
            "Change capabilities",
            "accounts.manage",
            _apply,
            CapabilitiesForm,
            done="Capabilities changed.",
        ),
        Action(
            "trust",
            "Set trust level",
            "accounts.manage",
            _set_trust,
            TrustForm,
            done="Trust level changed.",
            says="Maximum trust level of the agent. A lower level limits its capabilities from its next request.",
        ),
        Action(
            "require-votes",
            "Require feedback",
            "accounts.manage",
            _require_votes,
            fits=lambda row: not row.must_rate,
            done="Feedback is now required.",
            says="Further recalls of the agent are refused until it has given feedback on its earlier ones of the "
            "last 24 hours.",
        ),
        Action(
            "only-remind",
            "Make feedback optional",
            "accounts.manage",
            _only_remind,
            fits=lambda row: row.must_rate,
            done="Feedback is now optional. The agent is only reminded.",
        ),
        Action(
            "tools",
            "Choose MCP tools",
            "accounts.manage",
            _set_tools,
            ToolsForm,
            done="Tools changed.",
            says="Groups of MCP tools the agent sees. Its capabilities still decide what it may do.",
        ),
        Action(
            "stop",
            "Suspend",
            "accounts.manage",
            _stop,
            dangerous=True,
            fits=lambda row: row.active,
            done="Suspended.",
            says="Its tokens, and those of agents below it, stop working immediately. Its grants are revoked.",
        ),
        Action(
            "resume",
            "Reactivate",
            "accounts.manage",
            _resume,
            fits=lambda row: not row.active,
            done="Reactivated. Its tokens work again.",
        ),
    )
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
                says="No tokens yet. The agent needs token to send requests: use Mint token.",
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
