"""Keys of config.yaml about learning: votes, weights of conduits, reminders and quarantine."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class LearningKeys:
    """Keys of votes, reminders and quarantine."""

    LEARNING_RATE: float = key(0.05, "step towards the ceiling for a useful path", low=0, high=1, hot=True)
    DECAY_FACTOR: float = key(0.85, "factor on a weight after a full negative vote", low=0, high=1, hot=True)
    WEIGHT_CEILING: float = key(0.95, "highest weight of a conduit", low=0, high=1, hot=True)
    WEIGHT_FLOOR: float = key(0.05, "lowest weight of a conduit that is kept", low=0, high=1, hot=True)
    INITIAL_ENTRY_WEIGHT: float = key(0.5, "weight of a new entry conduit", low=0, high=1, hot=True)
    INITIAL_SHORTCUT_WEIGHT: float = key(0.5, "weight of a new shortcut", low=0, high=1, hot=True)
    INITIAL_WEIGHT_SCALE: float = key(
        0.5, "weight of a new link to a similar grain, per cosine", low=0, high=1, hot=True
    )
    SHORTCUT_THRESHOLD: int = key(
        3, "useful recalls of two grains together that form a shortcut", low=1, high=1000, hot=True
    )
    MAX_EDGES_PER_GRAIN: int = key(
        50, "conduits of a grain above which it gets no new shortcut", low=1, high=10_000, hot=True
    )
    FEEDBACK_ENFORCEMENT_ENABLED: bool = key(True, "remind agents that leave recalls unrated", hot=True)
    FEEDBACK_ENFORCEMENT_GRACE_SECONDS: float = key(60.0, "seconds before a reminder", low=0, high=1e6, hot=True)
    FEEDBACK_ENFORCEMENT_MAX_BLOCK_SECONDS: float = key(
        86_400.0, "seconds after which an unrated recall no longer blocks an agent", low=0, high=1e7, hot=True
    )
    USEFULNESS_WINDOW_DAYS: float = key(
        7.0, "days of votes that determine how fast a grain's paths learn", low=1, high=3650, hot=True
    )
    QUARANTINE_USEFULNESS_THRESHOLD: float = key(
        0.2, "usefulness below which a grain is quarantined", low=0, high=1, hot=True
    )
    QUARANTINE_MIN_RETRIEVALS: int = key(
        10, "rated recalls before a grain can be quarantined", low=1, high=100_000, hot=True
    )
    QUARANTINE_CORRECTION_COUNT: int = key(3, "corrections that quarantine a grain at once", low=1, high=1000, hot=True)
    QUARANTINE_PERIOD_DAYS: float = key(
        30.0, "days in quarantine before a grain is archived", low=0, high=3650, hot=True
    )
    CORRECTION_DETECTION_TURNS: int = key(
        3, "latest recalls that a new text or question can correct", low=1, high=100, hot=True
    )
    IMPLIED_VOTES_ENABLED: bool = key(True, "count a rephrased question or a correction as a weak vote", hot=True)
    IMPLIED_VOTE_STRENGTH: float = key(0.2, "strength of an implied vote", low=0.1, high=1, hot=True)
    DEDUP_SIMILARITY_THRESHOLD: float = key(
        0.90, "cosine from which grains are counted as near duplicates in the job log", low=0, high=2, hot=True
    )
    EPISTEMIC_CHECK_SIMILARITY: float = key(
        0.82, "cosine from which a text may correct a recalled one", low=0, high=1, hot=True
    )
