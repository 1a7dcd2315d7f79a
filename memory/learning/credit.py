"""Credit: effect of a vote on a conduit, as whole numbers that add up in any order and can be subtracted exactly.

A useful vote takes a step towards 1, a harmful one keeps a share. Both are products, so their logarithms are sums:

    gain += -ln(1 - rate · credit)              rate  = LEARNING_RATE, for a word that failed INITIAL_ENTRY_WEIGHT
    loss += -ln(1 - (1 - keeps) · credit)       keeps = DECAY_FACTOR
    weight = (1 - (1 - base) · e^-gain) · e^-loss, at most WEIGHT_CEILING
    affinity = base e^(1.86 gain - 1.37 loss), between .1 and 2, of a conduit from an entry

One full useful vote is exactly w + rate (1 - w), one full harmful one exactly w · keeps. Sums are kept in units of
2^-32, because whole numbers have no order to depend on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

UNIT = 1 << 32
# A full useful vote makes the affinity a tenth larger, a full harmful one a fifth smaller.
_FITS, _UNFIT = math.log(1.1) / -math.log(1 - 0.05), math.log(0.8) / math.log(0.85)
LEAST_AFFINITY, MOST_AFFINITY = 0.1, 2.0
# Least credit of a path, whatever other signals contributed.
_LED = 0.5


@dataclass(frozen=True)
class ConduitCredit:
    """Effect of one vote on one conduit, as sums of logarithms."""

    gain: int = 0
    loss: int = 0

    def __add__(self, other: ConduitCredit) -> ConduitCredit:
        return ConduitCredit(self.gain + other.gain, self.loss + other.loss)


def credit_useful(rate: float, credit: float) -> ConduitCredit:
    return ConduitCredit(gain=_sum(rate * credit))


def credit_harmful(keeps: float, credit: float) -> ConduitCredit:
    return ConduitCredit(loss=_sum((1 - keeps) * credit))


def _sum(share: float) -> int:
    return round(-math.log1p(-min(max(share, 0.0), 0.99)) * UNIT)


def credited_weight(base: float, gain: int, loss: int, ceiling: float) -> float:
    """Weight after votes; exactly the base without votes, whatever the present ceiling."""
    if not gain and not loss:
        return base
    return min((1 - (1 - base) * math.exp(-gain / UNIT)) * math.exp(-loss / UNIT), max(ceiling, base))


def credited_affinity(gain: int, loss: int, base: float = 1.0) -> float:
    """Affinity after votes; exactly the base without votes."""
    if not gain and not loss:
        return base
    power = (_FITS * gain - _UNFIT * loss) / UNIT + math.log(max(base, LEAST_AFFINITY))
    return math.exp(min(max(power, math.log(LEAST_AFFINITY)), math.log(MOST_AFFINITY)))


def path_credit(parts: dict[str, float]) -> float:
    """Credit of a path: the larger the part of the score that came from links, the more."""
    brought = sum(part for part in parts.values() if part > 0)
    share = max(parts.get("links", 0.0), 0.0) / brought if brought else 0.0
    return _LED + (1 - _LED) * share
