"""Admin page of people: accounts, roles in spaces, second factors, suspension."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts import lookalikes, people
from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from accounts.models import Authenticator, GuessCount, Membership, Session, User
from accounts.principals import Principal
from accounts.signin import lockout
from accounts.visitor import SignedIn, current_visitor
from fluxcore.errors import Conflict

_ROLES = [(role, role) for role in Membership.Role.values]
_SECRET = "admin/flux/secret.html"  # noqa: S105  a template
MOST_COMPARED = 5000  # names compared to find lookalikes


class InviteForm(ActionForm):
    username = forms.CharField(label="User name", max_length=people.MAX_USERNAME, help_text="Letters, digits, @.+-_")
    space = SpaceField(required=False)
    role = forms.ChoiceField(
        choices=_ROLES,
        initial=Membership.Role.VIEWER,
        help_text="Viewers read. Operators also manage memories and grants. Owners also manage people and agents.",
    )
    administrator = forms.BooleanField(
        required=False, help_text="Manages the whole instance and every space. Space and role above are then ignored."
    )

    def prepare(self) -> None:
        runs_everything = self.who.may("instance.manage")
        self.fields["space"].offer(self.who, self.needs, none="none" if runs_everything else "")  # type: ignore[attr-defined]
        self.fields["space"].required = not runs_everything
        if not runs_everything:
            del self.fields["administrator"]

    def given(self) -> dict[str, Any]:
        found = super().given()
        if found.get("administrator") or not found["space"]:
            found["space"] = found["role"] = ""
        return found


class RoleForm(ActionForm):
    space = SpaceField()
    role = forms.ChoiceField(choices=[*_ROLES, ("", "none (remove from the space)")], required=False)

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]


class ResetForm(ActionForm):
    password = forms.BooleanField(
        required=False, label="Reset the password too", help_text="If the person has forgotten it."
    )


def _invite(principal: Principal, row: None, **given: Any) -> dict[str, Any]:
    return dict(people.invite(principal, **given))


def _set_role(principal: Principal, row: User, **given: Any) -> None:
    people.set_role(principal, username=row.username, **given)


def _stop(principal: Principal, row: User, **given: Any) -> None:
    _not_oneself(principal, row)
    people.switch(principal, username=row.username, active=False, **given)


def _resume(principal: Principal, row: User, **given: Any) -> None:
    people.switch(principal, username=row.username, active=True, **given)


def _reset(principal: Principal, row: User, **given: Any) -> dict[str, Any]:
    _not_oneself(principal, row)
    return dict(people.reset(principal, username=row.username, **given))


def _unlock(principal: Principal, row: User, **given: Any) -> dict[str, Any]:
    return dict(people.unlock(principal, username=row.username, **given))


def _end_sessions(principal: Principal, row: User, **given: Any) -> None:
    _not_oneself(principal, row)
    people.end_sessions(principal, username=row.username, **given)


def _not_oneself(principal: Principal, row: User) -> None:
    """Refuse actions on one's own account: they end the session before the answer is shown."""
    if principal.user == row.pk:
        raise Conflict(
            "You cannot do this to your own account here. Use Your account for your password, second "
            "factor and sessions."
        )


def _has_factor() -> Q:
    return Q(pk__in=Authenticator.objects.filter(confirmed=True).values("user"))


@admin.register(User)
class PersonPage(FluxModelAdmin):
    reads = "people.manage"
    called = ("person", "people")
    group = "People"
    about = (
        "Accounts of people. Each signs in with a password and a second factor and sees the spaces they have a role in."
    )
    adds = Action(
        "invite",
        "Invite somebody",
        "people.manage",
        _invite,
        InviteForm,
        shows=_SECRET,
        says="Creates an account and a one-time link with which the person sets a password and a second factor.",
    )
    row_actions = (
        Action(
            "role",
            "Set a role",
            "people.manage",
            _set_role,
            RoleForm,
            done="Role changed.",
            fits=lambda row: not row.is_superuser,
        ),
        Action(
            "unlock",
            "Unlock",
            "instance.manage",
            _unlock,
            shows=_SECRET,
            fits=lambda row: row.is_active,
            says="Removes the lock and creates a sign-in link for 15 minutes, which works even if others keep "
            "trying this name.",
        ),
        Action(
            "reset",
            "Reset second factor",
            "instance.manage",
            _reset,
            ResetForm,
            shows=_SECRET,
            dangerous=True,
            fits=lambda row: row.is_active,
            says="Removes the second factor, ends all sessions and creates a one-time link to set up a new session.",
        ),
        Action(
            "sign-out",
            "End sessions",
            "instance.manage",
            _end_sessions,
            dangerous=True,
            done="Signed out everywhere.",
            says="Signs the person out on every device.",
        ),
        Action(
            "stop",
            "Suspend",
            "instance.manage",
            _stop,
            dangerous=True,
            done="Suspended.",
            fits=lambda row: row.is_active,
            says="Signs the person out everywhere. They cannot sign in until they are reactivated.",
        ),
        Action(
            "resume",
            "Reactivate",
            "instance.manage",
            _resume,
            done="Reactivated. The person can sign in again.",
            fits=lambda row: not row.is_active,
        ),
    )
    list_display = ["name", "state", "roles", "factor", "signed_in"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "active": ("active", lambda: Q(is_active=True)),
                "stopped": ("suspended", lambda: Q(is_active=False)),
            },
        ),
        filters.choice(
            "factor",
            "second factor",
            {
                "yes": ("set up", _has_factor),
                "none": ("not set up", lambda: ~_has_factor()),
            },
        ),
        filters.choice(
            "kind",
            "kind",
            {
                "administrators": ("administrators", lambda: Q(is_superuser=True)),
                "members": ("members of spaces", lambda: Q(is_superuser=False)),
            },
        ),
    ]
    search_fields = ["username"]
    ordering = ["username"]
    empty_says = "No people yet. Invite somebody."

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return self._for(request, ["name", "state", "roles", "factor", "signed_in"])

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self._for(request, ["full_name", "roles", "factor", "state", "joined", "signed_in"])

    def get_list_filter(self, request: HttpRequest) -> Any:
        return self.list_filter if current_visitor(request).may("instance.manage") else []

    def _for(self, request: HttpRequest, columns: list[str]) -> list[str]:
        """Hide sign-in details from owners, who can make anybody a member of their space."""
        if current_visitor(request).may("instance.manage"):
            return columns
        return [column for column in columns if column in ("name", "full_name", "roles")]

    def seen_by(self, who: SignedIn, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Owners see who is in their spaces."""
        theirs = Membership.objects.filter(space__in=who.spaces_where(self.reads))
        return rows.filter(pk__in=theirs.values("user"))

    def sees(self, who: SignedIn, row: Any) -> bool:
        return who.may(self.reads) or self.seen_by(who, User.objects.filter(pk=row.pk)).exists()

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        who, numbers = current_visitor(request), [row.pk for row in rows]
        visible = User.objects.all() if who.may(self.reads) else self.seen_by(who, User.objects.all())
        names = set(visible.order_by().values_list("username", flat=True)[:MOST_COMPARED])
        alike = lookalikes.find_lookalikes(names | {row.username for row in rows})
        factors = set(Authenticator.objects.filter(user__in=numbers, confirmed=True).values_list("user_id", flat=True))
        seen = who.spaces_where(self.reads)
        memberships = Membership.objects.filter(user__in=numbers, space__in=seen).select_related("space")
        keys = {lockout.password_key(row.username): lockout.PASSWORD for row in rows}
        keys |= {lockout.code_key(row.pk): lockout.CODE for row in rows}
        locked = {
            found.key for found in GuessCount.objects.filter(key__in=keys) if lockout.is_refused(found, keys[found.key])
        }
        for row in rows:
            row.alike = alike.get(row.username, [])
            row.has_factor = row.pk in factors
            row.locked = bool({lockout.password_key(row.username), lockout.code_key(row.pk)} & locked)
            row.roles_here = [
                f"{membership.role} of {membership.space.name}"
                for membership in memberships
                if membership.user_id == row.pk
            ]

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        if not current_visitor(request).may("instance.manage"):
            return []
        open_sessions = Session.objects.filter(user=row).order_by("-seen_at")[:20]
        return [
            Section(
                "Sessions",
                ("from", "browser", "signed in", "last seen"),
                [
                    (
                        session.source,
                        formatting.shorten(session.browser, 60),
                        formatting.relative_time(session.created_at),
                        formatting.relative_time(session.seen_at),
                    )
                    for session in open_sessions
                ],
                says="Not signed in anywhere.",
            )
        ]

    def titled(self, row: Any) -> str:
        return str(row.username)

    @admin.display(description="name", ordering="username")
    def name(self, row: Any) -> Any:
        return formatting.name_with_warning(row.username, row.alike)

    @admin.display(description="name")
    def full_name(self, row: Any) -> Any:
        return formatting.name_with_full_warning(row.username, row.alike)

    @admin.display(description="roles")
    def roles(self, row: Any) -> Any:
        return (
            formatting.badge("administrator", "calm") if row.is_superuser else formatting.chips(row.roles_here, most=4)
        )

    @admin.display(description="second factor")
    def factor(self, row: Any) -> Any:
        return formatting.badge("set up", "good") if row.has_factor else formatting.badge("not set up", "warn")

    @admin.display(description="state", ordering="is_active")
    def state(self, row: Any) -> Any:
        if not row.is_active:
            return formatting.badge("suspended", "bad")
        return (
            formatting.badge("locked", "bad", title="Too many wrong passwords or codes.")
            if row.locked
            else formatting.badge("active")
        )

    @admin.display(description="last sign-in", ordering="last_login")
    def signed_in(self, row: Any) -> Any:
        return formatting.relative_time(row.last_login, none="never")

    @admin.display(description="created")
    def joined(self, row: Any) -> Any:
        return formatting.relative_time(row.date_joined)
