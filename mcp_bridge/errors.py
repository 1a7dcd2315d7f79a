"""Errors as text for models: the stable code, what is wrong, and what to do next."""

from __future__ import annotations

import logging
import math
from typing import Any

import orjson

from fluxcore.command_names import typed_command
from fluxcore.db_errors import error_place, translate
from fluxcore.errors import FluxError

log = logging.getLogger(__name__)

ERROR_META_KEY = "flux-memory/error"  # key in `_meta` of the answer, where programs find code and details
UNAUTHORISED, REFUSED = -32001, -32003  # from JSON-RPC's range of error codes for servers
# Advice in terms of MCP, for errors whose message is written for REST.
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
    """The FluxError for any exception: our own or of a database; any other is logged as internal."""
    translated = translate(error)
    if isinstance(translated, FluxError):
        return translated
    log.error("a tool failed: %s", error_place(error))
    return FluxError("Internal error in the memory server. It has been logged; other calls still work.")


def error_text(refusal: FluxError) -> str:
    """Text of an error: `code: message advice`, and the details on a second line."""
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
    """`_meta` of an error for programs: the body that REST would send, and the seconds to wait, if any."""
    body = orjson.loads(orjson.dumps(refusal.body(), default=str))
    return {
        ERROR_META_KEY: body,
        **({"retry_after": retry_seconds(refusal)} if refusal.retry_after is not None else {}),
    }


def retry_seconds(refusal: FluxError) -> int:
    """Seconds to wait as a whole number, as in REST's Retry-After."""
    return max(1, math.ceil(refusal.retry_after or 0))
