"""Admin page "What capabilities allow": tests capabilities on existing and typed names. Changes nothing."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.template.response import TemplateResponse

from accounts import capabilities as caps
from accounts import capability_preview, effective_capabilities
from accounts.adminsite.forms import LinesField, SpaceField
from accounts.models import Agent
from accounts.visitor import SignedIn, current_visitor
from fluxcore.errors import FluxError

READS = "accounts.read"
MOST_AGENTS = 500
MOST_TYPED = 50
LONGEST_NAME = 512


class PreviewForm(forms.Form):
    agent = forms.ChoiceField(
        required=False,
        label="Agent",
        help_text="Optional. Includes its grants and is limited by its trust level and parent.",
    )
    space = SpaceField(required=False, help_text="Space whose names are tested if no agent is selected.")
    capabilities = LinesField(required=False, help_text="One per line. Empty: the capabilities of the selected agent.")
    names = LinesField(
        required=False, label="Names to test", help_text="Keys or paths, one per line. They need not exist."
    )

    def __init__(self, data: QueryDict | None, *, who: SignedIn, initial: dict[str, Any] | None = None) -> None:
        super().__init__(data, label_suffix="", initial=initial)
        found = Agent.objects.filter(space__in=who.spaces_where(READS)).select_related("space")
        self.agents = {str(agent.pk): agent for agent in found.order_by("space__name", "name")[:MOST_AGENTS]}
        offered = [(number, f"{agent.space.name} / {agent.name}") for number, agent in self.agents.items()]
        self.fields["agent"].choices = [("", "none"), *offered]  # type: ignore[attr-defined]
        self.fields["space"].offer(who, READS)  # type: ignore[attr-defined]
        self.fields["names"].widget.attrs["rows"] = 4

    def clean_names(self) -> list[str]:
        names: list[str] = self.cleaned_data["names"]
        if len(names) > MOST_TYPED or any(len(name) > LONGEST_NAME for name in names):
            raise forms.ValidationError(
                f"Too many or too long names: at most {MOST_TYPED} names of {LONGEST_NAME} characters each."
            )
        return names


def preview_page(site: Any, request: HttpRequest) -> HttpResponse:
    who = current_visitor(request)
    if not who.may_somewhere(READS):
        raise PermissionDenied
    if request.method not in ("GET", "HEAD", "POST"):
        return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
    submitted = request.method == "POST"
    form = PreviewForm(request.POST if submitted else None, who=who, initial={"agent": request.GET.get("agent", "")})
    domains = None
    if submitted and form.is_valid():
        given = form.cleaned_data
        domains = _previewed(form, who, given["agent"], given["space"], given["capabilities"], tuple(given["names"]))
    elif not submitted and form.initial["agent"] in form.agents:
        domains = _previewed(form, who, form.initial["agent"], "", [], ())
    found = {
        **site.each_context(request),
        "title": "What capabilities allow",
        "form": form,
        "domains": domains,
        "operations": sorted(caps.OPERATIONS),
        "scoped": sorted(caps.SCOPED),
    }
    bad = submitted and bool(form.errors)
    return TemplateResponse(request, "admin/flux/preview.html", found, status=422 if bad else 200)


def _previewed(
    form: PreviewForm, who: SignedIn, agent: str, space: str, wanted: list[str], names: tuple[str, ...]
) -> list[capability_preview.DomainPreview] | None:
    chosen = form.agents.get(agent)
    try:
        checked = caps.check(wanted)
        held = (
            effective_capabilities.capabilities_with(chosen, checked or chosen.capabilities)
            if chosen
            else caps.parsed(tuple(checked))
        )
    except FluxError as refusal:
        form.add_error("capabilities", refusal.message)
        return None
    number = chosen.space_id if chosen else next((row.pk for row in who.spaces.values() if row.name == space), None)
    return capability_preview.preview_capabilities(held, number, names)
