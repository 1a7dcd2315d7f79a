"""How an agent that was refused can ask a person for what it lacks."""

from __future__ import annotations

from typing import Any

from accounts import scopes
from accounts.capabilities import OPERATIONS, SCOPED, without_namespace
from accounts.principals import Principal
from fluxcore.globs import MAX_PATTERN

CALL = "POST /api/v1/grant-requests"


def suggest_grant_request(principal: Principal, operation: str, target: str | None) -> dict[str, Any]:
    """`ask`: the call that asks for it, ready to send. Nothing where that is no use: it could not be granted."""
    if principal.kind != "agent" or without_namespace(operation) not in OPERATIONS:
        return {}
    capability = operation
    if target and operation.split(".")[0] in SCOPED:
        capability = f"{operation}:{scopes.literal(target)}"
    if len(capability) > MAX_PATTERN or not capability.isprintable():
        return {}  # no such name could be shown to the person who decides
    if not principal.capabilities.leaves_room_for(capability):
        return {}
    return {"ask": {"call": CALL, "body": {"capability": capability}}}
