"""From readings to warnings: raised after some, raised again, worse, cleared after some"""

from __future__ import annotations

from memory.health.signals import CRITICAL, INFO, SIGNALS_BY_NAME, WARNING, ReadingState, SignalReading
from memory.health.warning_rules import (
    CLEARED,
    ONGOING,
    QUIET,
    RAISED,
    RERAISED,
    SignalStatus,
    next_status,
    overall_status,
)

SIGNAL = SIGNALS_BY_NAME["orphan_rate"]


def play(readings: str) -> list[str]:
    """`b`ad, `c`ritically bad, `g`ood or `i`dle readings; what each of them means."""
    held, found = SignalStatus(), []
    for one in readings:
        state = {"g": ReadingState.HEALTHY, "i": ReadingState.IDLE}.get(one, ReadingState.HIGH)
        severity = CRITICAL if one == "c" else WARNING
        held, what = next_status(held, SignalReading(SIGNAL, 0.2, None, 0.15, state, severity))
        found.append(what)
    return found


def test_a_bad_reading_or_two_are_chance():
    assert play("bbgbbgb") == [QUIET] * 7


def test_the_third_in_a_row_raises_and_what_goes_on_is_not_news():
    assert play("bbbbb") == [QUIET, QUIET, RAISED, ONGOING, ONGOING]


def test_it_clears_after_four_good_ones_in_a_row_and_not_before():
    assert play("bbb" + "ggg" + "b" + "ggg")[3:] == [ONGOING] * 7
    assert play("bbb" + "gggg")[3:] == [ONGOING, ONGOING, ONGOING, CLEARED]
    assert play("bbb" + "iiii")[-1] == CLEARED


def test_what_comes_back_is_raised_again():
    assert play("bbb" + "gggg" + "bbb")[-3:] == [QUIET, QUIET, RERAISED]


def test_what_gets_worse_is_raised_again_and_stays_so_bad_until_it_clears():
    assert play("bbb" + "cb")[-2:] == [RERAISED, ONGOING]
    assert play("bcb")[-1] == RAISED


def test_it_is_kept_as_plain_values():
    held = SignalStatus(value=0.2, state="high", bad=2, times=1)
    assert SignalStatus.of({**held.kept(), "of a later release": 1}) == held


def test_a_space_is_as_ill_as_its_worst_warning_that_nobody_knows_of():
    assert overall_status([]) == overall_status([(INFO, False)]) == "healthy"
    assert overall_status([(INFO, False), (WARNING, False)]) == "warning"
    assert overall_status([(WARNING, False), (CRITICAL, False)]) == "critical"
    assert overall_status([(WARNING, False), (CRITICAL, True)]) == "warning"
