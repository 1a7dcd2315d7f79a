"""Keys of config.yaml about recall: propagation, expansion and context shifts."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class RecallKeys:
    """Keys of propagation, expansion and context shifts."""

    ATTENUATION: float = key(0.85, "factor on a signal per link", low=0, high=1, hot=True)
    ACTIVATION_THRESHOLD: float = key(
        0.15, "share of the best result's score from which a result activates its links", low=0, high=1, hot=True
    )
    MAX_HOPS: int = key(5, "longest path of links that a signal follows; above 1 counts as 1", low=0, high=10, hot=True)
    TOP_K: int = key(5, "grains returned by default", low=1, high=100, hot=True)
    EXPANSION_ENABLED: bool = key(True, "offer further grains of the same clusters when confidence is low", hot=True)
    EXPANSION_CONFIDENCE_THRESHOLD: float = key(
        0.4, "confidence below which further grains are offered", low=0, high=1, hot=True
    )
    EXPANSION_CANDIDATES_PER_CLUSTER: int = key(2, "further grains offered from one cluster", low=0, high=100, hot=True)
    EXPANSION_MAX_CANDIDATES: int = key(3, "most further grains offered", low=0, high=100, hot=True)
    CONTEXT_SHIFT_ENABLED: bool = key(True, "detect that an agent has moved to another subject", hot=True)
    CONTEXT_SHIFT_WINDOW: int = key(
        30,
        "rated recalls compared to detect a context shift, later half with earlier half",
        low=2,
        high=10_000,
        hot=True,
    )
    CONTEXT_SHIFT_DROP_THRESHOLD: float = key(
        0.25, "drop of usefulness from which it is a context shift", low=0, high=1, hot=True
    )
    CONTEXT_SHIFT_RECOVERY_RETRIEVALS: int = key(50, "recalls a context shift lasts", low=1, high=100_000, hot=True)
    EXPLORATION_BOOST: float = key(
        1.5, "factor on EXPANSION_ numbers and threshold during a context shift", low=1, high=10, hot=True
    )
