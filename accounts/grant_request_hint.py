"""Hint in refusals: the call with which an agent can request the missing capability."""

from __future__ import annotations

from typing import Any

from accounts import scopes
from accounts.capabilities import OPERATIONS, SCOPED, without_namespace
from accounts.principals import Principal
from fluxcore.globs import MAX_PATTERN

CALL = "POST /api/v1/grant-requests"


def suggest_grant_request(principal: Principal, operation: str, target: str | None) -> dict[str, Any]:
    """`ask`: the call that requests the capability, ready to send. Empty if it could not be granted."""
    if principal.kind != "agent" or without_namespace(operation) not in OPERATIONS:
        return {}
    capability = operation
    if target and operation.split(".")[0] in SCOPED:
        capability = f"{operation}:{scopes.literal(target)}"
    if len(capability) > MAX_PATTERN or not capability.isprintable():
        return {}  # the name cannot be shown to the person who decides
    if not principal.capabilities.leaves_room_for(capability):
        return {}
    return {"ask": {"call": CALL, "body": {"capability": capability}}}
