"""Requests that only a raw socket can send: a clear 4xx, no server error, and the server still answers."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.rest.conftest import RestInstance

pytestmark = pytest.mark.xdist_group("door")

BODY = b'{"content": "over the wire"}'


@pytest.fixture(scope="module")
def token(door: RestInstance) -> str:
    return door.make_agents(("wire", "wire", ["grains.read", "grains.write", "health.read"]))["wire/wire"]


def head(line: bytes, token: str, *headers: bytes, host: bytes = b"Host: localhost") -> bytes:
    lines = [line, host, b"Connection: close", b"Authorization: Bearer " + token.encode(), *headers]
    return b"\r\n".join(line for line in lines if line) + b"\r\n\r\n"


def post(token: str, *headers: bytes, body: bytes = BODY, length: bytes | None = None) -> bytes:
    announced = [b"Content-Length: " + (length if length is not None else str(len(body)).encode())]
    if length == b"":
        announced = []
    return head(b"POST /store HTTP/1.1", token, b"Content-Type: application/json", *announced, *headers) + body


def get(token: str, path: bytes = b"/grains", *headers: bytes) -> bytes:
    return head(b"GET " + path + b" HTTP/1.1", token, *headers)


def statuses(said: bytes) -> list[int]:
    """Status of every answer in the received bytes."""
    found = []
    for line in said.split(b"\r\n"):
        if line.startswith(b"HTTP/1."):
            found.append(int(line.split()[1]))
    return found


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


HUNG_UP = 0
# What is sent (a function of the token), the statuses it may get, and the code where our own code answers.
CASES: dict[str, tuple[object, set[int], str | None]] = {
    "a chunked body": (
        lambda t: post(t, b"Transfer-Encoding: chunked", body=chunked(BODY), length=b""),
        {411},
        "length_required",
    ),
    "a chunked body with a length": (
        lambda t: post(t, b"Transfer-Encoding: chunked", body=chunked(BODY), length=b"28"),
        {400, 411},
        None,
    ),
    "a chunk that lies": (
        lambda t: post(t, b"Transfer-Encoding: chunked", body=b"ffffffff\r\n{}", length=b""),
        {400, 411},
        None,
    ),
    "a chunk that is no number": (
        lambda t: post(t, b"Transfer-Encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n", length=b""),
        {400, 411},
        None,
    ),
    "an unknown transfer encoding": (lambda t: post(t, b"Transfer-Encoding: gzip"), {400, 411, 501}, None),
    "no length": (lambda t: post(t, length=b""), {400, 411}, "bad_json"),
    "a length that is too short": (lambda t: post(t, length=b"5"), {400}, "bad_json"),
    "a negative length": (lambda t: post(t, length=b"-5"), {400}, None),
    "a length with a plus": (lambda t: post(t, length=b"+5"), {400}, None),
    "a length in hexadecimal": (lambda t: post(t, length=b"0x1c"), {400}, None),
    "a length of 30 digits": (lambda t: post(t, length=b"9" * 30), {400, 413}, None),
    "two lengths": (lambda t: post(t, b"Content-Length: 5"), {400}, None),
    "an announced gigabyte": (lambda t: post(t, length=b"1073741824"), {413}, "too_large"),
    "a real 20 MB": (lambda t: post(t, body=b"x" * 20_000_000), {413}, "too_large"),
    "gzip": (lambda t: post(t, b"Content-Encoding: gzip"), {415}, "unsupported_media_type"),
    "no Host": (lambda t: head(b"GET /grains HTTP/1.1", t, host=b""), {400}, None),
    "no Host in HTTP/1.0": (lambda t: head(b"GET /grains HTTP/1.0", t, host=b""), {400}, "bad_host"),
    "a foreign Host": (lambda t: head(b"GET /grains HTTP/1.1", t, host=b"Host: evil.example"), {400}, "bad_host"),
    "two Hosts": (lambda t: get(t, b"/grains", b"Host: evil.example"), {400}, None),
    "a whole address of a foreign host": (
        lambda t: head(b"GET http://localhost/grains HTTP/1.1", t, host=b"Host: evil.example"),
        {400},
        "bad_host",
    ),
    "101 headers": (lambda t: get(t, b"/grains", *(b"X-N%d: 1" % n for n in range(101))), {431}, None),
    "10,000 headers": (lambda t: get(t, b"/grains", *(b"X-N%d: 1" % n for n in range(10_000))), {431}, None),
    "a header of 20 KB": (lambda t: get(t, b"/grains", b"X-Long: " + b"x" * 20_000), {431}, "headers_too_large"),
    "a header of 1 MB": (lambda t: get(t, b"/grains", b"X-Long: " + b"x" * 1_000_000), {431}, None),
    "a NUL in a header": (lambda t: get(t, b"/grains", b"X-Nul: a\x00b"), {400}, None),
    "a folded header": (lambda t: get(t, b"/grains", b"X-Fold: a\r\n b"), {400}, None),
    "a header without a name": (lambda t: get(t, b"/grains", b": x"), {400}, None),
    "a space before the colon": (lambda t: get(t, b"/grains", b"X-Caller-Id : x"), {400}, None),
    "a label beyond ASCII": (lambda t: post(t, "X-Caller-Id: José".encode()), {422}, "invalid"),
    "an idempotency key beyond ASCII": (lambda t: post(t, "Idempotency-Key: clé".encode()), {422}, "invalid"),
    "two tokens": (lambda t: get(t, b"/grains", b"Authorization: Bearer nonsense"), {401}, "unauthenticated"),
    "a path of 50 KB": (lambda t: get(t, b"/grains/" + b"a" * 50_000), {404}, "not_found"),
    "a path of 100 KB": (lambda t: get(t, b"/grains/" + b"a" * 100_000), {414, 431}, None),
    "bare bytes in the path": (lambda t: get(t, b"/grains/\xff\xfe"), {400, 404}, None),
    "broken UTF-8 in the path": (lambda t: get(t, b"/grains/%ff%c0%af"), {404}, "not_found"),
    "NUL in the path": (lambda t: get(t, b"/grains/%00"), {404}, "not_found"),
    "a broken escape in the path": (lambda t: get(t, b"/grains/%zz%"), {404}, "not_found"),
    "two slashes": (lambda t: get(t, b"//store"), {404}, "not_found"),
    "dots": (lambda t: get(t, b"/static/drf_spectacular_sidecar/../../../../etc/passwd"), {404}, "not_found"),
    "encoded dots": (lambda t: get(t, b"/static/drf_spectacular_sidecar/%2e%2e%2f%2e%2e/x"), {404}, "not_found"),
    "2,000 parameters": (
        lambda t: get(t, b"/grains?" + b"&".join(b"p%d=1" % n for n in range(2000))),
        {400},
        "bad_request",
    ),
    "NUL in a parameter": (lambda t: get(t, b"/grains?status=%00"), {422}, "invalid"),
    "a method of its own": (lambda t: head(b"FROB /grains HTTP/1.1", t), {405}, "method_not_allowed"),
    "TRACE": (lambda t: head(b"TRACE /grains HTTP/1.1", t), {405}, "method_not_allowed"),
    "CONNECT": (lambda t: head(b"CONNECT localhost:22 HTTP/1.1", t), {400, 404, 405}, None),
    "OPTIONS *": (lambda t: head(b"OPTIONS * HTTP/1.1", t), {400, 404, 405}, None),
    "HTTP/3.0": (lambda t: head(b"GET /grains HTTP/3.0", t), {400, 505}, None),
    "no HTTP": (lambda t: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}, None),
    "HTTP/2 in clear": (lambda t: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9, {HUNG_UP}, None),
    "an upgrade to HTTP/2": (
        lambda t: get(t, b"/grains", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"),
        {200},
        None,
    ),
    "an upgrade to a WebSocket": (
        lambda t: get(
            t,
            b"/grains",
            b"Upgrade: websocket",
            b"Sec-WebSocket-Version: 13",
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ),
        {200, 400, 426},
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_gets_a_clear_answer(door: RestInstance, token: str, name: str):
    make, allowed, code = CASES[name]
    said = door.send(make(token))  # type: ignore[operator]
    found = statuses(said) or [HUNG_UP]
    assert found[0] in allowed, said[:300]
    assert all(status < 500 for status in found)
    assert b"Traceback" not in said
    if code is not None:
        assert json.loads(said.partition(b"\r\n\r\n")[2])["code"] == code, said
    assert door.call("GET", "/health", token=token).json()["status"] == "healthy"


def test_a_caller_who_hangs_up_in_the_middle_of_its_body_stores_nothing(door: RestInstance, token: str):
    said = door.send(post(token, body=b'{"content": "half', length=b"500"), hang_up=True)
    assert statuses(said) in ([400], [])
    said = door.send(post(token, body=b'{"content": "a whole one"}', length=b"500"), hang_up=True)
    assert statuses(said) in ([400], [])
    assert "a whole one" not in door.call("GET", "/grains?limit=200", token=token).body.decode()


def test_a_smuggled_second_request_is_not_run(door: RestInstance, token: str):
    inner = post(token, body=b'{"content": "smuggled"}')
    length = str(5 + len(inner)).encode()
    door.send(post(token, b"Transfer-Encoding: chunked", body=b"0\r\n\r\n" + inner, length=length))
    door.send(post(token, b"Content-Length: %d" % (len(BODY) + len(inner)), body=BODY + inner))
    assert "smuggled" not in door.call("GET", "/grains?limit=200", token=token).body.decode()


def test_a_refused_body_does_not_become_the_next_request_of_the_line(door: RestInstance, token: str):
    inner = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    body = inner * 20
    request = (
        b"POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nAuthorization: Bearer "
        + token.encode()
        + b"\r\nContent-Length: "
        + str(len(body)).encode()
        + b"\r\n\r\n"
        + body
        + b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert statuses(door.send(request)) in ([415, 200], [415])


def test_one_line_serves_many_requests(door: RestInstance, token: str):
    line = door.connection()
    codes = [door.call("GET", "/grains", token=token, line=line).status for _ in range(20)]
    line.close()
    assert codes == [200] * 20


def test_expect_100_continue_works(door: RestInstance, token: str):
    said = door.send(post(token, b"Expect: 100-continue", body=b'{"content": "I waited"}'))
    assert statuses(said)[-1] == 200


def test_slow_bodies_do_not_stop_the_others(door: RestInstance, token: str):
    lines = []
    try:
        for _ in range(8):
            line = socket.create_connection(("127.0.0.1", door.state["ports"]["rest"]), timeout=10)
            line.sendall(post(token, body=b'{"content"', length=b"100"))
            lines.append(line)
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda n: door.call("POST", "/store", {"content": f"meanwhile {n}"}, token=token), range(32))
            )
        assert {answer.status for answer in answers} == {200}
    finally:
        for line in lines:
            line.close()


@pytest.mark.torture
def test_slow_headers_are_ended(door: RestInstance):
    """The server closes the connection if the headers are incomplete after ten seconds."""
    with socket.create_connection(("127.0.0.1", door.state["ports"]["rest"]), timeout=30) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: local")
        assert b"200" not in line.recv(1000)


def test_a_request_id_is_not_split_into_headers(door: RestInstance):
    line = http.client.HTTPConnection("127.0.0.1", door.state["ports"]["rest"], timeout=10)
    line.request("GET", "/health", headers={"X-Request-Id": "a%0d%0aSet-Cookie:x=1"})
    answer = line.getresponse()
    assert answer.status == 200 and answer.getheader("Set-Cookie") is None
    line.close()


def test_after_all_this_its_log_holds_no_server_error_and_no_traceback(door: RestInstance, token: str):
    logged = door.logged()
    assert "Traceback" not in logged
    assert " ERROR " not in logged and " CRITICAL " not in logged
    assert not [
        line for line in logged.splitlines() if "memory.api.access" in line and line.split()[-2].startswith("5")
    ]
    assert door.process is not None and door.process.poll() is None
