"""Preconditions: a digest, a version or a value the caller expects to be stored."""

from __future__ import annotations

import pytest

from fluxcore.errors import Conflict, Invalid
from fluxcore.writes.preconditions import NONE, Precondition, from_headers

SHA = "ab" * 32


@pytest.mark.parametrize(
    "holds",
    [
        NONE,
        Precondition(expected_sha=SHA),
        Precondition(expected_version=3),
        Precondition(expected_value={"b": [1, 2], "a": None}),
        Precondition(expected_sha=SHA, expected_version=3, expected_value={"a": None, "b": [1, 2]}),
    ],
)
def test_a_matching_precondition_is_met(holds):
    holds.check(sha=SHA, version=3, value={"a": None, "b": [1, 2]})


@pytest.mark.parametrize(
    "fails",
    [
        Precondition(expected_sha=""),
        Precondition(expected_sha="cd" * 32),
        Precondition(expected_version=0),
        Precondition(expected_version=2),
        Precondition(expected_value=None),
        Precondition(expected_value={"a": None, "b": [2, 1]}),
        Precondition(expected_sha=SHA, expected_version=4),
    ],
)
def test_a_mismatch_is_a_conflict_with_the_stored_state(fails):
    with pytest.raises(Conflict) as conflict:
        fails.check(sha=SHA, version=3, value={"a": None, "b": [1, 2]})
    assert conflict.value.status == 409
    assert conflict.value.details == {"current_sha": SHA, "current_version": 3}


@pytest.mark.parametrize(
    "absent", [Precondition(expected_sha=""), Precondition(expected_version=0), Precondition(expected_value=None)]
)
def test_each_kind_can_expect_that_nothing_is_stored(absent):
    absent.check(sha="", version=0, value=None)
    assert absent.given
    assert not NONE.given


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False), ("1", 1), ([], {}), ("", None)])
def test_values_are_compared_as_json_not_as_python(one, other):
    with pytest.raises(Conflict):
        Precondition(expected_value=one).check(sha=SHA, version=1, value=other)


@pytest.mark.parametrize(
    ("match", "none_match", "meant"),
    [
        (None, None, NONE),
        (None, "*", Precondition(expected_version=0)),
        ('"v3"', None, Precondition(expected_version=3)),
        (f'"{SHA}"', None, Precondition(expected_sha=SHA)),
    ],
)
def test_http_headers_become_preconditions(match, none_match, meant):
    assert from_headers(match, none_match) == meant


@pytest.mark.parametrize(
    ("match", "none_match"),
    [
        ('"v3"', "*"),
        (None, '"v3"'),
        ("", None),
        ('"v"', None),
        ('"v²"', None),
        ('"v٣"', None),
        ('"v-1"', None),
        (f'"{SHA.upper()}"', None),
        ('W/"v3"', None),
        ('"v3", "v4"', None),
        ('"v' + "9" * 30 + '"', None),
    ],
)
def test_invalid_headers_are_refused(match, none_match):
    with pytest.raises(Invalid):
        from_headers(match, none_match)
