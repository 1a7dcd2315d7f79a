"""Trust levels: the most an agent may do, whatever its capabilities and grants."""

from __future__ import annotations

from accounts.capabilities import OPERATIONS, split, sufficient_operations
from accounts.models import Agent
from fluxcore.errors import AboveTrust, Invalid

LEVELS: tuple[str, ...] = tuple(Agent.Trust.values)  # low to high

_UNTRUSTED = frozenset({"grains.read", "memory.read", "bb.read", "artifacts.read", "transcript.read", "health.read"})
# Writes that do not affect other agents' memory, or that a person reviews first.
_SANDBOXED = _UNTRUSTED | {"memory.write", "grains.feedback", "artifacts.propose", "transcript.write"}
_TRUSTED = _SANDBOXED | {"grains.write", "bb.write", "artifacts.write", "snapshots.read", "metrics.read"}
REACH: dict[str, frozenset[str]] = {
    "untrusted": _UNTRUSTED,
    "sandboxed": _SANDBOXED,
    "trusted": _TRUSTED,
    "privileged": OPERATIONS,
}
# Capabilities of each level on other agents' memory, which are fewer than those on the own memory.
OTHERS: dict[str, frozenset[str]] = {
    "untrusted": frozenset(),
    "sandboxed": frozenset(),
    "trusted": frozenset({"memory.read@*"}),
    "privileged": frozenset({"memory.read@*", "memory.write@*"}),
}
# All capabilities of each level, for `capabilities.parsed`.
LAYERS: dict[str, tuple[str, ...]] = {level: tuple(sorted(reach | OTHERS[level])) for level, reach in REACH.items()}
# The most that a caller without a token does, whatever its agent holds: a sandboxed agent that may store.
WITHOUT_TOKEN: tuple[str, ...] = tuple(sorted(_SANDBOXED | {"grains.write"}))


def check_level(trust: object) -> str:
    if trust not in LEVELS:
        raise Invalid(f"Unknown trust level. Allowed: {', '.join(LEVELS)}.", field="trust")
    return str(trust)


def needed(capability: str) -> str:
    """The lowest trust level that allows a capability."""
    operation, _ = split(capability)
    return next(level for level in LEVELS if reaches(level, operation))


def reaches(level: str, operation: str) -> bool:
    """Whether a trust level allows an operation for any names."""
    return any(name in REACH[level] or name in OTHERS[level] for name in sufficient_operations(operation))


def check(trust: str, capabilities: list[str]) -> None:
    """Refuse capabilities above the trust level, with the level that is needed."""
    for capability in capabilities:
        if not reaches(trust, split(capability)[0]):
            raise AboveTrust(
                f"{capability} needs the trust level {needed(capability)}; this agent has {trust}. "
                "Raise its trust level first.",
                capability=capability,
                trust=trust,
                needed=needed(capability),
            )
