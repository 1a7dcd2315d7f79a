"""Pin, unpin and close"""

from __future__ import annotations

import pytest

from tests.rest.routes import refused
from tests.rest.test_grains import ABSENT


@pytest.fixture
def keeper(make_token, as_agent):
    return as_agent(make_token("keeper", capabilities=("grains.read", "grains.write", "grains.manage")))


def test_a_grain_is_pinned_and_let_go(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    pinned = keeper.post(f"/grains/{grain}/pin", {"reason": "it matters"})
    assert pinned.json() == {"grain_id": grain, "pinned": True, "changed": True}
    assert keeper.post(f"/grains/{grain}/pin", {}).json()["changed"] is False
    assert keeper.get(f"/grains/{grain}").json()["pinned"] is True
    assert keeper.post(f"/grains/{grain}/unpin", {}).json() == {"grain_id": grain, "pinned": False, "changed": True}


def test_a_call_whose_address_says_it_all_needs_no_body(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    for act in ("pin", "unpin", "close"):
        answer = keeper.client.generic("POST", f"/grains/{grain}/{act}", headers=keeper._headers(None), content_type="")
        assert (answer.status_code, answer.json()["changed"]) == (200, True)


def test_a_grain_is_closed_at_a_moment(keeper):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    closed = keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T10:00:00+01:00", "reason": "moved out"})
    assert closed.json() == {"grain_id": grain, "valid_to": "2026-03-02T09:00:00.000000Z", "changed": True}
    assert keeper.get(f"/grains/{grain}").json()["valid_to"] == "2026-03-02T09:00:00.000000Z"
    again = keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T09:00:00Z"})
    assert again.json()["changed"] is False
    other = refused(keeper.post(f"/grains/{grain}/close", {"at": "2026-03-02T09:00:01Z"}), 409, "conflict")
    assert other == {"valid_to": "2026-03-02T09:00:00.000000Z"}


@pytest.mark.parametrize("at", ["", "now", 5, "2026-03-02", "2026-03-02T09:00:00", "1899-12-31T00:00:00Z", {}, True])
def test_an_end_is_a_time_with_an_offset(keeper, at):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    assert refused(keeper.post(f"/grains/{grain}/close", {"at": at}), 422, "invalid")["field"] == "at"


@pytest.mark.parametrize("act", ["pin", "unpin", "close"])
def test_acts_on_what_is_no_id_are_not_found(keeper, act):
    for wrong in ("0", "null", "%00", "a" * 3000, ABSENT, ABSENT.replace("-", "")):
        refused(keeper.post(f"/grains/{wrong}/{act}", {}), 404, "not_found")


@pytest.mark.parametrize("act", ["pin", "unpin", "close"])
def test_acts_take_no_unknown_field_and_keep_their_idempotency_key(keeper, act):
    grain = keeper.post("/store", {"content": "x"}).json()["grain_id"]
    refused(keeper.post(f"/grains/{grain}/{act}", {"colour": "red"}), 422, "invalid")
    first, second = (
        keeper.post(f"/grains/{grain}/{act}", {}, headers={"Idempotency-Key": act}).json() for _ in range(2)
    )
    assert first == second
