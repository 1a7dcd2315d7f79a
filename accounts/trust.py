"""How far an agent may ever be let, whatever it holds or is granted."""

from __future__ import annotations

from accounts.capabilities import OPERATIONS, split, sufficient_operations
from accounts.models import Agent
from fluxcore.errors import AboveTrust, Invalid

LEVELS: tuple[str, ...] = tuple(Agent.Trust.values)  # low to high

_UNTRUSTED = frozenset({"grains.read", "memory.read", "bb.read", "artifacts.read", "transcript.read", "health.read"})
# Writes that touch nobody else's memory, or that a person looks at before they count.
_SANDBOXED = _UNTRUSTED | {"memory.write", "grains.feedback", "artifacts.propose", "transcript.write"}
_TRUSTED = _SANDBOXED | {"grains.write", "bb.write", "artifacts.write", "snapshots.read", "metrics.read"}
REACH: dict[str, frozenset[str]] = {
    "untrusted": _UNTRUSTED,
    "sandboxed": _SANDBOXED,
    "trusted": _TRUSTED,
    "privileged": OPERATIONS,
}
# The same as sets of capabilities, for `capabilities.parsed`.
# Another agent's memory is further away than one's own.
OTHERS: dict[str, frozenset[str]] = {
    "untrusted": frozenset(),
    "sandboxed": frozenset(),
    "trusted": frozenset({"memory.read@*"}),
    "privileged": frozenset({"memory.read@*", "memory.write@*"}),
}
LAYERS: dict[str, tuple[str, ...]] = {level: tuple(sorted(reach | OTHERS[level])) for level, reach in REACH.items()}
# The most that a caller without a token does, whatever its agent holds: a sandboxed agent that may store.
WITHOUT_TOKEN: tuple[str, ...] = tuple(sorted(_SANDBOXED | {"grains.write"}))


def check_level(trust: object) -> str:
    if trust not in LEVELS:
        raise Invalid(f"Unknown trust level. Allowed: {', '.join(LEVELS)}.", field="trust")
    return str(trust)


def needed(capability: str) -> str:
    """The lowest level that reaches a capability."""
    operation, _ = split(capability)
    return next(level for level in LEVELS if reaches(level, operation))


def reaches(level: str, operation: str) -> bool:
    """Whether a level lets an operation through at all."""
    return any(one in REACH[level] or one in OTHERS[level] for one in sufficient_operations(operation))


def check(trust: str, capabilities: list[str]) -> None:
    """Refuse what lies above the level, naming the level it would take."""
    for capability in capabilities:
        if not reaches(trust, split(capability)[0]):
            raise AboveTrust(
                f"{capability} needs the trust level {needed(capability)}; this agent has {trust}. "
                "Raise its trust level first.",
                capability=capability,
                trust=trust,
                needed=needed(capability),
            )
