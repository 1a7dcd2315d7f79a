"""Keys of config.yaml about recall: propagation, expansion and context shifts."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class RecallKeys:
    """How signals travel, what is offered beside an answer, and what a context shift is."""

    ATTENUATION: float = key(0.85, "signal kept per hop", low=0, high=1, hot=True)
    ACTIVATION_THRESHOLD: float = key(
        0.15, "share of the strongest find that a find needs to send a signal", low=0, high=1, hot=True
    )
    MAX_HOPS: int = key(
        5, "conduits in a row; above 1 counts as 1, as the ranking was fitted", low=0, high=10, hot=True
    )
    TOP_K: int = key(5, "grains returned when the caller does not say", low=1, high=100, hot=True)
    EXPANSION_ENABLED: bool = key(True, "offer neighbours when confidence is low", hot=True)
    EXPANSION_CONFIDENCE_THRESHOLD: float = key(
        0.4, "confidence below which neighbours are offered", low=0, high=1, hot=True
    )
    EXPANSION_CANDIDATES_PER_CLUSTER: int = key(2, "neighbours taken from one cluster", low=0, high=100, hot=True)
    EXPANSION_MAX_CANDIDATES: int = key(3, "neighbours offered at most", low=0, high=100, hot=True)
    CONTEXT_SHIFT_ENABLED: bool = key(True, "notice that an agent has moved to another subject", hot=True)
    CONTEXT_SHIFT_WINDOW: int = key(
        30, "judged recalls that are compared, later half with earlier", low=2, high=10_000, hot=True
    )
    CONTEXT_SHIFT_DROP_THRESHOLD: float = key(
        0.25, "drop of usefulness that counts as a context shift", low=0, high=1, hot=True
    )
    CONTEXT_SHIFT_RECOVERY_RETRIEVALS: int = key(50, "recalls a context shift lasts", low=1, high=100_000, hot=True)
    EXPLORATION_BOOST: float = key(1.5, "factor on what is offered during a context shift", low=1, high=10, hot=True)
