"""Local agents on the server's socket: one agent's calls leave threads for others, a session has so many under way"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fluxcore.errors import Busy
from mcp_bridge import errors, fair_threads, local_socket, relay
from mcp_bridge.fair_threads import FairThreads
from mcp_bridge.proxy import envelope
from mcp_bridge.threads import run_in_threads

PLACES, MOST = 8, 32


def test_forty_calls_of_one_agent_keep_nobody_waiting() -> None:
    """Alice's calls end when the test says so, and it does so after Bob has been answered."""
    opened = threading.Event()

    async def run() -> None:
        with ThreadPoolExecutor(PLACES) as pool:
            threads = FairThreads(run_in_threads(pool), PLACES)
            sessions = [threads.of_session(("home", "alice"), MOST) for _ in range(2)]
            held = [asyncio.ensure_future(sessions[at % 2](opened.wait, 60)) for at in range(40)]
            try:
                await asyncio.sleep(0)
                others = [threads.of_session((space, "bob"), MOST) for space in ("home", "elsewhere")]
                for other in others:
                    assert await asyncio.wait_for(other(lambda: "answered"), 30) == "answered"
                assert not any(one.done() for one in held)
            finally:
                opened.set()
            assert await asyncio.gather(*held) == [True] * 40  # those that waited had their turn
            assert not threads.shares._held

    asyncio.run(run())


def test_a_session_has_so_many_calls_under_way() -> None:
    opened = threading.Event()

    async def run() -> None:
        with ThreadPoolExecutor(PLACES) as pool:
            threads = FairThreads(run_in_threads(pool), PLACES)
            session, another = (threads.of_session(("home", "alice"), MOST) for _ in range(2))
            held = [asyncio.ensure_future(session(opened.wait, 60)) for _ in range(MOST)]
            try:
                await asyncio.sleep(0)
                with pytest.raises(Busy, match="32 calls under way"):
                    await session(opened.wait, 0)
                held.append(asyncio.ensure_future(another(opened.wait, 60)))
                await asyncio.sleep(0)
                assert not held[-1].done()  # it waits for a thread, and is not refused
            finally:
                opened.set()
            assert await asyncio.gather(*held) == [True] * (MOST + 1)
            assert await session(opened.wait, 0)

    asyncio.run(run())


def test_a_thread_is_its_sessions_until_it_has_ended() -> None:
    """Whoever hangs up and comes again would have more threads than its share."""
    opened = threading.Event()

    async def run() -> None:
        with ThreadPoolExecutor(PLACES) as pool:
            threads = FairThreads(run_in_threads(pool), PLACES)
            held = asyncio.ensure_future(threads.of_session(("home", "alice"), MOST)(opened.wait, 60))
            try:
                await asyncio.sleep(0)
                held.cancel()
                await asyncio.wait([held])
                assert threads.shares._held.total() == 1
            finally:
                opened.set()
            while threads.shares._held:
                await asyncio.wait_for(threads._freed.wait(), 30)

    asyncio.run(run())


async def spoken(socket: str, agent: str, *messages: dict[str, Any]) -> Any:
    """The answer to the last of these messages of a session on the socket."""
    reader, writer = await asyncio.open_unix_connection(socket)
    hello = {"version": relay.VERSION, "storage": relay.storage_digest(), "space": "home", "agent": agent}
    writer.write(json.dumps({**hello, "ceiling": "ai_stated"}).encode() + b"\n")
    assert json.loads(await reader.readline())["ok"] is True
    for number, message in enumerate(messages, 1):
        meta = {"_meta": envelope("test")}
        message = {"jsonrpc": "2.0", "id": number, **message, "params": {**message.get("params", {}), **meta}}
        writer.write(json.dumps(message).encode() + b"\n")
        answer = json.loads(await asyncio.wait_for(reader.readline(), 60))
    writer.close()
    return answer


def test_a_session_of_the_socket_has_its_agents_share(
    transactional_db: None, make_token: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("alice", "bob"):
        make_token(name, space="home")
    monkeypatch.setattr(fair_threads, "PATIENCE_SECONDS", 0.0)

    async def run() -> tuple[Any, Any]:
        path = str(tmp_path / "s")
        server = await asyncio.start_unix_server(local_socket._session, path, limit=local_socket.LONGEST)
        taken = 0
        while local_socket._threads.shares.take("home", "alice"):
            taken += 1
        listed = {"method": "tools/list"}
        answers = await spoken(path, "alice", listed), await spoken(path, "bob", listed)
        for _ in range(taken):
            local_socket._threads.shares.leave("home", "alice")
        server.close()
        return answers

    refused, answered = asyncio.run(run())
    assert refused["error"]["code"] == errors.REFUSED and refused["error"]["data"]["code"] == "busy"
    assert (
        "Too many calls of this agent" in refused["error"]["message"] and refused["error"]["data"]["retry_after"] == 1
    )
    assert answered["result"]["tools"]
