"""MCP resources, which clients can attach without a tool: a grain, a trace, the onboarding text."""

from __future__ import annotations

import re
import uuid
from typing import Any

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError

from accounts.principals import Principal
from fluxcore.errors import FluxError, NotFound
from mcp_bridge import errors, onboarding

JSON, TEXT = "application/json", "text/plain"
ONBOARDING = "flux://onboarding"
LISTED = [
    types.Resource(
        uri=ONBOARDING,
        name="onboarding",
        title="How to use this memory",
        mime_type=TEXT,
        description="How to use it: recall before answering, store after, rate what was used.",
    )
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template="flux://grains/{id}",
        name="grain",
        title="A grain",
        mime_type=JSON,
        description="A grain with its links, recalls, votes, status changes and lineage.",
    ),
    types.ResourceTemplate(
        uri_template="flux://traces/{id}",
        name="trace",
        title="A trace",
        mime_type=JSON,
        description="Explanation of one of your recalls.",
    ),
]
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ADDRESS = re.compile(rf"flux://(grains|traces)/({_UUID})")
_NOT_FOUND = -32002  # used by protocol revisions before 2026-07-28; later ones use INVALID_PARAMS


def read(who: Any, ctx: Any, uri: str) -> types.ReadResourceResult:
    try:
        kind, text = _found(who(ctx), uri)
    except Exception as error:
        refusal = errors.as_flux_error(error)
        code = _code(refusal, ctx.protocol_version)
        raise MCPError(code=code, message=errors.error_text(refusal), data={"uri": uri, **refusal.body()}) from None
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _found(principal: Principal, uri: str) -> tuple[str, str]:
    from memory.grains import dossier
    from memory.recall import explain

    if uri == ONBOARDING:
        return TEXT, str(onboarding.onboarding(principal)["instructions"])
    address = _ADDRESS.fullmatch(uri.lower())
    if address is None:
        raise NotFound("There is no such resource. Allowed: flux://onboarding, flux://grains/ID, flux://traces/ID.")
    wanted = uuid.UUID(address.group(2))
    found: Any = (
        dossier.load_dossier(principal, wanted).shape()
        if address.group(1) == "grains"
        else explain.explain_trace(principal, wanted)
    )
    return JSON, orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()


def _code(refusal: FluxError, revision: str) -> int:
    if isinstance(refusal, NotFound) and revision < "2026-07-28":
        return _NOT_FOUND
    return types.INTERNAL_ERROR if refusal.status >= 500 else types.INVALID_PARAMS
