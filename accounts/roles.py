"""Roles of people: owner, operator or viewer of a space, and administrators of the whole instance."""

from __future__ import annotations

from accounts.capabilities import OPERATIONS, parsed
from accounts.models import Membership, Space, User
from accounts.principals import INSTANCE_CHAIN, Principal

ADMINISTRATOR = "administrator"
OWNER, OPERATOR, VIEWER = Membership.Role.OWNER.value, Membership.Role.OPERATOR.value, Membership.Role.VIEWER.value

_LOOK = frozenset(operation for operation in OPERATIONS if operation.endswith(".read"))
# Operations that copy a whole space, which only owners may run and grant.
_WHOLESALE = frozenset({"graph.export", "snapshots.create"})
_VIEW = _LOOK | {"accounts.read", "jobs.read", "events.read", "audit.read"}
_OPERATE = _VIEW | (OPERATIONS - _WHOLESALE) | {"jobs.manage", "grant"}
_OWN = _OPERATE | _WHOLESALE | {"accounts.manage", "people.manage", "purge", "restore", "import", "policy"}

ALLOWS: dict[str, frozenset[str]] = {
    VIEWER: _VIEW,
    OPERATOR: _OPERATE,
    OWNER: _OWN,
    ADMINISTRATOR: _OWN | {"instance.manage"},
}


def roles_of(user: User) -> dict[int, str]:
    """The person's role in each of their spaces, by the space's number."""
    if user.is_superuser:
        return dict.fromkeys(Space.objects.values_list("pk", flat=True), OWNER)
    return dict(Membership.objects.filter(user=user).values_list("space_id", "role"))


def allows(role: str, operation: str) -> bool:
    return operation in ALLOWS.get(role, ())


def person_principal(user: User, *, fresh: bool, space: Space | None = None, role: str = "") -> Principal:
    """Principal of a signed-in person in a space or, for administrators, on the instance."""
    if space is None:
        role = ADMINISTRATOR if user.is_superuser else ""
    return Principal(
        kind="user",
        name=user.get_username(),
        user=user.pk,
        role=role,
        fresh=fresh,
        space=space.pk if space else None,
        chain=space.uuid.hex if space else INSTANCE_CHAIN,
        capabilities=parsed(()),
        ceiling="user_stated",
    )


def has_administrator() -> bool:
    return User.objects.filter(is_superuser=True, is_active=True).exists()
