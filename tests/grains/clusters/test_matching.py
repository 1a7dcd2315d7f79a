"""Which cluster is which: ids stay by overlap, and touches go where the members went."""

from __future__ import annotations

import numpy as np
import pytest

from memory.clusters.matching import match


def matched(old, new):
    return match(np.array(old, np.int64), np.array(new, np.int64), least=0.3, dissolved=0.5)


def test_what_stays_keeps_its_id_and_nothing_moves():
    found = matched([7, 7, 7, 9, 9, 9], [1, 1, 1, 0, 0, 0])
    assert found.keeps == {1: 7, 0: 9}
    assert (found.moves, found.gone) == ({}, [])


def test_a_split_goes_by_share_of_members():
    found = matched([7] * 10, [0] * 7 + [1] * 3)
    assert found.keeps == {0: 7}
    assert found.moves == {7: [(0, 0.7), (1, pytest.approx(0.3))]}
    assert found.gone == []


def test_a_merge_keeps_the_id_of_the_larger_and_the_touches_of_both():
    found = matched([7] * 6 + [9] * 4, [0] * 10)
    assert found.keeps == {0: 7}
    assert found.moves == {9: [(0, 1.0)]}
    assert found.gone == [9]


def test_what_is_scattered_has_dissolved_and_half_of_its_touches_stay():
    old = [1] * 20 + [2] * 20 + [3] * 20 + [9] * 6
    new = [0] * 20 + [1] * 20 + [2] * 20 + [0, 0, 1, 1, 2, 2]
    found = matched(old, new)
    assert found.keeps == {0: 1, 1: 2, 2: 3}
    assert found.moves == {9: [(label, pytest.approx(1 / 6)) for label in (0, 1, 2)]}
    assert found.gone == [9]


def test_what_belongs_nowhere_any_more_leaves_nothing():
    found = matched([9, 9, 9], [-1, -1, -1])
    assert (found.keeps, found.moves, found.gone) == ({}, {9: []}, [9])


def test_too_little_overlap_is_another_cluster():
    found = matched([7, 7, 7, 7, -1, -1, -1, -1, -1, -1], [0, -1, -1, -1, 0, 0, 0, 0, 0, 0])
    assert found.keeps == {}
    assert found.gone == [7]


def test_a_few_that_drift_away_take_no_touches_along():
    found = matched([7] * 40 + [9] * 40, [0] * 39 + [1] * 41)
    assert found.keeps == {0: 7, 1: 9}
    assert found.moves == {}


def test_of_two_equal_ones_the_older_stays():
    assert matched([7, 7, 7, 4, 4, 4], [0] * 6).keeps == {0: 4}


def test_the_first_time_everything_is_new():
    assert matched([-1, -1], [0, 0]).keeps == {}
    assert matched([], []).keeps == {}
