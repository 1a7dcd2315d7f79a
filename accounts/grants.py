"""Grants: capabilities added to agents until they expire or are revoked, and agents' requests for them.

A grant never exceeds the agent's trust level, its parent's capabilities or the rights of the person who grants it. That
is checked here for an immediate error, and on every request by `effective_capabilities`.
"""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

from accounts import audit, effective_capabilities
from accounts.authorise import may
from accounts.capabilities import split
from accounts.models import Agent, Grant, GrantRequest
from accounts.principals import Principal
from accounts.tokens import find_agent
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock, events
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Forbidden, Invalid, NotFound

MAX_OPEN = 256  # active grants of one agent
MAX_WAITING = 20  # unanswered requests of one agent
MAX_REQUESTS_PER_MINUTE = 30
MAX_PAGE = 200
# Actions in the audit log, whichever verb granted or revoked: give, accept, revoke, suspending an agent.
GRANTED, REVOKED = "capability_granted", "capability_revoked"

MAX_CAPABILITY = 512
# Control characters, and characters that reorder or hide text.
HIDDEN = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
)
_HIDDEN = re.compile(f"[{HIDDEN}\\ud800-\\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]")


@verb("grants.give", needs="grant")
def give(call: RunningCall, *, space: str, agent: str, capability: str, expires_at: str | None = None) -> Change:
    """Grant a capability to an agent, until it expires or is revoked."""
    row = find_agent(space, agent, call.principal)
    wanted, until = check_capability(capability), _until(expires_at)
    _check_giver(call.principal, wanted)
    return lambda: describe(_add(call, row.pk, wanted, until))


@verb("grants.revoke", needs="grant")
def revoke(call: RunningCall, *, grant: str) -> Change:
    """Revoke a grant, from the agent's next request, in every process."""
    row = Grant.objects.select_related("agent__space").filter(uuid=_number(grant, "grant")).first()
    if row is None or not call.principal.reaches(row.agent.space_id):
        raise NotFound(
            f"There is no grant with this id. `{typed_command('flux_grant list')}` lists all grants.", grant=grant[:64]
        )

    def change() -> dict[str, Any]:
        if not effective_capabilities.open_grants().filter(pk=row.pk).exists() or not _end(call, row):
            raise Conflict("This grant has already been revoked or has expired.")
        return describe(row)

    return change


@verb("grants.request", needs="grants.request")
def request(call: RunningCall, *, capability: str) -> Change:
    """Request a capability as an agent; the reason is shown to the person who decides."""
    if call.principal.agent is None:
        raise Invalid(
            "Only agents can request capabilities. Grant one with "
            f"{typed_command('flux_grant give AGENT CAPABILITY')}.",
            field="agent",
        )
    ticket = call.share("grant_requests", cost=1, limit=MAX_REQUESTS_PER_MINUTE)
    wanted = check_capability(capability)
    agent = Agent.objects.select_related("space", "parent").get(pk=call.principal.agent)
    if call.principal.capabilities.covers(wanted):
        raise Conflict("This agent already has that capability.", capability=wanted)
    effective_capabilities.check(agent.trust, agent.parent, [wanted])

    def change() -> dict[str, Any]:
        ticket.take()
        waiting = GrantRequest.objects.filter(agent=agent, state=GrantRequest.RequestState.WAITING)
        row = waiting.filter(capability=wanted).first()
        if row is not None:
            call.record(str(row.uuid), capability=wanted, again=True)
            return describe_request(row)
        if waiting.count() >= MAX_WAITING:
            raise Conflict(
                f"Too many requests: {MAX_WAITING} requests of this agent are unanswered. Wait for an answer.",
                limit=MAX_WAITING,
            )
        row = GrantRequest.objects.create(
            agent=agent, capability=wanted, reason=audit.readable(call.reason, 500), asked_at=clock.now()
        )
        call.record(str(row.uuid), capability=wanted)
        _add_event(call, "grant.requested", str(row.uuid), agent, wanted)
        return describe_request(row)

    return change


@verb("grants.accept", needs="grant")
def accept(call: RunningCall, *, request: str, expires_at: str | None = None) -> Change:
    """Accept a request and grant its capability. Everything is checked again, because it may have changed."""
    row, until = _find_request(call, request), _until(expires_at)
    _check_giver(call.principal, row.capability)

    def change() -> dict[str, Any]:
        _answer(call, row, GrantRequest.RequestState.ACCEPTED)
        row.grant = _add(call, row.agent_id, row.capability, until, request=str(row.uuid))
        row.save(update_fields=["grant"])
        return describe_request(row)

    return change


@verb("grants.decline", needs="grant")
def decline(call: RunningCall, *, request: str) -> Change:
    """Decline a request; the reason is shown to the agent."""
    row = _find_request(call, request)

    def change() -> dict[str, Any]:
        _answer(call, row, GrantRequest.RequestState.DECLINED)
        call.record(str(row.uuid), chain=row.agent.space.uuid.hex, agent=row.agent.name, capability=row.capability)
        _add_event(call, "grant.declined", str(row.uuid), row.agent, row.capability)
        return describe_request(row)

    return change


@selector("grants.own_requests", needs="grants.request")
def own_requests(principal: Principal, *, state: str | None = None, limit: int = 50) -> dict[str, Any]:
    """The newest requests of this agent."""
    if state is not None and state not in GrantRequest.RequestState.values:
        raise Invalid(f"state must be one of {', '.join(GrantRequest.RequestState.values)}.", field="state")
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")
    found = GrantRequest.objects.filter(agent=principal.agent).select_related("agent__space", "grant").order_by("-id")
    if state is not None:
        found = found.filter(state=state)
    rows = [describe_request(row) for row in found[:limit]]
    return {"requests": rows, "count": len(rows)}


def end_all(call: RunningCall, agent: Agent) -> tuple[int, int]:
    """Revoke all active grants of an agent that is being suspended, and decline its requests."""
    ended = sum(
        _end(call, row)
        for row in effective_capabilities.open_grants().filter(agent=agent).select_related("agent__space")
    )
    waiting = GrantRequest.objects.filter(agent=agent, state=GrantRequest.RequestState.WAITING)
    declined = waiting.update(
        state=GrantRequest.RequestState.DECLINED,
        answered_by=call.principal.actor,
        answered_at=clock.now(),
        answer="The agent was suspended.",
    )
    return ended, declined


def check_capability(capability: Any) -> str:
    """Check a capability: valid, and readable for the person who decides."""
    split(capability)
    if len(capability) > MAX_CAPABILITY or _HIDDEN.search(capability):
        raise Invalid(
            f"A capability must have at most {MAX_CAPABILITY} characters, all of them visible.", field="capability"
        )
    return str(capability)


def describe(row: Grant) -> dict[str, Any]:
    return {
        "id": str(row.uuid),
        "agent": row.agent.name,
        "space": row.agent.space.name,
        "capability": row.capability,
        "reason": row.reason,
        "granted_by": row.granted_by,
        "granted_at": clock.rfc3339(row.granted_at),
        "expires_at": clock.rfc3339(row.expires_at),
        "revoked_by": row.revoked_by,
        "revoked_at": clock.rfc3339(row.revoked_at),
    }


def describe_request(row: GrantRequest) -> dict[str, Any]:
    return {
        "id": str(row.uuid),
        "agent": row.agent.name,
        "space": row.agent.space.name,
        "capability": row.capability,
        "reason": row.reason,
        "state": str(row.state),
        "asked_at": clock.rfc3339(row.asked_at),
        "answered_at": clock.rfc3339(row.answered_at),
        "answer": row.answer,
        "grant": str(row.grant.uuid) if row.grant else None,
        "expires_at": clock.rfc3339(row.grant.expires_at) if row.grant else None,
    }


def _check_giver(principal: Principal, capability: str) -> None:
    operation, _ = split(capability)
    if not may(principal, operation):
        raise Forbidden(f"You cannot grant a capability that you do not have yourself: {operation}.", missing=operation)


def _until(expires_at: str | None) -> datetime | None:
    until = clock.parse(expires_at, name="expires_at") if expires_at is not None else None
    if until is not None and until <= clock.now():
        raise Invalid("expires_at must be in the future.", field="expires_at")
    return until


def _number(text: str, field: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except (ValueError, TypeError, AttributeError):
        raise Invalid(f"{field}: not an id, for example 0b2f6c0e-8f0c-4d7c-9f0f-3c1f7c2f9d11.", field=field) from None


def _find_request(call: RunningCall, request: str) -> GrantRequest:
    found = GrantRequest.objects.select_related("agent__space").filter(uuid=_number(request, "request")).first()
    if found is None or not call.principal.reaches(found.agent.space_id):
        raise NotFound(
            f"There is no request with this id. `{typed_command('flux_grant requests')}` lists all requests.",
            request=request[:64],
        )
    return found


def _add(call: RunningCall, agent_number: int, capability: str, until: datetime | None, **details: Any) -> Grant:
    # The row is locked so that nobody suspends the agent, or grants it the same, between check and write.
    agent = Agent.objects.select_for_update(of=("self",)).select_related("space", "parent").get(pk=agent_number)
    if not agent.active:
        raise Conflict(
            f"The agent {agent.name} is suspended. Reactivate it first: "
            f"{typed_command(f'flux_agent resume {agent.name}')}."
        )
    effective_capabilities.check(agent.trust, agent.parent, [capability])
    now = clock.now()
    if until is not None and until <= now:
        raise Invalid("expires_at must be in the future.", field="expires_at")
    held = {row.capability: row for row in effective_capabilities.open_grants(now).filter(agent=agent)}
    if capability in held:
        twin = held[capability]
        raise Conflict(
            f"{agent.name} already has this grant: {twin.uuid}. To change when it expires, revoke it first.",
            grant=str(twin.uuid),
            expires_at=clock.rfc3339(twin.expires_at),
        )
    if len(held) >= MAX_OPEN:
        raise Conflict(
            f"Too many grants: {agent.name} has the maximum of {MAX_OPEN}. Revoke one first.", limit=MAX_OPEN
        )
    row = Grant.objects.create(
        agent=agent,
        capability=capability,
        reason=audit.readable(call.reason, 500),
        granted_by=call.principal.actor,
        granted_at=now,
        expires_at=until,
    )
    _record(call, GRANTED, row, expires_at=clock.rfc3339(until), **details)
    _add_event(call, "grant.given", str(row.uuid), agent, capability)
    return row


def _end(call: RunningCall, row: Grant) -> bool:
    row.revoked_at, row.revoked_by = clock.now(), call.principal.actor
    changed = Grant.objects.filter(pk=row.pk, revoked_at=None).update(
        revoked_at=row.revoked_at, revoked_by=row.revoked_by
    )
    if changed:
        _record(call, REVOKED, row)
        _add_event(call, "grant.revoked", str(row.uuid), row.agent, row.capability)
    return bool(changed)


def _answer(call: RunningCall, row: GrantRequest, state: GrantRequest.RequestState) -> None:
    row.state, row.answered_by, row.answered_at = state, call.principal.actor, clock.now()
    row.answer = audit.readable(call.reason, 500)
    changed = GrantRequest.objects.filter(pk=row.pk, state=GrantRequest.RequestState.WAITING).update(
        state=row.state, answered_by=row.answered_by, answered_at=row.answered_at, answer=row.answer
    )
    if not changed:
        raise Conflict("This request has already been answered.")


def _record(call: RunningCall, action: str, row: Grant, **details: Any) -> None:
    audit.record(
        call.principal,
        action,
        str(row.uuid),
        reason=call.reason,
        chain=row.agent.space.uuid.hex,
        details={"verb": call.verb, "agent": row.agent.name, "capability": row.capability, **details},
    )
    call.recorded = True


def _add_event(call: RunningCall, kind: str, subject: str, agent: Agent, capability: str) -> None:
    """Add an event for followers of the space."""
    data = {"agent": agent.name, "capability": capability}
    events.append(kind, space=agent.space_id, actor=call.principal.actor, subject=subject, data=data)
