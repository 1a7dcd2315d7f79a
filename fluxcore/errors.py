"""Table of errors: a stable code, an HTTP status, an exit status and a sentence for each.

Errors about an argument are also ValueErrors, those about a limit, a right or a state also RuntimeErrors: flux-memory
raises those two, and programs written for it catch them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar


class FluxError(Exception):
    """Base of all errors that reach a caller. Each subclass is one row of the table of errors."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    exit_status: ClassVar[int] = 70  # EX_SOFTWARE
    message: str = "Internal error. The server's log has details under the request id."

    def __init__(self, message: str | None = None, *, retry_after: float | None = None, **details: Any) -> None:
        self.message = message or type(self).message
        self.details = details
        self.retry_after = retry_after
        self.request_id: str | None = None  # set by clients from the answer
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
    message = "Unknown Host name. To allow it, add it to FLUX_ALLOWED_HOSTS."


class Unauthenticated(FluxError, RuntimeError):
    code, status, exit_status = "unauthenticated", 401, 77
    message = "The token is missing or not valid. Send one: `Authorization: Bearer flux_...`."


class SignInRefused(Unauthenticated):
    code = "sign_in_refused"
    message = "The user name or the password is wrong."


class Forbidden(FluxError, RuntimeError):
    code, status, exit_status = "forbidden", 403, 77
    message = "Your capabilities do not allow this."


class OriginAboveCeiling(Forbidden):
    code = "origin_above_ceiling"
    message = "The provenance is higher than the maximum provenance of this token."


class StepUpRequired(Forbidden):
    code = "step_up_required"
    message = "This action needs a code from the last five minutes. Enter a code from your authenticator app."


class AboveTrust(Forbidden):
    code = "above_trust"
    message = "The agent's trust level does not allow this capability. Raise its trust level first."


class AboveParent(Forbidden):
    code = "above_parent"
    message = "An agent cannot have a capability that its parent lacks."


class BadOrigin(Forbidden):
    code = "bad_origin"
    message = "Requests from web pages of other sites are not allowed."


class ReservedPath(Forbidden):
    code = "reserved_path"
    message = "The store manages this path itself. Choose another path."


class ReadOnlyPath(Forbidden):
    code = "read_only"
    message = "This path is read-only. Write to another path, or propose the change if the store takes proposals."


class OwnProposal(Forbidden):
    code = "own_proposal"
    message = "Agents do not decide what they proposed themselves. A person or another agent has to."


class NotFound(FluxError, ValueError):
    code, status, exit_status = "not_found", 404, 66
    message = "Not found."


class MethodNotAllowed(FluxError, ValueError):
    code, status, exit_status = "method_not_allowed", 405, 64
    message = "This address does not support that HTTP method."


class NotAcceptable(FluxError, ValueError):
    code, status, exit_status = "not_acceptable", 406, 64
    message = "Responses are JSON. Allow application/json in the Accept header."


class BodyTooSlow(FluxError, RuntimeError):
    code, status, exit_status = "body_too_slow", 408, 75
    message = "The request body did not arrive in time. Send it again, without pauses."


class Conflict(FluxError, RuntimeError):
    """A precondition failed; the details contain the current state."""

    code, status, exit_status = "conflict", 409, 75
    message = "It has changed since you read it. Read it again."


class AlreadyExists(Conflict):
    code = "already_exists"
    message = "It exists already. Open the existing one, or choose another name."


class IdempotencyKeyReused(Conflict):
    code = "idempotency_key_reused"
    message = "This idempotency key was used for another request. Use a new key for a new request."


class NotReturned(Conflict):
    code = "not_returned"
    message = "That memory was not in the answer. If it should have been, name it under `missed`."


class FeedbackDue(Conflict):
    code = "feedback_due"
    message = "Feedback on earlier answers is missing. Send it to POST /feedback, then recall again."


class Fenced(Conflict):
    code = "fenced"
    message = "You no longer have that lock: it expired or was taken by somebody else. Acquire it again."


class Held(Conflict):
    code = "held"
    message = "Somebody else has it now. Try again later."


class Gone(FluxError, ValueError):
    code, status, exit_status = "gone", 410, 66
    message = "That position is older than the oldest kept change. List the current state and watch from its position."


class LengthRequired(FluxError, ValueError):
    code, status, exit_status = "length_required", 411, 64
    message = "Content-Length is missing. Send it; chunked bodies are not accepted."


class TooLarge(FluxError, ValueError):
    code, status, exit_status = "too_large", 413, 65
    message = "The body is too large."


class QuotaReached(TooLarge, RuntimeError):
    code = "quota"
    message = "The quota is reached. Delete something first."


class UnsupportedMediaType(FluxError, ValueError):
    code, status, exit_status = "unsupported_media_type", 415, 65
    message = "Unsupported content type. Send application/json in UTF-8, not compressed."


class RangeNotSatisfiable(FluxError, ValueError):
    code, status, exit_status = "range_not_satisfiable", 416, 65
    message = "The content has no such range."


class Invalid(FluxError, ValueError):
    code, status, exit_status = "invalid", 422, 65
    message = "A value is not allowed."

    @classmethod
    def unknown(cls, name: str, allowed: Iterable[str], *, what: str = "field") -> Invalid:
        """Error about an unknown name, with the allowed names."""
        listed = list(allowed)
        says = f"Allowed: {', '.join(listed)}." if listed else f"This call has no {what}s."
        return cls(f"Unknown {what} {name[:64]!r}. {says}", field=name[:64], allowed=listed)


class InvalidPath(Invalid):
    code = "invalid_path"
    message = "The path is not allowed. Use names separated by '/', for example notes/today.md."


class HeadersTooLarge(FluxError, ValueError):
    code, status, exit_status = "headers_too_large", 431, 64
    message = "The request has too many or too large headers."


class RateLimited(FluxError, RuntimeError):
    code, status, exit_status = "rate_limited", 429, 75
    message = "The limit is reached. Wait for the seconds in Retry-After."


class TooManyWatches(RateLimited):
    code = "too_many_watches"
    message = "Too many open watches of this agent or its space. Close one first."


class NameLocked(RateLimited):
    code = "name_locked"
    message = "Too many wrong passwords or codes for this user name."


class Busy(FluxError, RuntimeError):
    code, status, exit_status = "busy", 503, 75
    message = "The server is overloaded with writes. Nothing was stored; try again."


class StorageUnavailable(FluxError, RuntimeError):
    code, status, exit_status = "storage_unavailable", 503, 74
    message = "The database refused the write. Nothing was stored; try again."


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
        "A secret in the database was encrypted with another key. Restore the secret key of the instance, or reset "
        "the second factor of the person."
    )


class NotReady(FluxError, RuntimeError):
    code, status, exit_status = "not_ready", 503, 75
    message = (
        "This process cannot write now: the database is unreachable or not migrated, or too many writes are queued. "
        "Try again later."
    )


class NotStarted(FluxError, RuntimeError):
    code, status, exit_status = "not_started", 503, 70
    message = "The instance did not start."


class BadConfiguration(FluxError, RuntimeError):
    code, status, exit_status = "bad_configuration", 503, 78
    message = "config.yaml is not valid."


class StopTheInstance(FluxError, RuntimeError):
    code, status, exit_status = "running", 409, 75
    message = "The instance is running. Stop it first."


def table() -> list[type[FluxError]]:
    """All errors that servers send, for the documentation and its tests."""
    rows: list[type[FluxError]] = []
    waiting = [FluxError]
    while waiting:
        row = waiting.pop(0)
        rows.append(row)
        # The SDK has two more error classes, for requests without an answer; no server sends them.
        waiting.extend(subclass for subclass in row.__subclasses__() if subclass.__module__ == __name__)
    return sorted(rows, key=lambda row: (row.status, row.code))
