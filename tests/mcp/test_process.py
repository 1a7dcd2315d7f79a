"""`flux_mcp` as a process: its output, its imports, its jobs without a server, and its end."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_bridge.proxy import envelope
from tests.instances import ROOT, Instance


class Raw:
    """The process, with messages written line by line."""

    def __init__(self, instance: Instance, *words: str, parent: list[str] | None = None, **environment: str) -> None:
        self.process = subprocess.Popen(
            [*(parent or []), sys.executable, *(words or (str(ROOT / "manage.py"), "flux_mcp"))],
            env={**instance.environment, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        self.number = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        message = {
            "jsonrpc": "2.0",
            "id": self.number,
            "method": method,
            "params": {**params, "_meta": envelope("raw")},
        }
        self.send(json.dumps(message).encode())
        return self.read()

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=tool, arguments=arguments)["result"]

    def read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def end(self) -> tuple[bytes, bytes]:
        return self.process.communicate(timeout=30)


def test_nothing_but_the_protocol_is_printed(home: Instance, tmp_path: Path) -> None:
    """Not even by a library that prints while it is loaded, or by what C code writes to descriptor 1."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os, sys\n"
        "class Noisy:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name.split('.')[0] in ('django', 'mcp', 'numpy', 'memory'):\n"
        "            print('loading', name); os.write(1, b'from C\\n')\n"
        "sys.meta_path.insert(0, Noisy())\n"
        "atexit.register(print, 'goodbye')\n"
    )
    one = Raw(home, PYTHONPATH=str(tmp_path))
    assert one.ask("server/discover")["result"]["supportedVersions"] == ["2026-07-28"]
    one.send(b"this is no message")
    assert one.ask("tools/list")["result"]["tools"]
    assert "result" in one.ask("tools/call", name="flux_retrieve", arguments={"query": "anything"})
    out, said = one.end()
    assert out == b""
    assert b"loading django" in said and b"from C" in said and b"goodbye" in said
    assert one.process.returncode == 0  # it ends when its client hangs up


def test_the_first_answer_loads_neither_the_engine_nor_peoples_pages(home: Instance) -> None:
    code = (
        "import atexit, sys; from mcp_bridge import entry; "
        "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); entry.main([])"
    )
    one = Raw(home, "-c", code)
    one.ask("server/discover")
    _, said = one.end()
    loaded = set(said.decode().split())
    assert {"django", "mcp.server.lowlevel"} <= loaded
    assert not {"numpy", "rich", "django.contrib.admin", "channels", "celery", "networkx"} & loaded


def test_alone_it_does_the_chores(home: Instance) -> None:
    """Without a server nobody else would: what was stored gets its vector, and is then found by more than words."""
    one = Raw(home)
    stored = one.call("flux_store", content="A heron stood in the shallows.")["structuredContent"]["grain_id"]

    def enriched() -> bool:
        found = one.ask("resources/read", uri=f"flux://grains/{stored}")["result"]["contents"][0]["text"]
        return bool(json.loads(found)["enriched"])

    until = time.monotonic() + 60
    while not enriched() and time.monotonic() < until:
        time.sleep(1.2)  # it waits until nobody calls
    assert enriched()
    one.end()


@pytest.mark.parametrize("seconds", [0.1, 0.4])
def test_a_client_that_hangs_up_early_loses_nothing_and_aborts_nothing(home: Instance, seconds: float) -> None:
    """The encoder is being loaded then, by a thread that is deep in native code."""
    one = Raw(home, FLUX_ENCODER="all-MiniLM-L6-v2")
    stored = one.call("flux_store", content=f"Hung up after {seconds} s.")["structuredContent"]["grain_id"]
    trace = one.call("flux_retrieve", query="Who hung up?")["structuredContent"]["trace_id"]
    time.sleep(seconds)
    assert one.end() == (b"", b"") and one.process.returncode == 0
    with sqlite3.connect(home.folder / "flux.db") as database:
        for table, number in (("grains_grain", stored), ("grains_trace", trace)):
            asked = database.execute(f"SELECT 1 FROM {table} WHERE uuid = ?", [number.replace("-", "")])
            assert asked.fetchone(), table


@pytest.mark.parametrize("module", ["entry", "thin"])
def test_it_ends_with_its_parent_though_the_pipe_stays_open(home: Instance, module: str) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    code = (
        f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-m', 'mcp_bridge.{module}'], stdin={read}, "
        "close_fds=False).pid, flush=True); sys.stdin.read()"
    )
    environment = {
        **home.environment,
        **({"FLUX_URL": "http://127.0.0.1:9", "FLUX_TOKEN": "x"} if module == "thin" else {}),
    }
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[read],
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.write(write, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}).encode() + b"\n")
    assert json.loads(parent.stdout.readline())["id"] == 1
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 30
    while Path(f"/proc/{child}").exists() and time.monotonic() < until:
        time.sleep(0.05)
    gone = not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]
    os.close(read)
    os.close(write)
    assert gone


FIRST_WRITE = """
import asyncio, json, os, sys
from fluxsite import asgi

async def main():
    # As the server has it: the port opens when start-up is complete.
    asked, answered = asyncio.Queue(), asyncio.Queue()
    lifespan = asyncio.create_task(asgi.application({"type": "lifespan"}, asked.get, answered.put))
    await asked.put({"type": "lifespan.startup"})
    assert (await answered.get())["type"] == "lifespan.startup.complete"
    there = set(sys.modules)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "flux_store", "arguments": {"content": "the first text", "provenance": "ai_stated"},
                   "_meta": json.loads(os.environ["ENVELOPE"])}}).encode()
    names = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(body)),
             "accept": "application/json, text/event-stream", "authorization": f"Bearer {os.environ['TOKEN']}",
             "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "flux_store"}
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/mcp", "raw_path": b"/mcp",
        "query_string": b"", "scheme": "http", "server": ("127.0.0.1", 1), "client": ("127.0.0.1", 2),
        "headers": [(name.encode(), value.encode()) for name, value in names.items()], "state": {}}
    said = []
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}
    async def send(message):
        said.append(message)
    await asgi.application(scope, receive, send)
    answer = b"".join(message.get("body", b"") for message in said).decode()
    loaded = sorted(set(sys.modules) - there)
    await asked.put({"type": "lifespan.shutdown"})
    await lifespan
    print(json.dumps({"answer": answer, "loaded": loaded}))

asyncio.run(main())
"""


def test_a_server_that_listens_has_loaded_all_that_a_first_write_needs(home: Instance) -> None:
    *_, minted = home.commands("flux_agent create first --capability grains.write", "flux_token mint first --json")
    settings = {"FLUX_MCP_PORT": "1", "TOKEN": json.loads(minted)["token"], "ENVELOPE": json.dumps(envelope("raw"))}
    environment = {**home.environment, **settings}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_WRITE], env=environment, cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert "grain_id" in found["answer"], found
    ours = ("accounts", "celery", "flux", "fluxcore", "fluxsite", "kombu", "mcp", "mcp_bridge", "memory", "pydantic")
    assert [name for name in found["loaded"] if name.partition(".")[0] in (*ours, "rest_framework")] == []
