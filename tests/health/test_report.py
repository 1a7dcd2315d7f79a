"""GET /health for holders of health.read: the shape flux-memory's users know, at the same cost after any past"""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from fluxcore import clock
from memory.health.models import SpaceHealth
from memory.health.signals import SIGNALS_BY_NAME
from tests.health.test_measure import as_is
from tests.health.test_signals import CASES

_TRANSACTION = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


@pytest.fixture
def looking(ward, make_token, as_agent):
    return as_agent(make_token("watcher", capabilities=("health.read",)))


def test_before_the_first_measurement_everything_is_unknown_and_nothing_is_wrong(looking):
    body = looking.get("/health").json()
    assert (body["status"], body["active_warnings"], body["computed_at"]) == ("healthy", [], None)
    assert {one["state"] for one in body["signals"].values()} == {"idle"}


def test_it_has_the_shape_flux_memory_had_beside_what_it_says_of_the_instance(ward, looking):
    ward.pass_time(days=60)
    ward.recalls(4)
    ward.tell("grain.stored", {"origin": "user_stated"}, times=2)
    ward.measure()
    as_is(ward, CASES["orphan_rate"][1])
    ward.recalls(4)
    ward.tell("grain.stored", {"origin": "user_stated"}, times=2)
    ward.tell("grain.stored", {"origin": "ai_stated"}, times=6)
    ward.measure(3)
    body = looking.get("/health").json()
    assert {"status", "signals", "active_warnings", "caller_feedback", "caller_provenance", "computed_at"} <= set(body)
    assert {"version", "database", "queue", "encoder", "warnings"} <= set(body)
    assert body["status"] == "warning" and body["computed_at"] == clock.rfc3339(SpaceHealth.objects.get().measured_at)
    assert set(body["signals"]) == set(SIGNALS_BY_NAME)
    signal = body["signals"]["orphan_rate"]
    assert (signal["value"], signal["healthy"], signal["state"], signal["severity"]) == (0.2, False, "high", "WARNING")
    assert signal["range"] == [None, 0.15] and signal["suggestion"]
    (warning,) = [one for one in body["active_warnings"] if one["signal"] == "orphan_rate"]
    assert (warning["times"], warning["cleared_at"], warning["acknowledged_by"]) == (1, None, None)
    assert body["caller_feedback"] == [{"caller": "agent:alice", "answers": 4, "judged": 0, "rate": 0}]
    assert body["caller_provenance"] == [{"caller": "agent:alice", "stores": 8, "user_stated": 2, "share": 0.25}]


def test_it_is_of_the_callers_own_space(ward, make_token, as_agent):
    elsewhere = as_agent(make_token("other", space="elsewhere", capabilities=("health.read",)))
    ward.pass_time(days=60)
    as_is(ward, CASES["orphan_rate"][1])
    ward.measure(3)
    body = elsewhere.get("/health").json()
    assert body["status"] == "healthy" and body["active_warnings"] == [] and body["caller_provenance"] == []


def test_without_the_right_it_says_that_the_door_is_open_and_no_more(ward, make_token, as_agent):
    ward.pass_time(days=60)
    as_is(ward, CASES["orphan_rate"][1])
    ward.measure(3)
    assert as_agent(None).get("/health").json() == {"status": "ok"}
    assert as_agent(make_token("blind", capabilities=("grains.read",))).get("/health").json() == {"status": "ok"}


@pytest.mark.either_database
def test_it_costs_the_same_statements_after_a_long_past(ward, looking):
    ward.measure()
    looking.get("/health")

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert looking.get("/health").status_code == 200
        return len([one for one in asked.captured_queries if not one["sql"].startswith(_TRANSACTION)])

    few = statements()
    assert few <= 13
    for _ in range(5):
        ward.recalls(50)
        ward.measure(2)
    looking.get("/health")  # notes the token's use in its new minute
    assert statements() == few
