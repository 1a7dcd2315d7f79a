"""Exceptions of the client: those of the server's error table, and two for failures on the way to it."""

from __future__ import annotations

import json
from typing import Any

from fluxcore import errors
from fluxcore.errors import FluxError

__all__ = ["FluxError", "NotUnderstood", "Unreachable", "refusal"]
_ROWS = {row.code: row for row in errors.table()}


class Unreachable(FluxError, RuntimeError):
    """No answer: the connection failed or broke, or timed out."""

    code, status, exit_status = "unreachable", 503, 69
    message = "The server did not answer."

    def __init__(self, message: str | None = None, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  # False: the request cannot have reached the server


class NotUnderstood(FluxError, RuntimeError):
    """The answer is not one of this API: it came from a proxy, another program or another version."""

    code, status, exit_status = "not_understood", 502, 76
    message = "The answer is not one of the Flux Memory API. Set the address of the REST server (port 7465 by default)."


def __getattr__(name: str) -> type[FluxError]:
    """Exceptions of the error table by name, for example `flux.errors.RateLimited`."""
    found = getattr(errors, name, None)
    if isinstance(found, type) and issubclass(found, FluxError):
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def refusal(status: int, body: bytes, retry_after: str | None) -> FluxError:
    """The exception for an error response."""
    try:
        fields: Any = json.loads(body)
        code, message, details = str(fields["code"]), str(fields["message"]), dict(fields["details"])
    except (ValueError, TypeError, KeyError):
        return NotUnderstood(f"The answer is HTTP {status} without an error of the Flux Memory API. Check the address.")
    row = _ROWS.get(code, FluxError)
    error = row(message, retry_after=_seconds(retry_after))
    error.details = details
    error.request_id = fields.get("request_id")
    if row.code != code:  # unknown code of a newer server: keep it
        error.code, error.status = code, status  # type: ignore[misc]
    return error


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None  # a date, sent by a proxy: the client's own pauses are used
