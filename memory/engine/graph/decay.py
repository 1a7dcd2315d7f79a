"""Decay of conduit weights, computed when a conduit is read; stored weights do not change with time.

    effective = weight · 0.5 ^ (hours since used ÷ half-life)

The half-life depends on the decay class. Within `grace` hours of its creation a conduit is young: its half-life is
`grace_factor` times as long and the result at least `grace_floor`, so that it has time to be used. The result is
never above the weight.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HOUR = 3600.0


@dataclass(frozen=True)
class DecaySettings:
    """Half-lives by decay class (working 0, core 1, ephemeral 2) and the grace period; all times in hours."""

    # 1..100,000. Half-life of a working link: a week without use halves it.
    working: float = 168.0
    # 1..100,000. Half-life of a core link: a month.
    core: float = 720.0
    # 1..100,000. Half-life of an ephemeral link: two days.
    ephemeral: float = 48.0
    # 0..10,000. How long after it was made a link is young.
    grace: float = 72.0
    # 1..10. How many times longer the half-life of a young link is.
    grace_factor: float = 2.0
    # 0..1. What a young link never falls below, unless its weight is lower.
    grace_floor: float = 0.10

    @functools.cached_property
    def rates(self) -> NDArray[np.float64]:
        """Exponent of e per second without use, by decay class; an unknown class decays like a working one."""
        rates = np.full(256, 1 / self.working)
        rates[1:3] = 1 / self.core, 1 / self.ephemeral
        rates *= -np.log(2.0) / HOUR
        return rates

    @functools.cached_property
    def rates_of_kinds(self) -> NDArray[np.float64]:
        """`rates` by the kind byte of a conduit, whose upper four bits are the decay class."""
        return np.repeat(self.rates[:16], 16)

    def __post_init__(self) -> None:
        for name, low, high in (
            ("working", 1, 100_000),
            ("core", 1, 100_000),
            ("ephemeral", 1, 100_000),
            ("grace", 0, 10_000),
            ("grace_factor", 1, 10),
            ("grace_floor", 0, 1),
        ):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be between {low} and {high}")


def effective_weight(
    weight: NDArray[np.float32],
    *,
    used: NDArray[np.integer],
    made: NDArray[np.integer],
    decay_class: NDArray[np.integer],
    now: int,
    fading: DecaySettings = DecaySettings(),  # noqa: B008 - frozen
) -> NDArray[np.float32]:
    """Decayed weights at `now`. Times are seconds since 1970; one in the future counts as now."""
    finite = np.isfinite(weight)
    if not np.logical_and.reduce(finite):
        weight = np.where(finite, weight, np.float32(0))
    young = made > now - fading.grace * HOUR
    rate = fading.rates[decay_class]
    return decay_weight(weight, used, rate, young if np.logical_or.reduce(young) else None, now, fading)


def decay_weight(
    weight: NDArray[np.float32],
    used: NDArray[np.integer],
    rate: NDArray[np.float64],
    young: NDArray[np.bool_] | None,
    now: int,
    fading: DecaySettings,
) -> NDArray[np.float32]:
    """Decayed weights from exponents per second (`rate`) and the mask of young ones (None: no young ones).

    Weights must be finite.
    """
    exponent: NDArray[np.float64] = np.subtract(now, used, dtype=np.float64)
    np.maximum(exponent, 0.0, out=exponent)
    exponent *= rate
    if young is not None:
        exponent[young] /= fading.grace_factor
    # exp of float32 is several times faster than exp2.
    decayed: NDArray[np.float32] = np.exp(exponent.astype(np.float32))
    decayed *= weight
    if young is not None:
        decayed[young] = np.maximum(decayed[young], np.float32(fading.grace_floor))
    return np.minimum(weight, decayed, out=decayed)
