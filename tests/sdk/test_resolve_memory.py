"""The memory of a run, which goes on without one if it cannot be opened."""

from __future__ import annotations

import asyncio
import socket

from flux import agents
from flux.agents import resolve_memory, resolve_memory_sync
from flux.memory import keyed
from tests.servers import free_port


def test_resolve_memory_never_breaks_a_run(server, monkeypatch, caplog):
    assert asyncio.run(resolve_memory("run")).key == "run"
    assert resolve_memory_sync("run", audit=False).audit is True, "the store is there, with its policy"
    for nothing in ("", None, "a/b"):
        assert asyncio.run(resolve_memory(nothing)) is None
    monkeypatch.setenv("FLUX_TOKEN", "wrong")
    assert asyncio.run(resolve_memory("run")) is None
    assert "cannot be opened" in caplog.text


def test_a_server_that_never_answers_is_asked_once(monkeypatch, caplog):
    """It accepts connections and says nothing. Counted, because a time would depend on the machine."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("FLUX_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert resolve_memory_sync("run", seconds=0.2) is None
        assert "did not answer within 0.2 seconds" in caplog.text
        silent.setblocking(False)
        asked = 0
        while True:
            try:
                silent.accept()[0].close()
            except BlockingIOError:
                break
            asked += 1
    assert asked == 1 and agents.OPENING <= 5


def test_a_server_that_is_not_there(monkeypatch, caplog):
    monkeypatch.setenv("FLUX_URL", f"http://127.0.0.1:{free_port()}")
    assert asyncio.run(resolve_memory("run", seconds=0.2)) is None
    assert "cannot be reached" in caplog.text


def test_the_run_uses_the_client_of_all_stores(server):
    """Only to open it, nothing is waited for; a long flush has the time of every other."""
    memory = resolve_memory_sync("run")
    assert memory._tree.client is keyed.client_of(None)
    memory.append({"role": "user", "content": "hi"})
    memory.save()
    assert len(resolve_memory_sync("run").messages) == 1
