"""Actions of the admin page of agents: their forms, and the verbs they call."""

from __future__ import annotations

from typing import Any

from django import forms

from accounts import agents, capability_preview, effective_capabilities, grants, tokens, tool_groups, trust
from accounts import capabilities as caps
from accounts.adminsite.forms import ActionForm, CeilingField, ExpiryField, LinesField, SpaceField, split_lines
from accounts.adminsite.modeladmin import Action
from accounts.models import Agent
from accounts.principals import Principal
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
        return _would_allow(
            self, self.row.space_id, lambda wanted: effective_capabilities.capabilities_with(self.row, wanted)
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


def _change_capabilities(principal: Principal, row: Agent, **given: Any) -> None:
    agents.apply_agent(principal, space=row.space.name, name=row.name, **given)


def _set_trust(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_trust(principal, space=row.space.name, name=row.name, **given)


def _require_votes(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_must_rate(principal, space=row.space.name, name=row.name, must_rate=True, **given)


def _make_votes_optional(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_must_rate(principal, space=row.space.name, name=row.name, must_rate=False, **given)


def _set_tools(principal: Principal, row: Agent, **given: Any) -> None:
    agents.set_tools(principal, space=row.space.name, name=row.name, **given)


def _suspend(principal: Principal, row: Agent, **given: Any) -> None:
    agents.switch_agent(principal, space=row.space.name, name=row.name, active=False, **given)


def _reactivate(principal: Principal, row: Agent, **given: Any) -> None:
    agents.switch_agent(principal, space=row.space.name, name=row.name, active=True, **given)


def _mint(principal: Principal, row: Agent, **given: Any) -> dict[str, Any]:
    return dict(tokens.mint(principal, space=row.space.name, agent=row.name, **given))


def _grant(principal: Principal, row: Agent, **given: Any) -> None:
    grants.give(principal, space=row.space.name, agent=row.name, **given)


CREATE = Action(
    "create", "Create agent", "accounts.manage", _create, AgentForm, done="Agent created. Next: mint its token."
)

ROW_ACTIONS = (
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
        _grant,
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
        _change_capabilities,
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
        _make_votes_optional,
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
        _suspend,
        dangerous=True,
        fits=lambda row: row.active,
        done="Suspended.",
        says="Its tokens, and those of agents below it, stop working immediately. Its grants are revoked.",
    ),
    Action(
        "resume",
        "Reactivate",
        "accounts.manage",
        _reactivate,
        fits=lambda row: not row.active,
        done="Reactivated. Its tokens work again.",
    ),
)
