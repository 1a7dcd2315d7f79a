"""flux_health and flux_onboard: health of the memory, and instructions for its use."""

from __future__ import annotations

from typing import Any

from accounts.origins import AUTHORITY
from accounts.principals import Principal
from mcp_bridge import onboarding, schemas
from mcp_bridge.registry import Tool
from mcp_bridge.schemas import gives, many, one_of, text, whole, yes_or_no


def _health(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    from memory.health import instance_health

    full = instance_health.health(principal)
    found = {
        "status": full["status"],
        "version": full["version"],
        "mode": full["mode"],
        "encoder": full["encoder"]["state"],
        "waiting_jobs": full["queue"]["jobs"]["queued"],
        "warnings": [
            *full["warnings"],
            *(
                f"{warning['severity']}: {warning['signal']}. {warning['suggestion']}"
                for warning in full["active_warnings"]
            ),
        ],
    }
    return {**found, "signals": full["signals"], "computed_at": full["computed_at"]} if given.get("explain") else found


HEALTH = Tool(
    "flux_health",
    "Health of the memory",
    "Health of the memory, with warnings to pass on to its administrators. With explain, every signal and its healthy "
    "range.",
    _health,
    takes={"explain": yes_or_no("Include all signals with their values.")},
    gives=gives(
        ("status", "warnings"),
        status=text("healthy, warning or critical."),
        version=text(),
        mode=text(),
        encoder=text("ready, not loaded, off or broken."),
        waiting_jobs=whole(),
        warnings=many(text()),
        signals=schemas.anything("By name: value, range and state."),
        computed_at=text(type=["string", "null"]),
    ),
    needs=("health.read",),
    reads=True,
    repeats=True,
)


def _onboard(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    return onboarding.onboarding(principal)


ONBOARD = Tool(
    "flux_onboard",
    "How to use this memory",
    "Read this once when you start: how to work with this memory, which mode it is in and what you may do here.",
    _onboard,
    gives=gives(
        ("instructions", "operating_mode", "server_name"),
        instructions=text(),
        operating_mode=text(),
        server_name=text(),
        agent=text("Your name here."),
        tools=many(text()),
        provenance_ceiling=one_of(AUTHORITY, "The highest provenance you may claim."),
    ),
    needs=("self.read",),
    reads=True,
    repeats=True,
)
