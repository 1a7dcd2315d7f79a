"""The one authorisation call. Every door makes it; a door with weaker checks is a bug."""

from __future__ import annotations

from accounts import audit, roles
from accounts.capabilities import NEED_FRESH_CODE, without_namespace
from accounts.grant_request_hint import suggest_grant_request
from accounts.principals import Principal
from fluxcore.errors import Forbidden, StepUpRequired

# Asking is not getting: any agent may look at itself and ask a person for a capability it lacks.
FOR_EVERY_AGENT = frozenset({"grants.request", "self.read"})
# Their own password, second factor and sessions.
FOR_EVERY_PERSON = frozenset({"own.sessions", "own.secrets"})


def may(principal: Principal, operation: str, target: str | None = None) -> bool:
    if principal.kind == "shell":
        return True
    if principal.kind == "agent":
        return operation in FOR_EVERY_AGENT or principal.capabilities.allow(operation, target)
    if principal.kind == "user":
        return operation in FOR_EVERY_PERSON or roles.allows(principal.role, without_namespace(operation))
    return principal.kind == "enrolment" and operation == "people.enrol"


def authorise(principal: Principal, operation: str, target: str | None = None, *, action: str | None = None) -> None:
    """Return if allowed; otherwise put the refusal on the chain and raise."""
    if may(principal, operation, target):
        if principal.kind == "user" and operation in NEED_FRESH_CODE and not principal.fresh:
            raise StepUpRequired  # a question to the person, not a refusal: nothing for the chain
        return
    missing = f"{operation}:{target}" if target is not None else operation
    audit.refuse(principal, action or operation, (target or "")[:200], details={"missing": missing[:600]})
    what = "a role that allows" if principal.kind == "user" else "the capability"
    raise Forbidden(
        f"This needs {what} {missing}.", missing=missing, **suggest_grant_request(principal, operation, target)
    )
