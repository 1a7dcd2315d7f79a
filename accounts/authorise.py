"""Authorisation of operations. REST, MCP, dashboard, admin and shell all call `authorise`."""

from __future__ import annotations

from accounts import audit, roles
from accounts.capabilities import NEED_FRESH_CODE, without_namespace
from accounts.grant_request_hint import suggest_grant_request
from accounts.principals import Principal
from fluxcore.errors import Forbidden, StepUpRequired

# Operations of every agent: read its own rights, and request a capability from a person.
FOR_EVERY_AGENT = frozenset({"grants.request", "self.read"})
# Operations of every person: their own password, second factor and sessions.
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
    """Return if the operation is allowed; otherwise record the refusal in the audit log and raise."""
    if may(principal, operation, target):
        if principal.kind == "user" and operation in NEED_FRESH_CODE and not principal.fresh:
            raise StepUpRequired  # asks the person for a code; not a refusal, so no audit entry
        return
    missing = f"{operation}:{target}" if target is not None else operation
    audit.refuse(principal, action or operation, (target or "")[:200], details={"missing": missing[:600]})
    what = "a role that allows" if principal.kind == "user" else "the capability"
    raise Forbidden(
        f"This needs {what} {missing}.", missing=missing, **suggest_grant_request(principal, operation, target)
    )
