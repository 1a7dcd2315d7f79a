"""What the client raises: the rows of the one error table, and two that only a caller can meet."""

from __future__ import annotations

import json
from typing import Any

from fluxcore import errors
from fluxcore.errors import FluxError

__all__ = ["FluxError", "NotUnderstood", "Unreachable", "refusal"]
_ROWS = {row.code: row for row in errors.table()}


class Unreachable(FluxError, RuntimeError):
    """No answer came: nobody listens there, the line broke, or the time was up."""

    code, status, exit_status = "unreachable", 503, 69
    message = "The server did not answer."

    def __init__(self, message: str | None = None, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent  # False: the request cannot have arrived


class NotUnderstood(FluxError, RuntimeError):
    """Something answered, but not this server: a proxy, another program, another version."""

    code, status, exit_status = "not_understood", 502, 76
    message = "The answer was not one of this API."


def __getattr__(name: str) -> type[FluxError]:
    """`flux.errors.RateLimited` and every other row of the table, by its name there."""
    found = getattr(errors, name, None)
    if isinstance(found, type) and issubclass(found, FluxError):
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def refusal(status: int, body: bytes, retry_after: str | None) -> FluxError:
    """The exception an answer stands for."""
    try:
        said: Any = json.loads(body)
        code, message, details = str(said["code"]), str(said["message"]), dict(said["details"])
    except (ValueError, TypeError, KeyError):
        return NotUnderstood(f"HTTP {status} without the error shape of this API.")
    row = _ROWS.get(code, FluxError)
    error = row(message, retry_after=_seconds(retry_after))
    error.details = details
    error.request_id = said.get("request_id")
    if row.code != code:  # of a newer server: its own words are better than none
        error.code, error.status = code, status  # type: ignore[misc]
    return error


def _seconds(text: str | None) -> float | None:
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None  # a date, from some proxy: our own pauses will do
