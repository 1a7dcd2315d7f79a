"""AgentMemory and Blackboard against a real REST server, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from flux import errors, exact, exact_async
from flux.client import AsyncFluxClient, FluxClient
from flux.exact import AgentMemory, Blackboard
from flux.exact_async import AsyncAgentMemory, AsyncBlackboard

EXACT = ("memory.read", "memory.write", "bb.read", "bb.write")


@pytest.fixture
def server(live_server, make_token):
    return {"url": live_server.url, "token": make_token(capabilities=EXACT)}


def test_memory_of_ones_own(server):
    with FluxClient(**server) as flux:
        memory = AgentMemory(flux)
        assert memory.memory_get("config") is None
        assert memory.memory_set("config", {"theme": "dark"}, 3600)["version"] == 1
        assert memory.memory_get("config") == {"theme": "dark"}
        assert memory.entry("config")["expires_at"]
        assert memory.cas("config", 1, None)["version"] == 2
        assert memory.get("config", "nothing") is None, "a null is a value"
        with pytest.raises(errors.Conflict) as refusal:
            memory.cas("config", 1, "late")
        assert refusal.value.details["current_version"] == 2
        with pytest.raises(ValueError, match="nothing to compare with"):
            memory.cas("config", None, "compared with nothing")
        assert memory.incr("n") == 1 and memory.incr("n", 2.5) == 3.5
        assert memory.append("list", None)["value"] == [None]
        assert memory.patch("o", {"a": 1})["value"] == {"a": 1}
        assert list(memory.keys("c*")) == ["config"]
        assert memory.history("config", 1)["value"] == {"theme": "dark"}
        assert memory.restore("config", 1)["version"] == 3
        assert memory.touch("config", 5)["expires_at"]
        assert memory.delete("config", 3)["deleted"] is True
        assert memory.list("a/**")["count"] == 0
        memory.set("a/b c", 1)
        assert memory.get("a/b c") == 1
        for key in (".", "..", "a/../b", "a/", "%2F", "?x#y"):
            memory.set(key, key)
            assert memory.get(key) == key
        assert flux.memory_batch("alice", [{"op": "set", "key": "x", "value": None}])["count"] == 1


def test_a_change_that_loses_is_made_again(server):
    with FluxClient(**server) as flux:
        memory = AgentMemory(flux, "alice")
        seen = []

        def add(value):
            seen.append(value)
            if len(seen) == 1:
                memory.set("n", 10)  # somebody is faster
            return (value or 0) + 1

        assert memory.cas_retry("n", add) == 11
        assert seen == [None, 10]
        with pytest.raises(errors.Conflict):
            memory.cas_retry("n", lambda value: memory.set("n", 0) and 1, tries=2)


def test_a_lock_in_a_with(server):
    with FluxClient(**server) as flux:
        board = Blackboard(flux)
        with board.lock("deploy", 30) as held:
            assert held.set("out", 1)["version"] == 1
            with pytest.raises(errors.Held), board.lock("deploy", wait=0.15):
                pass
            first = held.token
        with board.lock("deploy", 30, renew=False) as held:
            assert held.token == first + 1
            with pytest.raises(errors.Fenced):
                board.set("out", 2, fence={"lock": "deploy", "token": first})
        assert flux.list_locks()["locks"] == []
        assert board.cas_value("l", None, "me")["version"] == 1
        assert board.cas_value("l", "me", None)["deleted"] is True
        with board.lock("short", 0.3) as held:
            held.renew()
            flux.release_lock("short", held.token)
            with pytest.raises(errors.Fenced):
                held.renew()
        assert held.lost.is_set()


def test_queues_boards_and_watching(server):
    with FluxClient(**server) as flux:
        assert flux.make_board("ops", True)["ephemeral"] is True
        here = flux.watch("boards/ops", wait=0)["position"]
        flux.add_task("q", None, board="ops")
        claimed = flux.claim_task("q", 60, board="ops")
        flux.renew_task("q", claimed["task"], claimed["token"], 60, board="ops")
        flux.release_task("q", claimed["task"], claimed["token"], board="ops")
        again = flux.claim_task("q", board="ops")
        flux.finish_task("q", again["task"], again["token"], board="ops")
        assert flux.list_queues("ops")["queues"] == []
        assert [one["board"] for one in flux.list_boards()["boards"]] == ["ops"]
        kinds, position = [], here
        while len(kinds) < 6:
            told = flux.watch("boards/ops", since=position, wait=5)
            kinds, position = kinds + [one["kind"] for one in told["changes"]], told["position"]
        assert kinds == [f"queue.{what}" for what in ("added", "claimed", "renewed", "released", "claimed", "done")]


def test_the_same_awaited(server):
    async def talk():
        async with AsyncFluxClient(**server) as flux:
            memory, board = AsyncAgentMemory(flux), AsyncBlackboard(flux)
            await memory.memory_set("n", 0)
            assert [key async for key in memory.keys("n*")] == ["n"]
            await asyncio.gather(*(memory.cas_retry("n", lambda value: value + 1) for _ in range(5)))
            async with board.lock("l", 30, wait=None) as held:
                await held.set("out", 1)
                with pytest.raises(errors.Held):
                    async with board.lock("l"):
                        pass
            assert not held.lost.is_set()
            await board.cas_value("v", None, 1)
            return await memory.memory_get("n"), await board.get("out"), await memory.get("none", 7)

    assert asyncio.run(talk()) == (5, 1, 7)


def _public(kind):
    """Each public method with what it takes; attributes that are asked for without a call have None."""
    found = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
    return {
        name: [
            (one.name, one.kind, one.default) for one in inspect.signature(inspect.unwrap(value)).parameters.values()
        ]
        if callable(value)
        else None
        for name, value in found.items()
    }


# A property cannot be awaited, and an agent's name is asked of the server.
DIFFER = {"AgentMemory": {"name"}, "Blackboard": {"name"}, "LockHandle": set()}


@pytest.mark.parametrize("name", DIFFER)
def test_the_objects_to_await_have_the_same_methods(name):
    waits, awaits = _public(getattr(exact, name)), _public(getattr(exact_async, f"Async{name}"))
    assert set(waits) == set(awaits)
    assert {method: waits[method] for method in waits if waits[method] != awaits[method]}.keys() <= DIFFER[name]


def test_every_object_has_one_to_await():
    for module, prefix in ((exact, ""), (exact_async, "Async")):
        here = {
            name for name, one in vars(module).items() if inspect.isclass(one) and one.__module__ == module.__name__
        }
        assert {name for name in here if not name.startswith("_")} == {f"{prefix}{name}" for name in DIFFER}
