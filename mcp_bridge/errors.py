"""A refusal as a model reads it: the stable code, what is wrong, and what to do next."""

from __future__ import annotations

import logging
import math
from typing import Any

import orjson

from fluxcore.command_names import typed_command
from fluxcore.db_errors import error_place, translate
from fluxcore.errors import FluxError

log = logging.getLogger(__name__)

ERROR_META_KEY = "flux-memory/error"  # where programs find code and details: `_meta` of the answer
UNAUTHORISED, REFUSED = -32001, -32003  # of JSON-RPC's range for servers
# The next step in terms of MCP, where the message speaks of REST.
NEXT_STEPS = {
    "feedback_due": "Rate them with flux_feedback (flux_pending_feedback lists them), then recall again.",
    "unauthenticated": "The token is no longer valid. Ask the user for a new one.",
    "forbidden": "Ask the user to allow it, and continue without it.",
    "origin_above_ceiling": "Leave provenance out, or claim one that flux_onboard allows you.",
    "busy": "Try again in a moment.",
    "storage_unavailable": "Try again in a moment; if it fails again, tell the user.",
    "not_ready": f"Tell the user: {typed_command('flux_init')} creates the database.",
}


def as_flux_error(error: BaseException) -> FluxError:
    """Ours as they are, a database's by its words, the rest logged as internal."""
    translated = translate(error)
    if isinstance(translated, FluxError):
        return translated
    log.error("a tool failed: %s", error_place(error))
    return FluxError("Internal error in the memory server. It has been logged; other calls still work.")


def error_text(refusal: FluxError) -> str:
    """`code: message next step`, and the details on a line of their own."""
    parts = [f"{refusal.code}: {refusal.message}"]
    if refusal.retry_after is not None:
        parts.append(f"Wait {retry_seconds(refusal)} s.")
    if refusal.code in NEXT_STEPS:
        parts.append(NEXT_STEPS[refusal.code])
    details = f"\n{orjson.dumps(refusal.details, default=str).decode()}" if refusal.details else ""
    return " ".join(parts) + details


def protocol_data(refusal: FluxError) -> dict[str, Any]:
    """For programs that get an error of JSON-RPC: what is in `_meta` otherwise."""
    meta = error_meta(refusal)
    return {**meta.pop(ERROR_META_KEY), **meta}


def protocol_error(refusal: FluxError) -> Exception:
    """A refusal by the door, before any tool: an error of JSON-RPC."""
    from mcp.shared.exceptions import MCPError

    return MCPError(REFUSED, error_text(refusal), protocol_data(refusal))


def error_meta(refusal: FluxError) -> dict[str, Any]:
    """For programs: the refusal as REST's body has it, and how many seconds to wait where waiting helps."""
    body = orjson.loads(orjson.dumps(refusal.body(), default=str))
    return {
        ERROR_META_KEY: body,
        **({"retry_after": retry_seconds(refusal)} if refusal.retry_after is not None else {}),
    }


def retry_seconds(refusal: FluxError) -> int:
    """Whole seconds, as REST's Retry-After has them."""
    return max(1, math.ceil(refusal.retry_after or 0))
