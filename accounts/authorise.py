"""The one authorisation call. Every door makes it; a door with weaker checks is a bug."""

from __future__ import annotations

from accounts import audit
from accounts.principals import Principal
from fluxcore.errors import Forbidden


def may(principal: Principal, operation: str, target: str | None = None) -> bool:
    if principal.kind == "shell":
        return True
    if principal.kind == "agent":
        return principal.capabilities.allow(operation, target)
    if principal.kind == "enrolment":
        return operation == "people.enrol"
    return False  # people act through roles, which come with their sign-in


def authorise(principal: Principal, operation: str, target: str | None = None, *, action: str | None = None) -> None:
    """Return if allowed; otherwise put the refusal on the chain and raise."""
    if may(principal, operation, target):
        return
    missing = f"{operation}:{target}" if target is not None else operation
    audit.refuse(principal, action or operation, (target or "")[:200], details={"missing": missing[:600]})
    raise Forbidden(f"This needs the capability {missing}.", missing=missing)
