"""With FLUX_URL and FLUX_TOKEN `flux_mcp` is a proxy of a running server, without Django."""

from __future__ import annotations

import io
import json
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mcp_bridge import proxy
from tests.instances import ROOT, Instance
from tests.mcp.driver import Driver, over_stdio
from tests.mcp.test_process import Raw
from tests.mcp.test_stdio import USUAL

pytestmark = pytest.mark.xdist_group("mcp-server")


@pytest.fixture(scope="module", params=["auto", "legacy"])
def client(server: Instance, request: pytest.FixtureRequest) -> Iterator[Driver]:
    given = {"FLUX_URL": server.state["urls"]["mcp"], "FLUX_TOKEN": server.token, "FLUX_HOME": "/nowhere"}
    driver = over_stdio(server, mode=request.param, **given)
    yield driver
    driver.close()


def test_everything_passes_through(client: Driver) -> None:
    assert list(client.tools()) == USUAL
    stored = client.call("flux_store", content=f"Thin speaks {client.client.protocol_version} äöü.")
    answer = client.call("flux_retrieve", query=f"What does thin speak, {client.client.protocol_version}?")
    assert stored["grain_id"] in [one["id"] for one in answer["grains"]]
    client.call("flux_feedback", trace_id=answer["trace_id"], grain_id=stored["grain_id"], useful=True)
    assert client.refused("flux_store", content=5)[0] == "invalid"
    assert "flux_retrieve" in client.ask(lambda one: one.read_resource("flux://onboarding")).contents[0].text


def test_it_loads_no_django(server: Instance) -> None:
    code = (
        "import atexit, sys; from mcp_bridge import entry; "
        "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); entry.main(['flux_mcp'])"
    )
    given = {"FLUX_URL": server.state["urls"]["mcp"], "FLUX_TOKEN": server.token}
    one = Raw(server, "-c", code, **given)
    assert one.ask("tools/list")["result"]["tools"]
    loaded = set(one.end()[1].decode().split())
    assert "mcp_bridge.proxy" in loaded
    assert not {"django", "numpy", "mcp", "pydantic"} & loaded


def test_the_package_s_command_is_the_same(server: Instance) -> None:
    given = {"FLUX_URL": server.state["urls"]["mcp"], "FLUX_TOKEN": server.token}
    one = Raw(server, "-m", "flux", "mcp", **given)
    assert one.call("flux_onboard")["structuredContent"]["agent"] == "assistant"
    assert one.end()[0] == b""


def test_a_token_that_is_not_valid(server: Instance) -> None:
    one = Raw(server, FLUX_URL=server.state["urls"]["mcp"], FLUX_TOKEN="flux_AAAAAAAA_" + "x" * 43)
    answer = one.call("flux_store", content="x")
    assert answer["isError"] and answer["content"][0]["text"].startswith("unauthenticated: ")
    assert one.ask("tools/list")["error"]["message"].startswith("unauthenticated: ")
    one.end()


def test_a_server_that_is_not_there(home: Instance) -> None:
    one = Raw(home, FLUX_URL="http://127.0.0.1:9", FLUX_TOKEN="x")
    answer = one.call("flux_store", content="x")
    assert answer["isError"] and answer["content"][0]["text"].startswith("unreachable: ")
    assert "unreachable" in one.ask("tools/list")["error"]["message"]
    one.send(b"{")
    assert one.read()["error"]["code"] == -32700
    one.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())
    assert one.ask("ping")["id"] == one.number  # a notification is not answered
    one.end()


@pytest.mark.parametrize("url", ["", "127.0.0.1:7464", "file:///etc/passwd"])
def test_an_address_that_is_none(url: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_bridge.proxy"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        input="",
        env={"FLUX_URL": url, "FLUX_TOKEN": "x"},
    )
    assert done.returncode != 0 and done.stdout == "" and "FLUX_URL" in done.stderr


def test_the_address_of_the_rest_client_will_do() -> None:
    assert proxy.RemoteServer("http://127.0.0.1:7465", "x").port == 7464
    assert proxy.RemoteServer("https://flux.example.com/mcp", "x").path == "/mcp"


class _Door(BaseHTTPRequestHandler):
    """A server with given answers, which counts the requests."""

    protocol_version = "HTTP/1.1"
    seen: list[bytes] = []
    cuts = False

    def do_POST(self) -> None:
        self.seen.append(self.rfile.read(int(self.headers["content-length"])))
        if self.cuts:
            self.close_connection = True  # it took the message and died before it answered
            return
        answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.close_connection = True  # and says nothing of it, as a server that is restarted

    def log_message(self, *said: object) -> None:
        pass


@pytest.fixture
def door() -> Iterator[proxy.RemoteServer]:
    _Door.seen, _Door.cuts = [], False
    with ThreadingHTTPServer(("127.0.0.1", 0), _Door) as one:
        threading.Thread(target=one.serve_forever, daemon=True).start()
        yield proxy.RemoteServer(f"http://127.0.0.1:{one.server_port}", "token")
        one.shutdown()


def hung_up(door: proxy.RemoteServer) -> None:
    """Wait until this side has received the end of the connection."""
    assert select.select([door._local.connection.sock], [], [], 30)[0]


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flux_store", "arguments": {}}}


def test_a_connection_that_was_closed_meanwhile_is_made_anew(door: proxy.RemoteServer) -> None:
    for _ in range(3):
        assert door.answer(CALL) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        hung_up(door)
    assert len(_Door.seen) == 3


def test_a_message_that_may_have_been_heard_is_not_sent_again(door: proxy.RemoteServer) -> None:
    assert door.answer(CALL)
    hung_up(door)
    _Door.cuts = True
    failed = door.answer(CALL)
    assert failed is not None and failed["result"]["isError"] and len(_Door.seen) == 2
    _Door.cuts = False
    assert door.answer(CALL) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_no_message_ends_it_or_is_left_without_an_answer(door: proxy.RemoteServer) -> None:
    """A line as deep as no reader goes, a name no header takes, and half a character where an id stands."""
    named = {"name": "flux\nstore", "arguments": {}, "_meta": proxy.envelope("tests")}
    lines = [
        b"[" * 200_000,
        json.dumps({**CALL, "id": 2, "params": named}).encode(),
        json.dumps({**CALL, "id": "\ud800", "params": named}).encode(),
        json.dumps(CALL).encode(),
    ]
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="utf-8")
    proxy.serve(door, lines, out)
    found = {str(one["id"]): one for one in map(json.loads, raw.getvalue().splitlines())}
    assert set(found) == {"None", "2", "\ud800", "1"}
    assert found["None"]["error"]["code"] == -32700 and found["2"]["result"]["isError"]
    assert found["1"]["result"] == {} and len(_Door.seen) == 1
