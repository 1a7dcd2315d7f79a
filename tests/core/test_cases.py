"""Test helper for cases: each runs on the same rows, and every failure is reported."""

from __future__ import annotations

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from tests.cases import Cases


def test_a_case_leaves_no_row_and_a_failure_hides_no_other(space):
    cases = Cases()
    for number in (1, 2, 3):
        with cases.case(f"case {number}"):
            assert Space.objects.count() == 1
            agents.create_space(shell(), name=f"made-{number}")
            assert number == 2, "it is another"
    assert cases.count == 3
    assert cases.failed == {"case 1": "it is another", "case 3": "it is another"}
    assert Space.objects.count() == 1
