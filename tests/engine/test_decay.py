"""A conduit fades with the time since it was used, and with nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memory.engine.graph.decay import DecaySettings, effective_weight

HOUR, NOW = 3600, 1_760_000_000
WORKING, CORE, EPHEMERAL = 0, 1, 2


def weight_after(
    weight: float, *, idle: float, age: float = 10_000, kind: int = WORKING, fading: DecaySettings | None = None
) -> float:
    """The effective weight of one conduit, times in hours."""
    return float(
        effective_weight(
            np.array([weight], np.float32),
            used=np.array([NOW - int(idle * HOUR)]),
            made=np.array([NOW - int(age * HOUR)]),
            decay_class=np.array([kind], np.uint8),
            now=NOW,
            fading=fading or DecaySettings(),
        )[0]
    )


@pytest.mark.parametrize(("kind", "half_life"), [(WORKING, 168), (CORE, 720), (EPHEMERAL, 48)])
def test_a_half_life_halves(kind: int, half_life: float) -> None:
    assert weight_after(0.8, idle=half_life, kind=kind) == pytest.approx(0.4, rel=1e-5)
    assert weight_after(0.8, idle=3 * half_life, kind=kind) == pytest.approx(0.1, rel=1e-5)


def test_a_conduit_used_now_has_its_whole_weight() -> None:
    assert weight_after(0.7, idle=0) == pytest.approx(0.7)


def test_a_young_conduit_fades_half_as_fast_and_stays_above_the_floor() -> None:
    assert weight_after(0.8, idle=71.9, age=71.9) == pytest.approx(0.8 * 0.5 ** (71.9 / 336), rel=1e-5)
    assert weight_after(0.8, idle=72, age=72) == pytest.approx(0.8 * 0.5 ** (72 / 168), rel=1e-5)
    assert weight_after(0.11, idle=71, age=71, kind=EPHEMERAL) == pytest.approx(0.10)


def test_the_floor_lifts_nothing_above_its_weight() -> None:
    assert weight_after(0.04, idle=50, age=50) == pytest.approx(0.04)


def test_a_time_in_the_future_counts_as_now() -> None:
    assert weight_after(0.6, idle=-500) == pytest.approx(0.6)
    assert weight_after(0.6, idle=-500, age=-500) == pytest.approx(0.6)


def test_nothing_is_ever_undefined_negative_or_above_its_weight() -> None:
    random = np.random.default_rng(3)
    limits = np.iinfo(np.int64)
    times = np.concatenate((random.integers(-(10**10), 10**10, 500), [limits.min, limits.max, 0]))
    weight = random.uniform(0, 1, len(times)).astype(np.float32)
    weight[:3] = np.nan, np.inf, -np.inf
    with np.errstate(all="raise", under="ignore"):
        found = effective_weight(
            weight, used=times, made=times[::-1], decay_class=random.integers(0, 7, len(times)), now=NOW
        )
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found[3:] <= weight[3:]).all()
    assert (found[:3] == 0).all()


def test_many_are_read_as_one_by_one() -> None:
    random = np.random.default_rng(4)
    weight = random.uniform(0, 1, 200)
    idle, age, kind = random.uniform(0, 900, 200), random.uniform(0, 200, 200), random.integers(0, 3, 200)
    together = effective_weight(
        weight.astype(np.float32),
        used=NOW - (idle * HOUR).astype(np.int64),
        made=NOW - (age * HOUR).astype(np.int64),
        decay_class=kind,
        now=NOW,
    )
    for place in range(200):
        half_life = (168, 720, 48)[kind[place]] * (2 if age[place] < 72 else 1)
        expected = weight[place] * 0.5 ** (idle[place] / half_life)
        if age[place] < 72:
            expected = min(weight[place], max(expected, 0.10))
        assert together[place] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("wrong", [{"working": 0}, {"grace": -1}, {"grace_floor": 1.1}, {"grace_factor": 0.5}])
def test_settings_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="between"):
        DecaySettings(**wrong)
