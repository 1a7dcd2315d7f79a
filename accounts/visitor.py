"""The signed-in person of a request: `SignedIn`, with roles, spaces and principals."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.http import HttpRequest

from accounts import roles
from accounts.authorise import may
from accounts.models import Space, User
from accounts.principals import Principal
from accounts.signin import sessions
from accounts.signin.sessions import FRESH
from fluxcore import clock

FRESH_FOR = timedelta(minutes=5)


class SignedIn:
    """A signed-in person for the length of one request; their roles are read once."""

    def __init__(self, request: HttpRequest) -> None:
        user = request.user
        if not (isinstance(user._wrapped if hasattr(user, "_wrapped") else user, User) and is_signed_in(request)):
            raise PermissionError("nobody has signed in with both factors")
        self.user: User = user  # type: ignore[assignment]
        self.fresh = _is_fresh(request)
        sessions.note_seen(str(request.session.session_key))
        self._spaces: dict[int, Space] | None = None
        self._roles: dict[int, str] | None = None
        self._instance_principal: Principal | None = None

    @property
    def roles(self) -> dict[int, str]:
        if self._roles is None:
            self._roles = roles.roles_of(self.user)
        return self._roles

    @property
    def spaces(self) -> dict[int, Space]:
        """The spaces the person can see, by number."""
        if self._spaces is None:
            self._spaces = {space.pk: space for space in Space.objects.filter(pk__in=self.roles).order_by("name")}
        return self._spaces

    def principal(self, space: int | None = None) -> Principal:
        """The person acting in a space, or on the instance as a whole."""
        if space is None:
            if self._instance_principal is None:
                self._instance_principal = roles.person_principal(self.user, fresh=self.fresh)
            return self._instance_principal
        found = self.spaces.get(space)
        if found is None:
            # Not a space of this person: a principal without a role, on the instance's chain.
            return replace(self.principal(), role="", space=space)
        return roles.person_principal(self.user, fresh=self.fresh, space=found, role=self.roles[space])

    def spaces_where(self, operation: str) -> list[int]:
        return [space for space, role in self.roles.items() if roles.allows(role, operation)]

    def may(self, operation: str, space: int | None = None) -> bool:
        return may(self.principal(space), operation)

    def may_somewhere(self, operation: str) -> bool:
        return self.may(operation) or bool(self.spaces_where(operation))


def is_signed_in(request: HttpRequest) -> bool:
    """Whether the person has signed in with both factors."""
    user: Any = request.user
    return bool(user.is_authenticated and user.is_active and user.is_verified())


def current_visitor(request: HttpRequest) -> SignedIn:
    found: SignedIn | None = getattr(request, "_signed_in", None)
    if found is None:
        found = SignedIn(request)
        request._signed_in = found  # type: ignore[attr-defined]
    return found


def _is_fresh(request: HttpRequest) -> bool:
    given = request.session.get(FRESH)
    if given is None:
        return False
    age = clock.now() - clock.parse(given)
    return timedelta(0) <= age <= FRESH_FOR


def mark_fresh(request: HttpRequest) -> None:
    """Note that the person has just entered a code."""
    request.session[FRESH] = clock.rfc3339(clock.now())
    if hasattr(request, "_signed_in"):
        del request._signed_in


def client_address(request: HttpRequest) -> str:
    """The source address of a request. Headers with forwarded addresses are ignored, because callers can fake them."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")[:64]
