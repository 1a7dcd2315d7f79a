"""Admin page of spaces: groups of agents and people that share memories."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.urls import reverse

from accounts import agents, lookalikes
from accounts.adminsite import formatting
from accounts.adminsite.forms import ActionForm
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.models import Agent, Membership, Space
from accounts.principals import Principal
from accounts.visitor import current_visitor


class SpaceForm(ActionForm):
    name = forms.CharField(max_length=64, help_text="1 to 64 characters: a-z, 0-9, _ and -.")


def _create_space(principal: Principal, row: None, **given: Any) -> None:
    agents.create_space(principal, **given)


@admin.register(Space)
class SpacePage(FluxModelAdmin):
    reads = "accounts.read"
    called = ("space", "spaces")
    group = "Agents"
    about = "A space holds the memories that its agents and members share. Spaces cannot see each other."
    space_path = "pk"
    adds = Action("create", "Create space", "instance.manage", _create_space, SpaceForm, done="Space created.")
    list_display = ["name_with_badge", "agent_count", "member_count", "created"]
    search_fields = ["name"]
    ordering = ["name"]
    fields = ["full_name", "agent_count", "member_count", "outside_id", "created"]
    empty_says = "No spaces yet. Create one: every agent belongs to a space."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        count = Agent.objects.filter(space=OuterRef("pk"), active=True).order_by().values("space")
        members = Membership.objects.filter(space=OuterRef("pk")).order_by().values("space")
        found: QuerySet[Any] = (
            super()
            .get_queryset(request)
            .annotate(
                agents_here=Subquery(count.annotate(n=Count("pk")).values("n")),
                members_here=Subquery(members.annotate(n=Count("pk")).values("n")),
            )
        )
        return found

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        alike = lookalikes.find_lookalikes(space.name for space in current_visitor(request).spaces.values())
        for row in rows:
            row.alike = alike.get(row.name, [])

    @admin.display(description="name", ordering="name")
    def name_with_badge(self, row: Any) -> Any:
        return formatting.name_with_warning(row.name, row.alike)

    @admin.display(description="name")
    def full_name(self, row: Any) -> Any:
        return formatting.name_with_full_warning(row.name, row.alike)

    @admin.display(description="active agents", ordering="agents_here")
    def agent_count(self, row: Any) -> Any:
        address = f"{reverse('admin:accounts_agent_changelist')}?space={row.name}"
        return formatting.link(address, row.agents_here) if row.agents_here else 0

    @admin.display(description="members", ordering="members_here")
    def member_count(self, row: Any) -> Any:
        address = f"{reverse('admin:accounts_membership_changelist')}?space={row.name}"
        return formatting.link(address, row.members_here) if row.members_here else 0

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)
