"""Verbs and selectors: the functions that write and read. Both begin with the authorisation.

A verb's body checks its arguments and computes outside any transaction, then returns the change to make. The change
runs in the write booth together with its audit entries and events, under the caller's idempotency key if there is one.
What it returns is the answer, which can be written as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from accounts import audit
from accounts.authorise import authorise
from accounts.principals import Principal
from fluxcore import events
from fluxcore.errors import FluxError, Forbidden, Invalid
from fluxcore.writes import booth, idempotency, limits, write_locks
from fluxcore.writes.limits import Ticket
from fluxcore.writes.preconditions import NONE, UNSET, Precondition

P = ParamSpec("P")
R = TypeVar("R")
MAX_REASON = 500


@dataclass
class RunningCall:
    """One call of a verb, as its body sees it."""

    principal: Principal
    verb: str
    reason: str = ""
    precondition: Precondition = NONE
    # Space whose rows are changed if the caller has none, as the shell: the write runs under the lock of that space.
    space: int | None = None
    tickets: list[Ticket] = field(default_factory=list)
    recorded: bool = False

    def record(self, object: str, *, chain: str | None = None, outcome: str = "done", **details: Any) -> None:
        """Add an audit entry about this call, or about a refused part of it."""
        audit.record(
            self.principal, self.verb, object, outcome=outcome, reason=self.reason, details=details, chain=chain
        )
        self.recorded = True

    def share(self, what: str, *, cost: int, limit: int, total: int | None = None) -> Ticket:
        """A ticket for the caller's rate limit, to be taken inside the change. People and the shell have no limits.

        With a `total`, each label of the agent has its own limit, within the total of all labels.
        """
        counted_as = self.principal.counted_as
        if not counted_as:
            return Ticket(what, 0, limit, limit, in_database=False)
        label = "" if total is None else self.principal.label
        ticket = limits.ask(f"{what}:{counted_as}", cost=cost, limit=limit, label=label, total=total)
        self.tickets.append(ticket)
        return ticket

    def event(self, kind: str, subject: str, data: dict[str, Any] | None = None, packed: bytes | None = None) -> None:
        """Add an event to the event log."""
        events.append(
            kind, space=self.principal.space, actor=self.principal.actor, subject=subject, data=data, packed=packed
        )


Change = Callable[[], Any]


class Verb(Protocol):
    """A verb as its callers see it."""

    def __call__(
        self,
        principal: Principal,
        /,
        *,
        reason: str = "",
        idempotency_key: str | None = None,
        precondition: Precondition = NONE,
        **arguments: Any,
    ) -> Any: ...


REGISTRY: dict[str, str] = {}  # verb -> the operation it needs


# Function of principal and arguments that returns the operations a call needs, with the names they are for.
Asks = Callable[[Principal, dict[str, Any]], Iterable[tuple[str, str | None]]]

# Function that is told of a refused call: its principal, what was given to the verb, and the refusal.
Refused = Callable[[Principal, dict[str, Any], FluxError], None]


@dataclass(frozen=True)
class LargeAnswers:
    """How large answers of a verb are kept for a retry: without what is stored elsewhere anyway."""

    shorten: Callable[[Any], Any]
    restore: Callable[[Principal, dict[str, Any], Any], Any]  # of a caller, its arguments and the kept answer


def verb(
    name: str,
    *,
    needs: str,
    target: Callable[[dict[str, Any]], str] | None = None,
    secret: bool = False,
    asks: Asks | None = None,
    large: LargeAnswers | None = None,
    refused: Refused | None = None,
) -> Callable[[Callable[..., Change]], Verb]:
    """Make a function a verb: `@verb("grains.store", needs="grains.write")`.

    If the needed operations depend on the arguments, `asks` returns them for each call. `refused` is called when a call
    is refused, before the refusal goes to the caller.

    A `secret` verb has arguments or answers that must not be stored in clear, so it takes no idempotency key: the key's
    row would store its answer and a digest of its arguments.
    """

    def decorate(body: Callable[..., Change]) -> Verb:
        REGISTRY[name] = needs

        def run(
            principal: Principal,
            /,
            *,
            reason: str = "",
            idempotency_key: str | None = None,
            precondition: Precondition = NONE,
            **arguments: Any,
        ) -> Any:
            asked = asks(principal, arguments) if asks else [(needs, target(arguments) if target else None)]
            for operation, wanted in asked:
                authorise(principal, operation, wanted, action=name)
            call = RunningCall(principal, name, _checked_reason(reason), precondition)
            request = [name, arguments, *_expectation(precondition)]
            if idempotency_key is not None:
                if secret:
                    raise Invalid(f"{name} takes no idempotency key. Leave it out.", field="idempotency_key")
                found = idempotency.find_answer(
                    principal.actor_in_space, idempotency.check_key(idempotency_key), request
                )
                if found is not None:
                    return large.restore(principal, arguments, found[0]) if large is not None else found[0]
            ran = False

            def write() -> Any:
                nonlocal ran
                ran = False  # the booth may run a write again

                def effect() -> Any:
                    nonlocal ran
                    ran = True
                    call.recorded = False
                    answer = change()
                    if not call.recorded:
                        call.record("")
                    return answer

                shorten = large.shorten if large is not None else None
                return idempotency.run_once(principal.actor_in_space, idempotency_key, request, effect, shorten)

            try:
                change = body(call, **arguments)
                lock = write_locks.lock_name(principal.space if call.space is None else call.space)
                answer = booth.write(write, lock=lock, agent=principal.actor)
            except BaseException as error:
                _give_back(call)
                if isinstance(error, Forbidden):
                    audit.refuse(principal, name, "", details={"code": error.code, **error.details})
                raise
            if not ran:
                _give_back(call)
                return large.restore(principal, arguments, answer) if large is not None else answer
            return answer

        if refused is None:
            return wraps(body)(run)

        @wraps(body)
        def run_and_note_refusal(principal: Principal, /, **given: Any) -> Any:
            try:
                return run(principal, **given)
            except FluxError as error:
                refused(principal, given, error)
                raise

        return run_and_note_refusal

    return decorate


def selector(name: str, *, needs: str, asks: Asks | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function a selector, which never writes. Its first argument is the principal."""

    def decorate(body: Callable[P, R]) -> Callable[P, R]:
        REGISTRY[name] = needs

        @wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            principal = args[0]
            if not isinstance(principal, Principal):
                raise TypeError("a selector's first argument is the principal")
            for operation, wanted in asks(principal, kwargs) if asks else [(needs, None)]:
                authorise(principal, operation, wanted, action=name)
            return body(*args, **kwargs)

        return call

    return decorate


def _give_back(call: RunningCall) -> None:
    for ticket in call.tickets:
        ticket.give_back()


def _expectation(precondition: Precondition) -> list[Any]:
    """The precondition as a part of the request: the same key with another precondition is another request."""
    if not precondition.given:
        return []
    value = [] if precondition.expected_value is UNSET else [precondition.expected_value]
    return [precondition.expected_sha, precondition.expected_version, value]


def _checked_reason(reason: str) -> str:
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        raise Invalid(f"The reason is too long: at most {MAX_REASON} characters.", field="reason")
    return reason
