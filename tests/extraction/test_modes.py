"""The two modes: in one nobody ever speaks to a model, in the other the status says how it is and what it costs"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from accounts.principals import find_space
from fluxcore import config
from fluxcore.work import shutdown, worker
from fluxcore.writes import booth
from memory.extraction import extraction_job, model_status
from memory.extraction import jobs as extraction_jobs
from memory.extraction.models import Extraction, ModelServer, ModelSpend
from memory.health import instance_health
from tests.extraction.ollama import hangs, html


@pytest.fixture
def connections(monkeypatch) -> Iterator[list[object]]:
    """Every connection and every look-up somebody attempts."""
    made: list[object] = []
    monkeypatch.setattr(socket, "create_connection", lambda *given, **_: made.append(given))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **_: made.append(given))
    return made


def test_caller_extracts_never_calls_a_model(desk, configure, connections):
    configure(OPERATING_MODE="caller_extracts")
    answer = desk.hand_over("Anna moved to Lisbon. It rained.")
    desk.memory.store("A plain one.")
    desk.work()
    booth.write(extraction_jobs.ask_for_what_waits)
    desk.work()
    assert (answer["status"], answer["extraction"]) == ("stored", "off")
    assert desk.memory.texts("Lisbon")[0] == "Anna moved to Lisbon. It rained."
    assert connections == [] == desk.model.calls
    assert [Extraction.objects.count(), ModelSpend.objects.count(), ModelServer.objects.count()] == [0, 0, 0]
    assert model_status.overview() == {"state": "off", "mode": "caller_extracts"}
    assert model_status.warnings() == []


def test_what_waits_is_left_alone_when_the_mode_is_changed_back(desk, configure, connections):
    grain = desk.hand_over("Anna moved to Lisbon. It rained.")["grain_id"]
    configure(OPERATING_MODE="caller_extracts")
    desk.later()
    assert connections == []
    assert desk.row(grain).state == "waiting"


def test_the_other_mode_would_have_connected(desk, connections):
    """The witness of the tests above sees what it is there to see."""
    desk.hand_over("Anna moved to Lisbon. It rained.")
    desk.work()
    assert connections


def test_status_and_health_say_how_the_model_is(standing_clock, desk):
    assert model_status.overview()["state"] == "not asked yet"
    desk.hand_over("Anna moved to Lisbon. It rained.")
    desk.work()
    found = instance_health.instance_details()["model"]
    assert (found["state"], found["name"], found["server"]) == ("well", config.current().LLM_MODEL, "127.0.0.1")
    assert (found["waiting"], found["given_up"], found["today"]) == (0, 0, {"calls": 1, "failed": 0, "tokens": 340})
    assert found["budget"] == {"calls": 2000, "tokens": 4_000_000}
    assert instance_health.warnings("full") == [one for one in instance_health.warnings("full") if "model" not in one]


def test_the_operator_is_warned(desk, configure):
    desk.model.behave(html)
    desk.hand_over("Anna moved to Lisbon. It rained.")
    desk.work()
    assert instance_health.instance_details()["model"]["state"] == "down"
    assert "the model does not answer: the answer is not JSON; texts stay queued" in instance_health.warnings("full")
    configure(LLM_BASE_URL="http://models.example")
    assert any("sent to another machine" in one for one in model_status.warnings())
    configure(LLM_BASE_URL="nonsense")
    assert any("LLM_BASE_URL must begin with http" in one for one in model_status.warnings())


def test_health_of_a_space_is_its_own(standing_clock, desk):
    desk.hand_over("Anna moved to Lisbon. It rained.")
    desk.work()
    assert model_status.overview(find_space("home").pk)["today"]["calls"] == 1
    assert model_status.overview(find_space("home").pk + 1)["today"]["calls"] == 0


def test_a_text_longer_than_the_model_reads_is_kept_and_not_asked_about(desk, configure):
    configure(MAX_GRAIN_BYTES=100_000)
    grain = desk.hand_over("All of it. " * 3_000)["grain_id"]
    desk.work()
    assert desk.model.calls == []
    assert (desk.row(grain).state, desk.row(grain).problem) == (
        "given_up",
        "the text is longer than the model can read at once",
    )


def test_a_worker_that_is_to_end_lets_a_hanging_call_go(desk, configure, monkeypatch):
    configure(LLM_TIMEOUT_SECONDS=60.0)
    desk.model.behave(hangs)
    grain = desk.hand_over("Anna moved to Lisbon. It rained.")["grain_id"]
    monkeypatch.setattr(shutdown, "_shutting_down", True)
    assert worker.run_one()
    row = desk.row(grain)
    assert (row.state, row.tries, row.taken_until, row.problem) == ("waiting", 0, None, "")
    assert not ModelServer.objects.exists(), "the model is not to blame"


def test_one_text_at_a_time_is_put_to_the_model_in_a_process(desk):
    """Other jobs keep the worker's second thread."""
    desk.hand_over("Anna moved to Lisbon. It rained.")
    with extraction_job._one:
        assert worker.run_one()
    assert desk.model.calls == []
    desk.later()
    assert len(desk.model.calls) == 1
