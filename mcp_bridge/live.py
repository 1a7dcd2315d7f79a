"""Live feed of agents: WebSocket `/live` on the MCP server, by bearer token, with events of the token's space."""

from __future__ import annotations

from functools import partial

from accounts import anonymous_refusals, tokens
from accounts.authorise import authorise, may
from accounts.models import Space
from accounts.principals import Principal
from fluxcore.errors import BadOrigin, Forbidden, Unauthenticated
from fluxcore.events import LoggedEvent
from fluxcore.log.live import LiveSubscriber, Shows
from fluxsite import admission
from fluxsite.websockets import LiveConsumer, Scope
from mcp_bridge.origin_check import HEADERS, hostile_request_error

# Events shown to agents: first word of the event's kind -> the capability it requires.
SHOWN = {"grain": "grains.read"}


class AgentConsumer(LiveConsumer):
    """WebSocket of an agent."""

    headers = HEADERS


def check_origin(scope: Scope) -> None:
    refusal = hostile_request_error(scope)
    if refusal is not None:
        raise refusal
    if b"origin" in dict(scope["headers"]):
        raise BadOrigin  # no web page may connect here, not even one of ours


def admit(scope: Scope) -> LiveSubscriber:
    token = _bearer(dict(scope["headers"]).get(b"authorization", b""))
    try:
        agent = tokens.authenticate(token)
    except Unauthenticated:
        anonymous_refusals.count_refusal((scope.get("client") or ("unknown", 0))[0])
        raise
    if not _kinds(agent):
        authorise(agent, "grains.read", action="live.follow")
    given, space = admission.query(scope, "since"), Space.objects.get(uuid=agent.chain)
    return LiveSubscriber(
        owner=f"agent:{agent.agent}",
        credential=f"token:{agent.token}",
        space=space.pk,
        actor=agent.actor,
        where=space.name,
        rights=partial(_rights, token),
        since=admission.since(given),
    )


def _rights(token: str) -> Shows:
    kinds = _kinds(tokens.authenticate(token))
    if not kinds:
        raise Forbidden
    return partial(_shows, kinds)


def _kinds(agent: Principal) -> frozenset[str]:
    return frozenset(word for word, operation in SHOWN.items() if may(agent, operation))


def _shows(kinds: frozenset[str], change: LoggedEvent) -> bool:
    return change.kind.partition(".")[0] in kinds


def _bearer(header: bytes) -> str:
    scheme, _, token = header.decode("latin-1").partition(" ")
    return token.strip(" ") if scheme.lower() == "bearer" else ""


websockets = admission.at_live(AgentConsumer, check_origin, admit)
