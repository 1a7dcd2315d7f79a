"""Origins: set at write, never above the token's ceiling."""

from __future__ import annotations

import pytest

from accounts import origins
from fluxcore.errors import Invalid, OriginAboveCeiling

HIGH_TO_LOW = ["user_stated", "ai_stated", "ai_inferred", "external_source"]


def test_authority_runs_from_what_a_person_confirmed_to_what_nobody_knows():
    assert list(origins.AUTHORITY) == ["user_confirmed", *HIGH_TO_LOW, "unknown"]


@pytest.mark.parametrize("ceiling", HIGH_TO_LOW)
@pytest.mark.parametrize("claimed", HIGH_TO_LOW)
def test_a_claim_passes_up_to_the_ceiling_and_is_refused_above(claimed, ceiling):
    if HIGH_TO_LOW.index(claimed) >= HIGH_TO_LOW.index(ceiling):
        assert origins.bind(claimed, ceiling=ceiling) == claimed
    else:
        with pytest.raises(OriginAboveCeiling) as refusal:
            origins.bind(claimed, ceiling=ceiling)
        assert (refusal.value.status, refusal.value.code) == (403, "origin_above_ceiling")
        assert refusal.value.details == {"ceiling": ceiling}


@pytest.mark.parametrize(
    ("ceiling", "bound"),
    [
        ("user_stated", "ai_stated"),
        ("ai_stated", "ai_stated"),
        ("ai_inferred", "ai_inferred"),
        ("external_source", "external_source"),
    ],
)
def test_without_a_claim_it_is_ai_stated_or_lower(ceiling, bound):
    assert origins.bind(None, ceiling=ceiling) == bound


@pytest.mark.parametrize("claimed", ["user_confirmed", "unknown", "", "USER_STATED", "admin"])
def test_nobody_claims_what_only_people_and_imports_give(claimed):
    with pytest.raises(Invalid):
        origins.bind(claimed, ceiling="user_stated")


@pytest.mark.parametrize("ceiling", ["user_confirmed", "unknown"])
def test_no_token_can_be_given_such_a_ceiling(ceiling):
    assert ceiling not in origins.CEILINGS


@pytest.mark.parametrize(
    ("lineage", "authority"),
    [
        (["user_stated"], "user_stated"),
        (["user_stated", "external_source", "ai_stated"], "external_source"),
        (["user_confirmed", "unknown"], "unknown"),
        (["ai_stated", origins.RANK["ai_inferred"]], "ai_inferred"),
        ([0, 3, 1], "ai_inferred"),
    ],
)
def test_what_is_derived_has_the_lowest_authority_of_its_lineage(lineage, authority):
    assert origins.lowest(*lineage) == authority
    assert origins.lowest(*reversed(lineage)) == authority


def test_no_lineage_is_no_authority():
    with pytest.raises(ValueError, match="empty"):
        origins.lowest()
