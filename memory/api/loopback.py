"""REST without a token for programs of this machine, off by default: they act as the agent of REST_OPEN_TO_LOOPBACK.

Programs written for flux-memory send no token. Whoever can open a socket on this machine can use this, so the agent
must not be privileged, does what a sandboxed agent may and stores, claims at most `ai_stated`, and requests of browsers
and proxies are refused.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from django.conf import settings
from rest_framework.request import Request

from accounts import local_agent, origins, trust
from accounts.models import Agent
from accounts.principals import Principal
from fluxcore import config
from fluxsite.setup import FIRST_SPACE

MAX_ORIGIN = "ai_stated"
_NAMES = ("localhost", "127.0.0.1", "[::1]")
_BROWSER = ("HTTP_ORIGIN", "HTTP_SEC_FETCH_")
_PROXY = ("HTTP_FORWARDED", "HTTP_X_FORWARDED_", "HTTP_X_REAL_IP", "HTTP_VIA")


def loopback_agent(request: Request) -> Principal | None:
    """The agent of a request without a token; None if the key is not set or does not apply to the request."""
    named = config.current().REST_OPEN_TO_LOOPBACK
    if not named:
        return None
    why_not = setting_problem(named) or _request_problem(request)
    if why_not:
        request._request.loopback_problem = why_not  # type: ignore[attr-defined]
        return None
    return local_agent.find_local_agent(*_agent_of(named), MAX_ORIGIN, within=trust.WITHOUT_TOKEN)


def _agent_of(named: str) -> tuple[str, str]:
    """Space and name of the agent, from `agent` or `space/agent`."""
    space, _, name = named.rpartition("/")
    return space or FIRST_SPACE, name


def setting_problem(named: str) -> str:
    """Why the key has no effect in this instance; empty if it has."""
    if settings.HTTPS:
        return "FLUX_HTTPS is on"
    if not _is_loopback(config.current().REST_HOST):
        return "REST_HOST is not a loopback address"
    space, name = _agent_of(named)
    found = Agent.objects.filter(space__name=space, name=name, active=True).values_list("trust", flat=True).first()
    if found is None:
        return f"there is no active agent {name!r} in space {space!r}"
    return f"the agent {name!r} is privileged" if found == Agent.Trust.PRIVILEGED else ""


def _request_problem(request: Request) -> str:
    meta = request.META
    if not _is_loopback(str(meta.get("REMOTE_ADDR", ""))):
        return "the caller is not on this machine"
    if request.get_host().lower().rpartition(":")[0] not in _NAMES and request.get_host().lower() not in _NAMES:
        return "the Host is not a loopback name"
    for name in meta:
        if name.startswith(_BROWSER):
            return "a browser sent it"
        if name.startswith(_PROXY):
            return "a proxy sent it"
    kind = meta.get("CONTENT_TYPE") or ""
    if kind and kind.partition(";")[0].strip().lower() != "application/json":
        return "its content type is not application/json"
    return ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def lower_claim(caller: Principal, item: Any) -> str | None:
    """Lower the claimed provenance of a caller without a token to its maximum. Returns the claim if it was lowered."""
    if caller.token is not None or caller.kind != "agent" or not isinstance(item, dict):
        return None
    claimed = item.get("provenance")
    if not isinstance(claimed, str) or claimed not in origins.CLAIMABLE:
        return None
    if origins.RANK[claimed] >= origins.RANK[caller.ceiling]:
        return None
    item["provenance"] = caller.ceiling
    return claimed


def with_lowered_claim(answer: dict[str, Any], claimed: str | None) -> dict[str, Any]:
    """The answer to a store, with the claim that was lowered."""
    return {**answer, "provenance_claimed": claimed} if claimed is not None else answer


def loopback_warnings() -> list[str]:
    """Warnings for operators while the key is set."""
    named = config.current().REST_OPEN_TO_LOOPBACK
    if not named:
        return []
    why_not = setting_problem(named)
    if why_not:
        return [f"REST_OPEN_TO_LOOPBACK is set and not in effect: {why_not}"]
    return [f"REST is open without a token to every program on this machine, as agent {named} (REST_OPEN_TO_LOOPBACK)"]
