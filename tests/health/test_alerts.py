"""Warnings by webhook: only when asked for, signed, seldom, bounded in time, and never to where they must not go"""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from fluxcore import clock
from fluxcore.models import Job, JobLine
from fluxcore.work import jobs, worker
from fluxcore.writes import booth
from memory.health import instance_health, webhook
from memory.health import jobs as health_jobs
from memory.health.models import Warning
from tests.health.test_measure import as_is
from tests.health.test_signals import CASES

pytestmark = pytest.mark.either_database

SECRET = "a secret of the operator"


class Receiver:
    """A server that notes what it is sent and answers as it is told."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.status, self.location = 200, ""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook?to=ops"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def wanted(configure, receiver):
    def want(**keys: Any) -> None:
        usual = {
            "ALERTS_ENABLED": True,
            "ALERT_WEBHOOK_URL": receiver.url,
            "ALERT_WEBHOOK_SECRET": SECRET,
            "ALERT_PRIVATE_ADDRESSES": True,
        }
        configure(**{**usual, **keys})

    want()
    return want


def ill(ward, name: str = "orphan_rate", times: int = 3) -> None:
    for _ in range(times):
        as_is(ward, CASES[name][1])
        ward.measure()
        ward.pass_time(minutes=15)


def well(ward, name: str = "orphan_rate") -> None:
    for _ in range(4):
        as_is(ward, CASES[name][0])
        ward.measure()
        ward.pass_time(minutes=15)


def test_nothing_is_sent_unless_somebody_asks_for_it(ward, receiver, configure):
    configure(ALERT_WEBHOOK_URL=receiver.url, ALERT_WEBHOOK_SECRET=SECRET, ALERT_PRIVATE_ADDRESSES=True)
    ward.pass_time(days=60)
    ill(ward)
    assert "orphan_rate" in ward.open()
    assert not Job.objects.filter(kind=health_jobs.ALERT).exists() and receiver.got == []


def test_a_warning_is_posted_once_and_signed(ward, receiver, wanted):
    ward.pass_time(days=60)
    ill(ward, times=5)
    ((path, headers, body),) = receiver.got
    assert path == "/hook?to=ops" and headers["Content-Type"] == "application/json"
    at, _, said = headers["X-Flux-Signature"].removeprefix("t=").partition(",v1=")
    assert said == hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    found = json.loads(body)
    assert set(found) == {
        "id",
        "instance",
        "space",
        "signal",
        "severity",
        "event",
        "value",
        "healthy_range",
        "says",
        "suggestion",
        "at",
    }
    assert (found["space"], found["signal"], found["severity"], found["event"]) == (
        "home",
        "orphan_rate",
        "WARNING",
        "raised",
    )
    assert (found["value"], found["healthy_range"]) == (0.2, [None, 0.15])
    assert Warning.objects.get(signal="orphan_rate").alerted_at is not None


def test_what_comes_back_within_six_hours_is_not_sent_again_and_later_it_is(ward, receiver, wanted):
    ward.pass_time(days=60)
    ill(ward)
    well(ward)
    ill(ward)
    assert len(receiver.got) == 1 and Warning.objects.filter(signal="orphan_rate").count() == 2
    well(ward)
    ward.pass_time(hours=6)
    ill(ward)
    assert [json.loads(body)["event"] for _, _, body in receiver.got] == ["raised", "re-raised"]


def test_another_signal_has_an_interval_of_its_own(ward, receiver, wanted):
    ward.pass_time(days=60)
    ill(ward)
    ill(ward, "avg_conduit_weight")
    assert [json.loads(body)["signal"] for _, _, body in receiver.got] == ["orphan_rate", "avg_conduit_weight"]


def test_small_matters_are_not_sent_unless_somebody_wants_them(ward, receiver, wanted):
    ward.pass_time(days=60)
    ill(ward, "highway_count")
    assert receiver.got == [] and ward.open()["highway_count"] == "INFO"
    well(ward, "highway_count")
    wanted(ALERT_LEAST_SEVERITY="INFO")
    ill(ward, "highway_count")
    assert len(receiver.got) == 1


def test_what_is_not_taken_is_tried_again_with_the_same_id_and_parked_where_people_see_it(ward, receiver, wanted):
    receiver.status = 500
    ward.pass_time(days=60)
    ill(ward)
    for _ in range(6):
        ward.pass_time(minutes=5)
        worker.drain()
    job = Job.objects.get(kind=health_jobs.ALERT)
    assert (job.state, job.attempts, len(receiver.got)) == ("parked", 5, 5)
    assert len({json.loads(body)["id"] for _, _, body in receiver.got}) == 1
    lines = list(JobLine.objects.filter(job=job).values_list("text", flat=True))
    assert "The webhook failed: the answer was 500." in lines
    assert Warning.objects.get(signal="orphan_rate").alerted_at is None
    assert any("parked" in one for one in instance_health.warnings("full"))


def test_a_redirect_is_not_followed(ward, receiver, wanted):
    receiver.status, receiver.location = 302, receiver.url
    with pytest.raises(webhook.AlertUndeliverable, match="302"):
        webhook.post_signed(receiver.url, b"{}", secret=SECRET, at=1, private=True)
    assert len(receiver.got) == 1


def test_this_machine_and_its_network_are_out_of_bounds_unless_allowed(receiver):
    with pytest.raises(webhook.AlertUndeliverable, match="ALERT_PRIVATE_ADDRESSES"):
        webhook.post_signed(receiver.url, b"{}", secret=SECRET, at=1, private=False)
    with pytest.raises(webhook.AlertUndeliverable, match="ALERT_PRIVATE_ADDRESSES"):
        webhook.post_signed(receiver.url.replace("127.0.0.1", "localhost"), b"{}", secret=SECRET, at=1, private=False)
    assert receiver.got == []


@pytest.mark.parametrize(
    ("address", "open_to_all", "inside"),
    [
        ("93.184.216.34", True, True),
        ("2606:2800:220:1::1", True, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("10.1.2.3", False, True),
        ("192.168.0.9", False, True),
        ("fd00::1", False, True),
        ("::ffff:10.0.0.1", False, True),
        ("169.254.169.254", False, False),
        ("fe80::1%eth0", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:7f00:1::", False, False),
        ("0.0.0.0", False, False),
        ("::", False, False),
        ("224.0.0.1", False, False),
    ],
)
def test_where_alerts_may_go(address, open_to_all, inside):
    assert (webhook.address_allowed(address, private=False), webhook.address_allowed(address, private=True)) == (
        open_to_all,
        inside,
    )


def test_whoever_never_answers_is_left_after_five_seconds(monkeypatch):
    monkeypatch.setattr(webhook, "SECONDS", 0.3)
    silent = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
    with pytest.raises(webhook.AlertUndeliverable, match=r"no answer|TimeoutError"):
        webhook.post_signed(url, b"{}", secret=SECRET, at=1, private=True)
    silent.close()


@pytest.mark.either_database
@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("", SECRET),
        ("ftp://example.org/", SECRET),
        ("file:///etc/passwd", SECRET),
        ("http://", SECRET),
        ("http://a:b@example.org/", SECRET),
        ("http://example.org:0/", SECRET),
        ("http://example.org:99999/", SECRET),
        ("http://exam\nple.org/", SECRET),
        ("http://example.org/\r\nHost: x", SECRET),
        ("https://example.org/", "short"),
    ],
)
def test_an_address_or_key_that_will_not_do_is_said_so(ward, wanted, url, secret):
    wanted(ALERT_WEBHOOK_URL=url, ALERT_WEBHOOK_SECRET=secret)
    assert any(one.startswith("alerts are not sent: ALERT_WEBHOOK") for one in instance_health.warnings("full"))
    booth.write(
        lambda: jobs.enqueue(
            health_jobs.ALERT,
            {
                "signal": "orphan_rate",
                "severity": "WARNING",
                "what": "raised",
                "value": 1,
                "low": None,
                "high": 0.1,
                "at": clock.rfc3339(clock.now()),
            },
            space=ward.space.pk,
        )
    )
    worker.drain()
    assert JobLine.objects.filter(text__startswith="alerts are not sent").exists()


def test_a_good_address_is_no_problem():
    for url in ("https://example.org/hook?a=b", "http://[::1]:8080/x", "http://10.0.0.1:9000"):
        assert webhook.webhook_problem(url, SECRET) is None
