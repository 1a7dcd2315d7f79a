"""The Agents page: activity, limits, quotas and capabilities of each agent, and the state of the local model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.adminsite.index_tiles import list_address
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from fluxcore import clock
from memory.extraction import model_status
from memory.health import activity
from memory.health.activity import AgentActivity

_CHIPS = 6  # capabilities shown of an agent; its page has the rest
_WIDE, _TALL, _GAP = 10, 40, 2  # width, height and gap of the bar of an hour, in units of the drawing
_STATES = {  # colour, label and sentence of each state
    "well": ("well", "working", "The model answers."),
    "down": (
        "down",
        "not answering",
        "The model does not answer. Texts are stored and found by keywords, and are split once it answers again.",
    ),
    "not asked yet": ("plain", "not used yet", "No text has been sent to it yet."),
}


@dataclass(frozen=True)
class HourBar:
    """Bar of one hour: stores at the bottom, answers above them."""

    x: int
    y: float
    height: float
    kind: str
    wide: int = _WIDE - _GAP


@dataclass(frozen=True)
class AgentCard:
    """An agent as a card of the page."""

    caller: AgentActivity
    bars: list[HourBar]
    address: str  # address of its page in the admin

    @property
    def chips(self) -> tuple[str, ...]:
        return self.caller.capabilities[:_CHIPS]

    @property
    def more(self) -> int:
        return len(self.caller.capabilities) - len(self.chips)

    @property
    def busiest(self) -> bool:
        return any(share.percent >= 80 for share in (*self.caller.shares, *self.caller.quotas))

    @property
    def says(self) -> str:
        """The bar chart in words, for screen readers."""
        stores, answers = self.caller.totals["stores"], self.caller.totals["answered"]
        return f"{stores} memories stored and {answers} recalls answered in the last {activity.HOURS} hours"


@sign_in_required
@require_safe
def agents(request: HttpRequest) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me = current_visitor(request).principal(space.pk)
    callers = activity.activity(me)
    # One scale for the charts of all agents, so that they can be compared.
    most = max((sum(hour) for caller in callers for hour in caller.hours), default=0)
    return render(
        request,
        "dashboard/agents.html",
        {
            "space": space,
            "cards": [AgentCard(one, hour_bars(one, most), _page(one)) for one in callers],
            "wide": activity.HOURS * _WIDE,
            "tall": _TALL,
            "most": activity.MOST,
            "all_agents": list_address("accounts_agent", space=space.name),
            "model": model_state(model_status.overview(space.pk)),
            "may_manage": current_visitor(request).may("accounts.manage", space.pk),
            "new_agent": reverse("admin:accounts_agent_add"),
        },
    )


def hour_bars(caller: AgentActivity, most: int) -> list[HourBar]:
    found = []
    for place, (stores, answers) in enumerate(caller.hours):
        below = _TALL * stores / most if most else 0.0
        above = _TALL * answers / most if most else 0.0
        found += [
            HourBar(place * _WIDE, round(_TALL - high, 2), round(tall, 2), kind)
            for kind, high, tall in (("stores", below, below), ("answers", below + above, above))
            if tall
        ]
    return found


def model_state(found: dict[str, Any]) -> dict[str, Any]:
    """The state of the local model, with its labels and the shares of its daily budget."""
    if found["state"] == "off":
        return found
    mood, called, says = _STATES[found["state"]]
    moments = {
        name: clock.parse(found[name]) if found[name] else None for name in ("down_since", "next_try_at", "well_at")
    }
    shares = [
        activity.LimitShare(what, found["today"][what], max(found["budget"][what], 1)) for what in ("calls", "tokens")
    ]
    return {**found, **moments, "mood": mood, "called": called, "says": says, "shares": shares}


def _page(caller: AgentActivity) -> str:
    return reverse("admin:accounts_agent_change", args=[caller.number])
