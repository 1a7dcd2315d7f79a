"""Postings: what was there at the build and what came since answer as one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from memory.engine.index.postings import Postings

HIGHEST = 2**64 - 1  # a key uses all of its bits: as a signed or a floating number it would be another one


def made_rows(count: int, *, seed: int = 7, words: int = 60) -> list[Counter[int]]:
    chance = np.random.default_rng(seed)
    keys = chance.integers(1, HIGHEST, words, dtype=np.uint64, endpoint=True).tolist()
    return [Counter(keys[int(at)] for at in chance.zipf(1.4, 12) % words) for _ in range(count)]


def built(rows: list[Counter[int]], base: int) -> Postings:
    """The first `base` rows at the build, the others one by one."""
    postings = Postings.build(rows[:base])
    for row, terms in enumerate(rows[base:], base):
        postings.add(row, terms)
    return postings


@pytest.mark.parametrize("base", [0, 1, 150, 300])
def test_a_term_leads_to_its_rows_in_order_wherever_they_came_from(base):
    rows = made_rows(300)
    postings = built(rows, base)
    for key in {key for terms in rows for key in terms}:
        found, counts = postings.of(key)
        expected = [row for row, terms in enumerate(rows) if key in terms]
        assert found.tolist() == expected
        assert counts.tolist() == [rows[row][key] for row in expected]
        assert found.dtype == np.int32 and counts.dtype == np.uint8


def test_an_unknown_term_has_no_rows():
    for postings in (Postings.build([]), built(made_rows(20), 10)):
        assert [len(part) for part in postings.of(12345)] == [0, 0]
        assert postings.spans(np.array([12345], np.uint64)).frequency.tolist() == [0]


def test_keys_that_differ_in_their_last_bit_only_are_kept_apart():
    postings = Postings.build([{HIGHEST: 1}, {HIGHEST - 1: 1}])
    assert postings.of(HIGHEST)[0].tolist() == [0]
    assert postings.of(HIGHEST - 1)[0].tolist() == [1]
    assert postings.spans(np.array([HIGHEST, HIGHEST - 2], np.uint64)).frequency.tolist() == [1, 0]


@pytest.mark.parametrize("base", [0, 200, 300])
def test_frequencies_and_counts_are_those_of_a_plain_count(base):
    rows = made_rows(300, seed=9)
    postings = built(rows, base)
    keys = np.array([*{key for terms in rows for key in terms}, 5], np.uint64)
    spans = postings.spans(keys)
    assert spans.frequency.tolist() == [sum(key in terms for terms in rows) for key in keys.tolist()]
    assert postings.most(spans).tolist() == [max(terms[key] for terms in rows) for key in keys.tolist()]
    wanted = np.random.default_rng(1).permutation(300)[:90]
    expected = [[rows[row][key] for row in wanted.tolist()] for key in keys.tolist()]
    assert postings.counts_of(spans, wanted).tolist() == expected


def test_a_row_that_is_stored_again_does_not_count_twice():
    rows = made_rows(40)
    postings = built(rows, 20)
    for row in (3, 19, 20, 39):
        postings.add(row, rows[row])
    key = next(iter(rows[39]))
    assert postings.of(key)[0].tolist() == [row for row, terms in enumerate(rows) if key in terms]


def test_a_row_without_any_term_is_a_row():
    postings = Postings.build([{}, {8: 1}])
    postings.add(2, {})
    postings.add(3, {8: 2})
    assert postings.size == 4
    assert postings.of(8)[0].tolist() == [1, 3]


def test_a_count_stops_at_the_most_a_byte_can_say():
    postings = Postings.build([{8: 1000}])
    postings.add(1, {8: 256})
    assert postings.of(8)[1].tolist() == [255, 255]


@pytest.mark.parametrize("base", [0, 1, 170, 300])
def test_merged_arrays_are_those_of_a_build_from_nothing(base):
    rows = made_rows(300, seed=3)
    arrays, whole = built(rows, base).arrays(), Postings.build(rows).arrays()
    for name in ("keys", "starts", "rows", "counts"):
        assert arrays[name].dtype == whole[name].dtype
        assert np.array_equal(arrays[name], whole[name])
    back = Postings.from_arrays(arrays, 300)
    back.add(300, {77: 1})
    assert back.of(77)[0].tolist() == [300] and back.size == 301


def test_a_reader_keeps_what_it_was_given_while_rows_are_added():
    postings = built(made_rows(30), 0)
    postings.add(30, {77: 1})
    found, _ = postings.of(77)
    postings.add(31, {77: 1})
    assert found.tolist() == [30]
    assert postings.of(77)[0].tolist() == [30, 31]


@pytest.mark.parametrize("base", [0, 1, 299, 300])
def test_who_may_hold_a_term_is_told_exactly_for_the_base_and_never_denied_for_the_delta(base):
    rows = made_rows(300)
    postings = built(rows, base)
    keys = sorted({key for terms in rows for key in terms})
    spans, wanted = postings.spans(np.array(keys, np.uint64)), np.arange(300)[::-1]
    for place, key in enumerate(keys):
        holds = [key in rows[row] for row in wanted.tolist()]
        assert postings.may_hold(spans, place, wanted).tolist() == [
            held or row >= base for held, row in zip(holds, wanted.tolist(), strict=True)
        ]
        assert postings.counts_in(spans, place, wanted).tolist() == [rows[row][key] for row in wanted.tolist()]
