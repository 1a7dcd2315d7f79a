"""The one error table: a stable code, an HTTP status, an exit status and a sentence for each refusal.

A refusal of what was given is also a ValueError, one because of a limit, a right or a state also a RuntimeError:
flux-memory raises those two, and programs written for it catch them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar


class FluxError(Exception):
    """Base of everything a caller can be told. Subclasses are the rows of the table."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    exit_status: ClassVar[int] = 70  # EX_SOFTWARE
    message: str = "Something failed inside the server. It has been logged under the request id."

    def __init__(self, message: str | None = None, *, retry_after: float | None = None, **details: Any) -> None:
        self.message = message or type(self).message
        self.details = details
        self.retry_after = retry_after
        self.request_id: str | None = None  # known to a client that was answered
        super().__init__(self.message)

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "details": self.details}


class BadRequest(FluxError, ValueError):
    code, status, exit_status = "bad_request", 400, 64
    message = "The request could not be understood."


class BadJSON(BadRequest):
    code = "bad_json"
    message = "The body is not valid JSON."


class BadHost(BadRequest):
    code = "bad_host"
    message = "This server does not answer to that Host name. Add it to FLUX_ALLOWED_HOSTS if it should."


class Unauthenticated(FluxError, RuntimeError):
    code, status, exit_status = "unauthenticated", 401, 77
    message = "Send a valid token: `Authorization: Bearer flux_...`."


class SignInRefused(Unauthenticated):
    code = "sign_in_refused"
    message = "The user name or the password is wrong."


class Forbidden(FluxError, RuntimeError):
    code, status, exit_status = "forbidden", 403, 77
    message = "Your capabilities do not allow this."


class OriginAboveCeiling(Forbidden):
    code = "origin_above_ceiling"
    message = "This token may not vouch for that provenance."


class StepUpRequired(Forbidden):
    code = "step_up_required"
    message = "Enter a code from your authenticator app: this step wants one from the last five minutes."


class AboveTrust(Forbidden):
    code = "above_trust"
    message = "This reaches further than the agent's trust level."


class AboveParent(Forbidden):
    code = "above_parent"
    message = "An agent never holds what its parent lacks."


class BadOrigin(Forbidden):
    code = "bad_origin"
    message = "Web pages may not call this door."


class NotFound(FluxError, ValueError):
    code, status, exit_status = "not_found", 404, 66
    message = "There is nothing here under that name."


class MethodNotAllowed(FluxError, ValueError):
    code, status, exit_status = "method_not_allowed", 405, 64
    message = "This address does not take that method."


class NotAcceptable(FluxError, ValueError):
    code, status, exit_status = "not_acceptable", 406, 64
    message = "Answers are JSON; allow application/json in Accept."


class BodyTooSlow(FluxError, RuntimeError):
    code, status, exit_status = "body_too_slow", 408, 75
    message = "The body did not arrive in time. Send it again, without pauses."


class Conflict(FluxError, RuntimeError):
    """A precondition did not hold; details carry what is there now."""

    code, status, exit_status = "conflict", 409, 75
    message = "It has changed since you looked."


class IdempotencyKeyReused(Conflict):
    code = "idempotency_key_reused"
    message = "This idempotency key was used for another request. Use a new key for a new request."


class NotReturned(Conflict):
    code = "not_returned"
    message = "That grain was not in the answer. Name it under `missed` if it should have been."


class FeedbackDue(Conflict):
    code = "feedback_due"
    message = "Earlier answers wait for your vote. Send it to /feedback, then ask again."


class Fenced(Conflict):
    code = "fenced"
    message = "You no longer hold that lock: somebody else may have acted since."


class Held(Conflict):
    code = "held"
    message = "Somebody else holds it."


class Gone(FluxError, ValueError):
    code, status, exit_status = "gone", 410, 66
    message = "That position is older than what is kept. List what there is and watch from its position."


class LengthRequired(FluxError, ValueError):
    code, status, exit_status = "length_required", 411, 64
    message = "Send a Content-Length; chunked bodies are not taken."


class TooLarge(FluxError, ValueError):
    code, status, exit_status = "too_large", 413, 65
    message = "The body is too large."


class QuotaReached(TooLarge, RuntimeError):
    code = "quota"
    message = "There is no more room. Delete something first."


class UnsupportedMediaType(FluxError, ValueError):
    code, status, exit_status = "unsupported_media_type", 415, 65
    message = "Send application/json in UTF-8, not compressed."


class RangeNotSatisfiable(FluxError, ValueError):
    code, status, exit_status = "range_not_satisfiable", 416, 65
    message = "The content has no such range."


class Invalid(FluxError, ValueError):
    code, status, exit_status = "invalid", 422, 65
    message = "A value is not acceptable."

    @classmethod
    def unknown(cls, name: str, allowed: Iterable[str], *, what: str = "field") -> Invalid:
        """A name this call does not know, with those it does."""
        listed = list(allowed)
        says = f"Allowed: {', '.join(listed)}." if listed else f"This call takes no {what}s."
        return cls(f"Unknown {what} {name[:64]!r}. {says}", field=name[:64], allowed=listed)


class HeadersTooLarge(FluxError, ValueError):
    code, status, exit_status = "headers_too_large", 431, 64
    message = "Too many or too large headers."


class RateLimited(FluxError, RuntimeError):
    code, status, exit_status = "rate_limited", 429, 75
    message = "The limit is reached. Wait as long as Retry-After says."


class TooManyWatches(RateLimited):
    code = "too_many_watches"
    message = "This agent or its space has as many watches open as one may have. End one first."


class NameLocked(RateLimited):
    code = "name_locked"
    message = "Too many wrong guesses for this name."


class Busy(FluxError, RuntimeError):
    code, status, exit_status = "busy", 503, 75
    message = "The server has too much waiting to be written. Nothing was stored; try again."


class StorageUnavailable(FluxError, RuntimeError):
    code, status, exit_status = "storage_unavailable", 503, 74
    message = "The database did not take the write. Nothing was stored; try again."


class OutcomeUnknown(FluxError, RuntimeError):
    code, status, exit_status = "outcome_unknown", 503, 74
    message = (
        "The database connection broke during the commit, so the write may or may not have happened. "
        "Repeat it with the same idempotency key to be sure."
    )


class DiskFull(FluxError, RuntimeError):
    code, status, exit_status = "disk_full", 507, 74
    message = "The disk is full. Nothing was stored; free some space and try again."


class SealBroken(FluxError, RuntimeError):
    code, status, exit_status = "seal_broken", 503, 78
    message = (
        "A secret in the database was sealed with another key. Bring back the instance's secret key, "
        "or make the person a new second factor."
    )


class NotReady(FluxError, RuntimeError):
    code, status, exit_status = "not_ready", 503, 75
    message = "This process cannot take writes now: its database is away or not migrated, or too much is waiting."


class NotStarted(FluxError, RuntimeError):
    code, status, exit_status = "not_started", 503, 70
    message = "The instance did not start."


class BadConfiguration(FluxError, RuntimeError):
    code, status, exit_status = "bad_configuration", 503, 78
    message = "config.yaml cannot be used."


class StopTheInstance(FluxError, RuntimeError):
    code, status, exit_status = "running", 409, 75
    message = "The instance is running. Stop it first."


def table() -> list[type[FluxError]]:
    """Every error a caller can meet, for the documentation and the tests that keep it true."""
    rows: list[type[FluxError]] = []
    waiting = [FluxError]
    while waiting:
        row = waiting.pop(0)
        rows.append(row)
        # A client has two more of its own, for answers that never came: no server sends them.
        waiting.extend(one for one in row.__subclasses__() if one.__module__ == __name__)
    return sorted(rows, key=lambda row: (row.status, row.code))
