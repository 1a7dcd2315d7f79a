"""Versioned conditional writes: expectations are conditions of the statement."""

from __future__ import annotations

import pytest

from fluxcore.errors import Invalid
from fluxcore.versioned import VersionedTable, expected_details, sha_of
from fluxcore.writes.preconditions import UNSET, Precondition

PAPERS = VersionedTable("papers", "(papers.text IS NOT NULL AND papers.until > %s)")
ABSENT = "NOT (papers.text IS NOT NULL AND papers.until > %s)"


def test_without_an_expectation_there_is_no_condition():
    found = PAPERS.conditions(Precondition(), 5.0)
    assert (found.where(), found.and_where(), found.values, found.may_be_absent) == ("", "", (), True)


@pytest.mark.parametrize("expected", [Precondition(expected_version=0), Precondition(expected_sha="")])
def test_expecting_nothing_is_met_by_a_missing_row(expected):
    found = PAPERS.conditions(expected, 5.0)
    assert (found.where(), found.values, found.may_be_absent) == (f" WHERE {ABSENT}", (5.0,), True)


def test_a_version_is_compared_only_for_a_row_with_a_value():
    found = PAPERS.conditions(Precondition(expected_version=3), 5.0)
    assert found.and_where() == f" AND papers.version = %s AND {PAPERS.live}"
    assert (found.values, found.may_be_absent) == ((3, 5.0), False)


def test_a_value_is_compared_by_its_digest_and_null_equals_nothing():
    found = PAPERS.conditions(Precondition(expected_value={"b": 1, "a": 2}), 5.0)
    assert found.values == (sha_of({"a": 2, "b": 1}), 5.0)
    null = PAPERS.conditions(Precondition(expected_value=None), 5.0)
    assert (null.values, null.may_be_absent) == ((5.0, sha_of(None)), True)


def test_all_expectations_must_be_met():
    found = PAPERS.conditions(Precondition(expected_version=0, expected_sha="a" * 64), 5.0)
    assert len(found.sql) == 3 and not found.may_be_absent


def test_a_value_that_is_no_json_is_refused():
    with pytest.raises(Invalid):
        PAPERS.conditions(Precondition(expected_value={1, 2}), 5.0)


def test_a_conflict_shows_what_was_expected_but_no_value():
    shown = expected_details(Precondition(expected_version=3, expected_value="secret"))
    assert shown == {"expected_version": 3}
    assert expected_details(Precondition(expected_value=UNSET)) == {}
