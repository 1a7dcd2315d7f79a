"""Keys of config.yaml about the lifecycle: decay, clusters, promotion, clean-up and retention."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class LifecycleKeys:
    """Keys of decay, clusters, promotion, clean-up and retention."""

    HALF_LIFE_CORE_HOURS: float = key(720.0, "half-life of core conduits, hours", low=1, high=1e6, hot=True)
    HALF_LIFE_WORKING_HOURS: float = key(168.0, "half-life of working conduits, hours", low=1, high=1e6, hot=True)
    HALF_LIFE_EPHEMERAL_HOURS: float = key(48.0, "half-life of ephemeral conduits, hours", low=1, high=1e6, hot=True)
    NEW_CONDUIT_GRACE_HOURS: float = key(72.0, "hours in which a new conduit decays slower", low=0, high=1e5, hot=True)
    NEW_CONDUIT_GRACE_MULTIPLIER: float = key(2.0, "half-life factor in the grace time", low=1, high=100, hot=True)
    NEW_CONDUIT_MIN_WEIGHT: float = key(0.10, "weight floor in the grace time", low=0, high=1, hot=True)
    DORMANCY_LIMIT_DAYS: float = key(30.0, "days dormant before a grain is archived", low=1, high=1e5, hot=True)
    DORMANCY_UNUSED_DAYS: float = key(
        90.0, "days in which no recall returned a grain before it may become dormant", low=1, high=1e5, hot=True
    )
    PROMOTION_THRESHOLD: int = key(3, "clusters a grain is useful through to become core", low=1, high=1000, hot=True)
    DEMOTION_UNUSED_DAYS: float = key(
        90.0, "days without a useful vote after which a core grain is a working one again", low=1, high=1e5, hot=True
    )
    CLUSTER_TOUCH_THRESHOLD: float = key(
        1.0, "use through a cluster from which it counts for promotion", low=0, high=1e6, hot=True
    )
    CLUSTER_MIN_SIZE: int = key(
        3, "grains below which a cluster is merged into a neighbour", low=1, high=1000, hot=True
    )
    CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS: float = key(
        7.0, "days between two computations of clusters if little has changed", low=0, high=3650, hot=True
    )
    CLUSTER_INHERIT_OVERLAP_MIN: float = key(
        0.30, "share of common grains from which a cluster keeps its name", low=0, high=1, hot=True
    )
    CLUSTER_DISSOLVE_DECAY: float = key(
        0.5, "share of use that is kept when a cluster dissolves", low=0, high=1, hot=True
    )
    ENTRY_COOCCURRENCE_THRESHOLD: int = key(
        10, "co-occurrences from which entries are linked", low=1, high=1e6, hot=True
    )
    LOUVAIN_RESOLUTION: float = key(
        1.0, "granularity of clusters; higher: more and smaller ones", low=0.01, high=100, hot=True
    )
    LOUVAIN_SEED: int = key(42, "random seed of clusters, so that they are repeatable", low=0, high=2**31, hot=True)
    CLEANUP_INTERVAL_HOURS: float = key(6.0, "hours between clean-ups", low=0.1, high=8760, hot=True)
    CLEANUP_STALE_HOURS: float = key(
        72.0, "hours without use before a weak conduit can be removed", low=1, high=1e5, hot=True
    )
    CLEANUP_BATCH_SIZE: int = key(1000, "conduits checked in one step", low=1, high=100_000, hot=True)
    CLOCK_JUMP_HOURS: float = key(
        72.0, "hours of a clock jump after which nothing is deleted for CLOCK_DOUBT_HOURS", low=1, high=8760, hot=True
    )
    CLOCK_DOUBT_HOURS: float = key(
        24.0, "hours of running after a clock jump in which nothing is deleted", low=0, high=8760, hot=True
    )
    TRACE_RETENTION_DAYS: float = key(30.0, "days a trace is kept", low=1, high=3650, hot=True)
    TRACE_RETENTION_COUNT: int = key(
        10_000, "newest traces of a space that are kept longer than an hour", low=0, high=10_000_000, hot=True
    )
    MAX_TRACE_BYTES_PER_HOUR: int = key(
        67_108_864,
        "bytes of traces of one agent in an hour; further traces keep only ids and scores",
        low=0,
        high=10**12,
        hot=True,
    )
    PURGE_UNDO_WINDOW_HOURS: float = key(
        24.0, "hours of running in which a deletion can be undone", low=0, high=8760, hot=True
    )
