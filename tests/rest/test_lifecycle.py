"""POST /grains/{id}/archive, restore, quarantine, release, delete, undelete: and nothing that purges"""

from __future__ import annotations

import uuid

import pytest

from accounts.principals import shell
from memory.grains.lifecycle import verbs
from memory.grains.models import Grain, Transition
from tests.rest.routes import refused


@pytest.fixture
def api(make_token, as_agent):
    return as_agent(make_token(capabilities=("grains.read", "grains.write", "grains.manage")))


@pytest.fixture
def grain(api):
    return api.post("/store", {"content": "The boiler is blue"}).json()["grain_id"]


@pytest.mark.parametrize(
    ("there", "back", "status"),
    [
        ("archive", "restore", "archived"),
        ("quarantine", "release", "quarantined"),
        ("delete", "undelete", "pending_deletion"),
    ],
)
def test_there_and_back(api, grain, there, back, status):
    moved = api.post(f"/grains/{grain}/{there}", {"reason": "repainted"}).json()
    assert (moved["grain_id"], moved["before"], moved["status"], moved["changed"]) == (grain, "active", status, True)
    assert api.get(f"/grains/{grain}").json()["status"] == status
    assert not api.post(f"/grains/{grain}/{there}", {}).json()["changed"]
    assert api.post(f"/grains/{grain}/{back}", {}).json()["status"] == "active"
    (second, first) = api.get(f"/grains/{grain}").json()["transitions"]
    assert (first["from"], first["to"], first["by"], first["reason"]) == ("active", status, "agent:alice", "repainted")
    assert (second["from"], second["to"], second["why"]) == (status, "active", "by hand")


def test_what_an_agent_deletes_waits_for_a_person(api, grain):
    assert api.post(f"/grains/{grain}/delete", {}).json()["purged_after"] is None


def test_what_does_not_fit_is_a_conflict_that_names_the_status(api, grain):
    api.post(f"/grains/{grain}/quarantine", {})
    assert refused(api.post(f"/grains/{grain}/archive", {}), 409, "conflict") == {"status": "quarantined"}


def test_what_a_person_decided_is_not_an_agents_to_take_back(api, grain):
    verbs.delete(shell(), grain=grain)
    refused(api.post(f"/grains/{grain}/undelete", {}), 403, "forbidden")
    assert Grain.objects.get().status == "pending_deletion"


def test_no_call_purges(api, grain):
    for path in ("purge", "erase", "remove"):
        refused(api.post(f"/grains/{grain}/{path}", {"reason": "now"}), 404, "not_found")
    refused(api.delete(f"/grains/{grain}"), 405, "method_not_allowed")
    assert Grain.objects.count() == 1


@pytest.mark.parametrize("call", ["archive", "restore", "quarantine", "release", "delete", "undelete"])
def test_nonsense_and_absent_grains_are_refused_clearly(api, grain, call):
    for number in ("x", str(uuid.uuid4()), "9" * 300, "%00"):
        refused(api.post(f"/grains/{number}/{call}", {}), 404, "not_found")
    refused(api.post(f"/grains/{grain}/{call}", {"why": "x"}), 422, "invalid")
    refused(api.post(f"/grains/{grain}/{call}", {"reason": "x" * 501}), 422, "invalid")
    assert not Transition.objects.exists()


def test_the_same_key_answers_the_same_and_acts_once(api, grain):
    body = {"idempotency_key": "once", "reason": "aside"}
    first = api.post(f"/grains/{grain}/archive", body).json()
    assert api.post(f"/grains/{grain}/archive", body).json() == first
    assert Transition.objects.count() == 1
