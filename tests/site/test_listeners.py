"""One list of raw requests against the REST, MCP and dashboard servers: bounded, and refused in clear words."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.concurrency.databases import database_with_tables
from tests.live_feeds import agents_feed
from tests.rest.conftest import RestInstance

pytestmark = [pytest.mark.storage, pytest.mark.xdist_group("listeners")]

LISTENERS = ("rest", "mcp", "people")
PATHS = {"rest": b"/store", "mcp": b"/mcp", "people": b"/sign-in"}
SECONDS, PER_SOURCE, IN_ALL = 1.5, 24, 64
BODY = b'{"content": "over the wire"}'
HUNG_UP = 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestInstance]:
    environment = {"FLUX_LIVE_SOCKETS_EACH": "100"}
    if "FLUX_TESTS_POSTGRES" in os.environ:
        environment["DATABASE_URL"] = database_with_tables(os.environ["FLUX_TESTS_POSTGRES"])
    one = RestInstance(tmp_path_factory.mktemp("listeners"), "listen", **environment)
    one.folder.mkdir(mode=0o700)
    (one.folder / "config.yaml").write_text(
        f"REQUEST_SECONDS: {SECONDS}\nMAX_CONNECTIONS_PER_SOURCE: {PER_SOURCE}\nMAX_CONNECTIONS: {IN_ALL}\n"
        "MAX_GRAINS_PER_MINUTE: 1000000\n"
    )
    try:
        one.with_tables().start()
        yield one
    finally:
        if one.process is not None and one.process.poll() is None:
            one.kill()


@pytest.fixture(scope="module")
def tokens(server: RestInstance) -> dict[str, str]:
    rights = ["grains.read", "grains.write", "memory.read", "memory.write"]
    return server.make_agents(("main", "slow", rights), ("main", "other", rights))


@pytest.fixture
def lines() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def opened(
    server: RestInstance, listener: str, lines: ExitStack, data: bytes = b"", source: str = "127.0.0.1"
) -> socket.socket:
    address = ("127.0.0.1", server.state["ports"][listener])
    line = lines.enter_context(socket.create_connection(address, timeout=30, source_address=(source, 0)))
    line.sendall(data)
    return line


def heard(line: socket.socket) -> bytes:
    """Everything the server says until it closes the connection."""
    said = b""
    try:
        while chunk := line.recv(65536):
            said += chunk
    except ConnectionResetError:
        pass
    return said


def status(said: bytes) -> int:
    return int(said.split()[1]) if said.startswith(b"HTTP/1.") else HUNG_UP


def head(line: bytes, token: str, *headers: bytes, host: bytes = b"Host: localhost") -> bytes:
    given = [line, host, b"Connection: close", b"Authorization: Bearer " + token.encode(), *headers]
    return b"\r\n".join(one for one in given if one) + b"\r\n\r\n"


Request = Callable[[str, str], bytes]


def get(*headers: bytes, host: bytes = b"Host: localhost", path: bytes = b"/health") -> Request:
    return lambda listener, token: head(b"GET " + path + b" HTTP/1.1", token, *headers, host=host)


def post(*headers: bytes, body: bytes = BODY, length: int | bytes | None = None) -> Request:
    announced = (
        b""
        if length == b""
        else b"Content-Length: "
        + (length if isinstance(length, bytes) else b"%d" % (len(body) if length is None else length))
    )
    return lambda listener, token: (
        head(b"POST " + PATHS[listener] + b" HTTP/1.1", token, b"Content-Type: application/json", announced, *headers)
        + body
    )


def line(start: bytes) -> Request:
    return lambda listener, token: head(start, token)


CHUNKED = b"Transfer-Encoding: chunked"
INNER = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
# What is sent and the statuses it may get, the same for all three.
CASES: dict[str, tuple[Request, set[int]]] = {
    "a good one": (get(), {200}),
    "an upgrade to HTTP/2": (get(b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQAAP__"), {200}),
    "a header of 20 KB": (get(b"X-Long: " + b"x" * 20_000), {431}),
    "a header of 1 MB": (get(b"X-Long: " + b"x" * 1_000_000), {431}),
    "a header of 59 MB": (get(b"X-Long: " + b"x" * 59_000_000), {431, HUNG_UP}),
    "101 headers": (get(*(b"X-%d: 1" % number for number in range(101))), {431}),
    "600,000 headers": (get(*(b"X-%d: 1" % number for number in range(600_000))), {431, HUNG_UP}),
    "a path of 100 KB": (get(path=b"/" + b"a" * 100_000), {414, 431}),
    "two Authorization headers": (get(b"Authorization: Bearer nonsense"), {401}),
    "no Host": (get(host=b""), {400}),
    "a foreign Host": (get(host=b"Host: evil.example"), {400}),
    "two Hosts": (get(b"Host: evil.example"), {400}),
    "a whole address and a foreign Host": (
        lambda listener, token: head(b"GET http://localhost/health HTTP/1.1", token, host=b"Host: evil.example"),
        {400},
    ),
    "a NUL in a header": (get(b"X-Nul: a\x00b"), {400}),
    "a folded header": (get(b"X-Fold: a\r\n b"), {400}),
    "a header without a name": (get(b": x"), {400}),
    "a space before the colon": (get(b"X-Space : x"), {400}),
    "a NUL in the path": (get(path=b"/%00"), {404}),
    "bare bytes in the path": (get(path=b"/\xff\xfe"), {400}),
    "lines that end with a line feed": (
        lambda listener, token: head(b"GET /health HTTP/1.1", token).replace(b"\r\n", b"\n"),
        {200, 400},
    ),
    "a chunked body and a length": (post(CHUNKED, body=b"5\r\nhello\r\n0\r\n\r\n"), {400, 411}),
    "a chunk that is no number": (post(CHUNKED, body=b"zz\r\n{}\r\n0\r\n\r\n", length=b""), {400, 411}),
    "a request behind the last chunk": (post(CHUNKED, body=b"0\r\n\r\n" + INNER, length=60), {400, 411}),
    "a trailer of 3 MB": (post(CHUNKED, body=b"2\r\n{}\r\n0\r\nX-T: " + b"x" * 3_000_000, length=b""), {400, 411}),
    "an unknown transfer encoding": (post(b"Transfer-Encoding: gzip"), {400}),
    "a negative length": (post(length=b"-5"), {400}),
    "a length with a plus": (post(length=b"+5"), {400}),
    "a length in hexadecimal": (post(length=b"0x1c"), {400}),
    "a length of 30 digits": (post(length=b"9" * 30), {400}),
    "two lengths": (post(b"Content-Length: 5"), {400}),
    "an announced gigabyte": (post(length=1 << 30), {413}),
    "a body of 40 MB": (post(body=b"x" * 40_000_000), {413}),
    "CONNECT": (line(b"CONNECT localhost:22 HTTP/1.1"), {400, 405}),
    "OPTIONS *": (line(b"OPTIONS * HTTP/1.1"), {404}),
    "TRACE": (line(b"TRACE /health HTTP/1.1"), {404, 405}),
    "a method of its own": (line(b"FROB /health HTTP/1.1"), {400, 405}),
    "HTTP/3.0": (line(b"GET /health HTTP/3.0"), {400}),
    "no HTTP": (lambda listener, token: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400}),
    "HTTP/2 in clear": (lambda listener, token: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9, {HUNG_UP, 400}),
}


@pytest.mark.parametrize("name", CASES)
def test_it_gets_the_same_clear_answer_everywhere(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack, name: str
) -> None:
    make, allowed = CASES[name]
    for listener in LISTENERS:
        data = make(listener, tokens["main/other"])
        one = opened(server, listener, lines)
        try:
            one.sendall(data)
        except OSError:
            pass  # it answered before it took everything
        said = heard(one)
        assert status(said) in allowed, (listener, said[:300])
        assert said.count(b"HTTP/1.1 ") <= 1, (listener, said)
        assert not any(word in said.lower() for word in (b"traceback", b"granian", b"uvicorn")), (listener, said[:300])
        healthy(server, listener)


def healthy(server: RestInstance, listener: str) -> None:
    answer = server.call("GET", "/health", door=listener, headers={"Host": "localhost"})
    assert answer.status == 200, listener


@pytest.mark.parametrize("listener", LISTENERS)
def test_an_endless_header_is_not_read_to_its_end(server: RestInstance, lines: ExitStack, listener: str) -> None:
    attackers = [opened(server, listener, lines, b"GET /health HTTP/1.1\r\nX-a: ") for _ in range(4)]
    for one in attackers:
        sent, piece = 0, b"x" * 65536
        with pytest.raises(OSError, match=r"reset|pipe"):
            while sent < 256 * 1024 * 1024:
                sent += one.send(piece)
        assert sent < 64 * 1024 * 1024  # what the buffers of both ends hold, and the little that is discarded
    healthy(server, listener)


def test_who_does_not_send_is_not_waited_for_and_a_feed_goes_on(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack
) -> None:
    feed = agents_feed(server, tokens["main/other"])
    lines.callback(feed.close)
    with_body = post(length=1000)
    for listener in LISTENERS:
        silent = [opened(server, listener, lines, data) for data in (b"", b"GET /health HTTP/1.1\r\nHost: local")]
        waiting = opened(server, listener, lines, with_body(listener, tokens["main/slow"]))
        assert [status(heard(one)) for one in silent] == [HUNG_UP, HUNG_UP], listener
        said = heard(waiting)
        assert status(said) == 408 and b'"body_too_slow"' in said, (listener, said)
    server.call("POST", "/store", {"content": "The feed is still open."}, token=tokens["main/other"])
    assert json.loads(feed.recv(timeout=30))["kind"]


@pytest.mark.parametrize("listener", ["rest", "mcp"])
def test_eight_bodies_of_a_token_are_waited_for_and_others_are_served(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack, listener: str
) -> None:
    request = post(length=100_000)(listener, tokens["main/slow"])
    attackers = [opened(server, listener, lines, request) for _ in range(20)]
    # Complete requests, of another agent and of the same one, are answered meanwhile.
    for name in ("other", "slow") * 4:
        answer = server.call("POST", "/store", {"content": f"{name} meanwhile"}, token=tokens[f"main/{name}"])
        assert answer.status == 200
    healthy(server, listener)
    said = [heard(one) for one in attackers]
    assert Counter(map(status, said)) == {429: 12, 408: 8}
    refused = next(one for one in said if status(one) == 429)
    assert b"retry-after: 1" in refused.lower() and b"8 incomplete bodies of one token" in refused


def test_forty_slow_bodies_of_one_agent_keep_no_thread(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack
) -> None:
    request = post(length=60_000)("rest", tokens["main/slow"])
    attackers = [opened(server, "rest", lines, request) for _ in range(40)]
    for number in range(10):
        answer = server.call("POST", "/store", {"content": f"not delayed {number}"}, token=tokens["main/other"])
        assert answer.status == 200
    # Not one of them was answered by its deadline yet: the others did not wait for that.
    assert len(select.select(attackers, [], [], 0)[0]) <= 32


@pytest.mark.parametrize("listener", ["rest", "mcp"])
def test_without_a_valid_token_no_body_is_waited_for(server: RestInstance, lines: ExitStack, listener: str) -> None:
    for length in (1000, 1_000_000):
        said = heard(opened(server, listener, lines, post(length=length)(listener, "nonsense")))
        assert status(said) == 401


STALLED = post(b"Expect: 100-continue", body=b"", length=4_000_000)


def stalled(server: RestInstance, token: str, lines: ExitStack, count: int, *sources: str) -> list[socket.socket]:
    """Connections to the dashboard, each with a request whose body does not come."""
    found = []
    for number in range(count):
        source = sources[number % len(sources)]
        found.append(opened(server, "people", lines, STALLED("people", token), source))
        assert found[-1].recv(12) == b"HTTP/1.1 100"
    return found


def feeds(server: RestInstance, token: str, lines: ExitStack, count: int, source: str = "127.0.0.1") -> None:
    """Live feeds of the MCP server, which give up their place to nobody."""
    for _ in range(count):
        lines.callback(agents_feed(server, token, source=source).close)


@pytest.mark.parametrize("listener", ["mcp", "people"])
def test_a_new_connection_takes_the_place_of_an_idle_one_but_of_no_feed(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack, listener: str
) -> None:
    feed = agents_feed(server, tokens["main/other"])
    lines.callback(feed.close)
    silent = [opened(server, listener, lines) for _ in range(PER_SOURCE + 8)]
    healthy(server, listener)
    assert select.select(silent, [], [], 30)[0]
    server.call("POST", "/store", {"content": "The feed kept its place."}, token=tokens["main/other"])
    assert json.loads(feed.recv(timeout=30))["kind"]


def test_connections_of_one_source_are_bounded(server: RestInstance, tokens: dict[str, str], lines: ExitStack) -> None:
    feeds(server, tokens["main/other"], lines, PER_SOURCE)
    said = heard(opened(server, "mcp", lines, get()("mcp", tokens["main/other"])))
    assert status(said) == 503 and b'"busy"' in said and b"retry-after" in said.lower()
    healthy(server, "people")  # it has places of its own
    said = heard(opened(server, "mcp", lines, get()("mcp", tokens["main/other"]), "127.0.0.9"))
    assert status(said) == 200


def test_connections_of_many_sources_are_bounded_together(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack
) -> None:
    for number in range(3):  # none of them near its own bound
        feeds(server, tokens["main/other"], lines, IN_ALL // 3, f"127.0.0.{2 + number}")
    feeds(server, tokens["main/other"], lines, IN_ALL % 3, "127.0.0.5")
    said = heard(opened(server, "mcp", lines, get()("mcp", tokens["main/other"]), "127.0.0.9"))
    assert status(said) == 503 and b'"busy"' in said
    lines.close()  # feeds that end make room for another source
    silent = opened(server, "mcp", lines, source="127.0.0.9")
    healthy(server, "mcp")
    assert heard(silent) == b""


def test_bodies_that_do_not_come_shut_nobody_out(
    server: RestInstance, tokens: dict[str, str], lines: ExitStack
) -> None:
    """Neither their own address nor others, at no listener; and none is waited for by the size it announced."""
    holding = stalled(server, tokens["main/slow"], lines, IN_ALL, "127.0.0.2", "127.0.0.3", "127.0.0.4")
    for listener in LISTENERS:
        for source in ("127.0.0.2", "127.0.0.9"):
            said = heard(opened(server, listener, lines, get()(listener, tokens["main/other"]), source))
            assert status(said) == 200, (listener, source, said)
    # 4,000,000 bytes may take a minute. Those who send none have ended after REQUEST_SECONDS.
    ended = [heard(one) for one in holding]
    assert sum(b'"body_too_slow"' in said for said in ended) >= IN_ALL - 8  # the others gave up their places


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_a_plain_client_reads_that_its_body_is_too_large(
    server: RestInstance, tokens: dict[str, str], listener: str, connection: str
) -> None:
    client = http.client.HTTPConnection("127.0.0.1", server.state["ports"][listener], timeout=60)
    headers = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Connection": connection,
        "Authorization": f"Bearer {tokens['main/other']}",
    }
    try:
        size = 36_000_000 if listener == "people" else 9_000_000
        client.request("POST", PATHS[listener].decode(), b"x" * size, headers)
        answer = client.getresponse()
        assert answer.status == 413 and b"too_large" in answer.read()
        client.request("GET", "/health", headers={"Host": "localhost"})
        assert client.getresponse().status == 200
    finally:
        client.close()


def test_after_all_this_the_log_holds_no_error(server: RestInstance) -> None:
    logged = server.logged()
    assert "Traceback" not in logged and " ERROR " not in logged and " CRITICAL " not in logged
    assert server.process is not None and server.process.poll() is None
