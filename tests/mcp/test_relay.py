"""While the instance's server runs, `flux_mcp` relays calls to it; when the server stops, it serves by itself."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge import relay
from tests.instances import Instance
from tests.mcp.driver import over_stdio
from tests.mcp.test_process import Raw
from tests.mcp.test_stdio import USUAL

pytestmark = pytest.mark.xdist_group("mcp-server")

# A process whose storage differs from the server's works by itself: here, to compare both ways at one instance.
BY_ITSELF = {"FLUX_DURABILITY": "normal"}
LOADED = (
    "import atexit, sys; from mcp_bridge import entry; "
    "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); entry.main(sys.argv[1:])"
)


def rows(one: Instance, statement: str) -> list[Any]:
    with sqlite3.connect(one.folder / "flux.db") as database:
        return database.execute(statement).fetchall()


def loaded(process: Raw) -> set[str]:
    return set(process.end()[1].decode().split())


def test_calls_are_handed_over_without_django(server: Instance) -> None:
    one = Raw(server, "-c", LOADED, "--ceiling", "user_stated")
    stored = one.call("flux_store", content="Handed over äöü.", provenance="user_stated")["structuredContent"]
    found = one.call("flux_retrieve", query="What was handed over?")["structuredContent"]
    assert stored["grain_id"] in [grain["id"] for grain in found["grains"]]
    assert [tool["name"] for tool in one.ask("tools/list")["result"]["tools"]] == USUAL
    assert "flux_retrieve" in one.ask("resources/read", uri="flux://onboarding")["result"]["contents"][0]["text"]
    one.send(b"this is no message")
    assert one.ask("ping")["id"] == one.number
    assert not {"django", "numpy", "mcp", "pydantic", "ssl"} & loaded(one)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_notices_no_difference(server: Instance, mode: str) -> None:
    driver = over_stdio(server, mode=mode)
    assert list(driver.tools()) == USUAL
    assert driver.call("flux_store", content=f"Relayed in the mode {mode}.")["status"] == "stored"
    assert driver.refused("flux_store", content=5)[0] == "invalid"
    assert driver.refused("flux_store", content="x" * 300_000)  # longer than any pipe takes at once
    driver.close()


def test_the_socket_is_its_owners_alone(server: Instance) -> None:
    path = server.folder / "run" / relay.SOCKET
    assert path.is_socket() and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_authorisation_and_audit_are_the_same_either_way(server: Instance) -> None:
    server.commands(
        "flux_agent create reader --capability grains.read", "flux_agent create paused", "flux_agent stop paused"
    )
    seen, chains = [], []
    for extra in ({}, BY_ITSELF):
        before = rows(server, "SELECT coalesce(max(id), 0) FROM accounts_auditentry")[0][0]
        answers = []
        for agent in ("reader", "paused", "assistant"):
            one = Raw(server, "-c", LOADED, "--agent", agent, "--ceiling", "ai_stated", **extra)
            tools = [tool["name"] for tool in one.ask("tools/list")["result"]["tools"]]
            refused = one.call("flux_store", content="I vouch for it.", provenance="user_stated")
            kept = one.call("flux_store", content=f"{agent} says {bool(extra)}.", client="either", reason="to compare")
            answers.append(
                (agent, tools, refused["content"][0]["text"], kept.get("isError"), kept["content"][0]["text"][:9])
            )
            assert ("django" in loaded(one)) is bool(extra)
        seen.append(answers)
        chains.append(
            [
                (*row[:-1], {name: value for name, value in json.loads(row[-1]).items() if name != "digest"})
                for row in rows(
                    server,
                    "SELECT actor, action, outcome, reason, details FROM accounts_auditentry "
                    f"WHERE id > {before} AND actor LIKE 'agent:%' ORDER BY id",
                )
            ]
        )
    assert seen[0] == seen[1]
    assert chains[0] == chains[1] and len(chains[0]) >= 4


@pytest.fixture
def own(blank: Instance, tmp_path: Path) -> Iterator[Callable[[], Instance]]:
    """An instance a test may kill."""
    one = Instance(tmp_path, "own")
    shutil.copytree(blank.folder, one.folder)
    yield lambda: one
    if one.process is not None:
        one.stop()


def test_a_server_killed_between_two_calls(own: Callable[[], Instance]) -> None:
    one = own()
    one.start()
    driver = over_stdio(one, mode="legacy")
    first = driver.call("flux_store", content="Before the server was killed.")
    one.kill()
    second = driver.call("flux_store", content="After the server was killed.")
    again = driver.call("flux_store", content="Before the server was killed.")
    assert (second["status"], again["status"], again["grain_id"]) == ("stored", "corroborated", first["grain_id"])
    assert list(driver.tools()) == USUAL  # the handshake was repeated and the client heard of it once
    driver.close()
    assert not one.command("flux_audit", "verify").returncode
    labels = rows(one, "SELECT label FROM grains_grain")
    assert len(labels) == 2 and labels[0] == labels[1] != ("",)


@contextmanager
def between(one: Instance, handle: Callable[[socket.socket], None]) -> Iterator[None]:
    """Another program listening on the server's socket path."""
    folder = one.folder / "run"
    folder.mkdir(exist_ok=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener, relay.socket_address(folder) as path:
        listener.bind(path)
        listener.listen()

        def accept() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                with line:
                    handle(line)

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            (folder / relay.SOCKET).unlink()


@pytest.mark.parametrize("passed_on", [True, False])
def test_a_write_without_an_answer_is_made_once(server: Instance, passed_on: bool) -> None:
    """The server stopped before it answered, with or without having read the call."""
    real = server.folder / "run" / relay.SOCKET
    aside = real.with_name("real.sock")
    real.rename(aside)
    heard: list[bytes] = []

    def forward(line: socket.socket) -> None:
        with socket.socket(socket.AF_UNIX) as onward:
            onward.connect(str(aside))
            for _ in range(2):  # the greeting, and the first call
                onward.sendall(line.makefile("rb").readline())
                line.sendall(onward.makefile("rb").readline())
            call = line.makefile("rb").readline()
            if passed_on:
                onward.sendall(call)
                heard.append(onward.makefile("rb").readline())

    try:
        with between(server, forward):
            one = Raw(server, "-c", LOADED)
            one.call("flux_onboard")
            answer = one.call("flux_store", content=f"Made once, passed on: {passed_on}.")["structuredContent"]
            assert answer["status"] == "stored"
            assert not heard or json.loads(heard[0])["result"]["structuredContent"] == answer
            assert bool(heard) is passed_on and "django" in loaded(one)
    finally:
        aside.rename(real)
    said = rows(server, f"SELECT corroborations FROM grains_grain WHERE text = 'Made once, passed on: {passed_on}.'")
    assert said == [(0,)]


def _says(answer: bytes) -> Callable[[socket.socket], None]:
    return lambda line: line.sendall(answer) if line.recv(4096) else None


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(_says(b'{"ok": false}\n'), id="another version"),
        pytest.param(_says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), id="another program"),
        pytest.param(lambda line: line.recv(4096) and line.recv(4096), id="no answer"),
        pytest.param(None, id="nobody"),
    ],
)
def test_where_no_server_of_this_code_answers_nothing_is_handed_over(
    handle: Callable[[socket.socket], None] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Instance(tmp_path, "unserved")
    one.folder.mkdir()
    monkeypatch.setenv("FLUX_HOME", str(one.home))
    monkeypatch.setenv("FLUX_NAME", one.name)
    monkeypatch.setattr(relay, "GREETING_SECONDS", 0.3)
    with between(one, handle) if handle else nullcontext():
        left = relay.serve("main", "assistant", "ai_stated", 1)
    assert left == relay.UnservedInput() and left.text() == b""


def test_a_server_that_hangs_is_left_with_everything_it_owes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LOOK_AGAIN_SECONDS", 0.1)
    ours, theirs = socket.socketpair()
    read, write = os.pipe()
    told, out = os.pipe()
    ours.setblocking(False)

    def line(method: str, number: int | None = None, **params: Any) -> bytes:
        message = {"method": method, "params": params, **({} if number is None else {"id": number})}
        return json.dumps(message).encode() + b"\n"

    store = {"name": "flux_store", "arguments": {"content": "Owed."}}
    own = {"name": "flux_store", "arguments": {"content": "Owed.", relay.KEY: "mine"}}
    os.write(write, line("initialize", 1) + line("notifications/initialized") + line("tools/call", 2, **store))
    os.write(write, line("tools/call", 3, **own) + line("tools/list", 4) + line("ping", 5) + b'{"half": ')
    theirs.sendall(b'{"id": 1, "result": {}}\n{"id": 5, "result": {}}\n{"id": 4, "resu')
    one = relay.Relay(ours, read, out, frozenset({"flux_store"}), still_there=lambda: False)
    assert not one.run()
    assert os.read(told, 4096) == b'{"id": 1, "result": {}}\n{"id": 5, "result": {}}\n'  # whole lines only
    left = one.unserved()
    first, second, keyed, *rest = map(json.loads, left.lines)
    assert (first["method"], second["method"]) == ("initialize", "notifications/initialized")
    assert keyed["params"]["arguments"].pop(relay.KEY).startswith("relay-") and keyed["params"] == store
    assert [(one["id"], one["params"]) for one in rest] == [(3, own), (4, {})]
    assert (left.rest, left.greeted) == (b'{"half": ', "1")
    for number in (read, write, told, out):
        os.close(number)
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    "wrong", [{"version": "0.0.1"}, {"storage": "elsewhere"}, {"agent": None}, {"space": ["main"]}]
)
def test_the_server_turns_away_who_does_not_fit(server: Instance, wrong: dict[str, Any]) -> None:
    hello = {
        "version": relay.VERSION,
        "storage": relay.storage_digest(),
        "space": "main",
        "agent": "x",
        "ceiling": "ai_stated",
    }
    with socket.socket(socket.AF_UNIX) as line, relay.socket_address(server.folder / "run") as path:
        line.settimeout(30)
        line.connect(path)
        line.sendall(json.dumps({**hello, **wrong}).encode() + b"\n")
        assert json.loads(line.makefile("rb").readline()) == {"ok": False}
        assert line.recv(1) == b""
