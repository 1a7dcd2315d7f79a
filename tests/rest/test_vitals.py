"""GET /health, /readyz and /metrics"""

from __future__ import annotations

import re

import pytest

from fluxcore import metrics
from fluxcore.version import VERSION
from fluxcore.writes import booth
from memory.health import instance_health
from tests.rest.routes import refused


def test_health_is_open_and_minimal(db, as_agent):
    assert as_agent(None).get("/health").json() == {"status": "ok"}


def test_a_token_without_the_capability_sees_no_more(api):
    assert api.get("/health").json() == {"status": "ok"}


def test_with_health_read_it_says_how_the_instance_is_doing(make_token, as_agent):
    body = as_agent(make_token(capabilities=("health.read",))).get("/health").json()
    assert body["status"] == "healthy"
    assert body["version"] == VERSION
    assert body["database"]["kind"] in ("sqlite", "postgresql")
    assert set(body["queue"]["jobs"]) >= {"queued", "running", "parked"}
    assert body["booth"]["limit"] == 1000


def test_a_wrong_token_is_told_so_even_where_none_is_needed(db, as_agent):
    refused(as_agent("flux_abcdefgh_" + "x" * 43).get("/health"), 401, "unauthenticated")


def test_it_is_ready_when_migrated(db, as_agent):
    answer = as_agent(None).get("/readyz")
    assert (answer.status_code, answer.json()) == (200, {"ready": True})


def test_it_is_not_ready_when_the_booth_is_full(db, as_agent, monkeypatch):
    monkeypatch.setattr(booth, "depth", lambda: 1000)
    answer = as_agent(None).get("/readyz")
    refused(answer, 503, "not_ready")
    assert answer["Retry-After"] == "1"


def test_it_is_not_ready_before_the_migrations_or_without_the_database(db, as_agent, monkeypatch):
    from django.db import OperationalError, connection
    from django.db.migrations.recorder import MigrationRecorder

    monkeypatch.setattr(instance_health, "_migrated", False)
    last = MigrationRecorder.Migration.objects.filter(app="review").latest("pk")
    last.delete()
    refused(as_agent(None).get("/readyz"), 503, "not_ready")
    last.save(force_insert=True)
    assert as_agent(None).get("/readyz").status_code == 200

    def gone(*_):
        raise OperationalError("the connection is closed")

    with monkeypatch.context() as away:
        away.setattr(connection, "cursor", gone)
        refused(as_agent(None).get("/readyz"), 503, "not_ready")


@pytest.mark.parametrize("capabilities", [(), ("grains.read", "grains.write", "health.read")])
def test_metrics_need_their_capability(make_token, as_agent, capabilities):
    details = refused(as_agent(make_token(capabilities=capabilities)).get("/metrics"), 403, "forbidden")
    assert details["missing"] == "metrics.read"


def sample(text: str, line: str) -> float:
    found = re.search(rf"(?m)^{re.escape(line)} (\S+)$", text)
    return float(found.group(1)) if found else 0.0


def test_the_numbers_are_right(make_token, as_agent):
    api = as_agent(make_token(capabilities=("grains.read", "grains.write", "metrics.read")))
    other = as_agent(make_token("bert", space="elsewhere"))
    before = api.get("/metrics").content.decode()
    for n in range(3):
        api.post("/store", {"content": f"number {n}"})
    api.post("/api/v1/store", {"content": ""})
    other.post("/store", {"content": "not in the caller's space"})
    api.get("/nothing")
    answer = api.get("/metrics")
    after = answer.content.decode()
    assert answer.headers["Content-Type"] == metrics.CONTENT_TYPE

    def moved(line: str) -> float:
        return sample(after, line) - sample(before, line)

    assert moved('flux_requests_total{method="POST",route="store",status="200"}') == 4
    assert moved('flux_requests_total{method="POST",route="api/v1/store",status="422"}') == 1
    assert moved('flux_requests_total{method="GET",route="unknown",status="404"}') == 1
    assert moved('flux_requests_total{method="GET",route="metrics",status="200"}') == 1
    assert moved('flux_request_seconds_count{route="store"}') == 4
    assert sample(after, "flux_grains") == 3
    assert sample(after, "flux_jobs_parked") == 0


def test_a_callers_words_never_become_a_label(make_token, as_agent):
    api = as_agent(make_token(capabilities=("metrics.read",)))
    api.get("/grains/some-words-of-a-caller")
    api.client.generic("FROBNICATE", "/grains", headers=api._headers(None))
    text = api.get("/metrics").content.decode()
    assert "some-words" not in text and "FROBNICATE" not in text
    assert 'method="other"' in text


def test_prometheus_and_plain_text_readers_are_served(make_token, as_agent):
    api = as_agent(make_token(capabilities=("metrics.read",)))
    for accept in ("text/plain", "text/*", "application/openmetrics-text;version=1.0.0,*/*;q=0.1"):
        assert api.get("/metrics", headers={"Accept": accept}).status_code == 200
    refused(api.get("/metrics", headers={"Accept": "image/png"}), 406, "not_acceptable")
