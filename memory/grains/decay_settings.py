"""Settings of link decay, read from config.yaml."""

from __future__ import annotations

from fluxcore import config
from memory.engine.graph.decay import DecaySettings


def current() -> DecaySettings:
    """The present half-lives, limited to the ranges of the engine."""
    here = config.current()
    return DecaySettings(
        working=min(here.HALF_LIFE_WORKING_HOURS, 100_000.0),
        core=min(here.HALF_LIFE_CORE_HOURS, 100_000.0),
        ephemeral=min(here.HALF_LIFE_EPHEMERAL_HOURS, 100_000.0),
        grace=min(here.NEW_CONDUIT_GRACE_HOURS, 10_000.0),
        grace_factor=min(here.NEW_CONDUIT_GRACE_MULTIPLIER, 10.0),
        grace_floor=here.NEW_CONDUIT_MIN_WEIGHT,
    )
