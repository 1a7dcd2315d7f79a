"""Keys of config.yaml that are checked but not used yet. Setting one gives a warning."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key

TRUTH = "comparing what memories state"
CONSOLIDATION = "consolidation"


@dataclass(frozen=True)
class LaterKeys:
    """Keys of comparing memories and of consolidation."""

    EPISTEMIC_CHECK_ENABLED: bool = key(True, "compare the truth of near-equal texts", hot=True, comes_with=TRUTH)
    CONTRADICTION_CONFIDENCE_PENALTY: float = key(
        0.5, "confidence kept when contradicted", low=0, high=1, hot=True, comes_with=TRUTH
    )
    SUPERSEDED_CONFIDENCE_PENALTY: float = key(
        0.4, "confidence kept when superseded", low=0, high=1, hot=True, comes_with=TRUTH
    )
    CONFIRMATION_CONFIDENCE_BOOST: float = key(
        1.15, "confidence factor when confirmed", low=1, high=10, hot=True, comes_with=TRUTH
    )
    AI_INFERRED_CONFIDENCE_HALFLIFE_DAYS: float = key(
        30.0,
        "days in which an unconfirmed inference loses half its bonus",
        low=0.1,
        high=3650,
        hot=True,
        comes_with=TRUTH,
    )
    CONFIDENCE_RETRIEVAL_WEIGHT: float = key(
        0.5, "how much confidence counts in recall", low=0, high=1, hot=True, comes_with=TRUTH
    )
    DREAM_ENABLED: bool = key(True, "consolidate related grains", hot=True, comes_with=CONSOLIDATION)
    DREAM_INTERVAL_HOURS: float = key(
        24.0, "hours between consolidations", low=0.1, high=8760, hot=True, comes_with=CONSOLIDATION
    )
    DREAM_MIN_CLUSTER: int = key(
        6, "fewest grains worth consolidating", low=2, high=1000, hot=True, comes_with=CONSOLIDATION
    )
    DREAM_MAX_CLUSTER: int = key(
        25, "most grains consolidated into one", low=2, high=1000, hot=True, comes_with=CONSOLIDATION
    )
    DREAM_SIMILARITY: float = key(
        0.75, "cosine that makes grains related", low=0, high=1, hot=True, comes_with=CONSOLIDATION
    )
    DREAM_CENTROID_MIN: float = key(
        0.78, "cosine of the result to their middle", low=0, high=1, hot=True, comes_with=CONSOLIDATION
    )
    DREAM_MAX_PER_CYCLE: int = key(3, "consolidations at a time", low=0, high=1000, hot=True, comes_with=CONSOLIDATION)
    DREAM_MIN_GRAIN_AGE_HOURS: float = key(
        24.0,
        "hours of age below which grains are not consolidated",
        low=0,
        high=1e5,
        hot=True,
        comes_with=CONSOLIDATION,
    )
