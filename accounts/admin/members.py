"""Admin page of members: roles of people in spaces."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import people
from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin
from accounts.models import Membership
from accounts.principals import Principal

_ROLES = [(role, role) for role in Membership.Role.values]


class MemberForm(ActionForm):
    space = SpaceField()
    username = forms.CharField(
        label="User name", max_length=people.MAX_USERNAME, help_text="A person who has an account."
    )
    role = forms.ChoiceField(choices=_ROLES, initial=Membership.Role.VIEWER)

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]


class NewRoleForm(ActionForm):
    role = forms.ChoiceField(choices=_ROLES)

    def prepare(self) -> None:
        self.fields["role"].initial = self.row.role


def _add_member(principal: Principal, row: None, **given: Any) -> None:
    people.set_role(principal, **given)


def _change_role(principal: Principal, row: Membership, **given: Any) -> None:
    people.set_role(principal, username=row.user.username, space=row.space.name, **given)


def _leave(principal: Principal, row: Membership, **given: Any) -> None:
    people.set_role(principal, username=row.user.username, space=row.space.name, role="", **given)


@admin.register(Membership)
class MembershipPage(FluxModelAdmin):
    reads = "accounts.read"
    called = ("member", "members")
    group = "People"
    about = "Roles of people in spaces. Administrators are owners of every space and are not listed."
    space_path = "space_id"
    adds = Action("add", "Add a member", "people.manage", _add_member, MemberForm, done="Member added.")
    row_actions = (
        Action("role", "Change role", "people.manage", _change_role, NewRoleForm, done="Role changed."),
        Action(
            "remove",
            "Remove from space",
            "people.manage",
            _leave,
            dangerous=True,
            done="Removed from the space.",
            says="The person loses access to the space. The account is kept.",
        ),
    )
    list_display = ["person", "space", "role_badge", "since"]
    list_filter = [filters.spaces("space_id"), filters.values("role", "role", Membership.Role.values)]
    list_select_related = ["user", "space"]
    search_fields = ["user__username"]
    ordering = ["space__name", "user__username"]
    fields = ["person", "space", "role_badge", "since"]
    empty_says = (
        "No members yet: only administrators have access to spaces. Add a member, or invite somebody under People."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("user", "space")

    def titled(self, row: Any) -> str:
        return f"{row.user.username} in {row.space.name}"

    @admin.display(description="person", ordering="user__username")
    def person(self, row: Any) -> str:
        return str(row.user.username)

    @admin.display(description="role", ordering="role")
    def role_badge(self, row: Any) -> Any:
        return formatting.badge(row.role, "calm" if row.role == Membership.Role.OWNER else "plain")

    @admin.display(description="since", ordering="created_at")
    def since(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)
