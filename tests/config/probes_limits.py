"""Probes of the keys about limits, and of those about keys and boards."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

from fluxcore import clock
from fluxcore.models import Event
from fluxcore.work import jobs, worker
from fluxcore.writes import booth
from tests.config.probing import ProbeWorld, probe
from tests.conftest import Api

MINE = "/agents/alice/kv"


@probe("READ_WORKERS", 1, stored=True)
def recalls_at_once(world: ProbeWorld) -> object:
    from memory.recall import recall

    world.patch.setattr(recall, "_slots", None)
    world.memory().ask("anything")
    places = recall._slots
    assert places is not None
    waiting = [places.join(f"space {number}", "agent") for number in range(8)]
    granted = sum(one.granted for one in waiting)
    for one in waiting:
        one.leave()
    return granted


@probe("ARENA_MEMORY_MB", 1)
def arenas_that_are_kept(world: ProbeWorld) -> object:
    from memory.arena.cache import ArenaCache

    cache = ArenaCache()
    for space in (1, 2):
        cache._add(SimpleNamespace(space=space, nbytes=1 << 20))  # type: ignore[arg-type]
    return list(cache.spaces())


@probe("MAX_GRAINS_PER_CALL", 1, stored=True)
@probe("MAX_GRAINS_PER_MINUTE", 1, stored=True)
@probe("MAX_GRAINS_PER_AGENT", 1, stored=True)
@probe("MAX_BYTES_PER_AGENT", 5, stored=True)
@probe("MAX_GRAINS_PER_SPACE", 1, stored=True)
@probe("MAX_BYTES_PER_SPACE", 5, stored=True)
@probe("MAX_GRAIN_BYTES", 5, stored=True)
def storing_three_grains(world: ProbeWorld) -> object:
    from memory.grains import store

    who = world.memory().principal
    items = [{"content": f"grain number {number}"} for number in range(3)]
    return [
        world.outcome(lambda: store.store_batch(who, items=items)),
        [world.outcome(lambda one=one: store.store(who, content=one["content"] + "!")) for one in items],  # type: ignore[misc]
    ]


@probe("MAX_RECALLS_PER_MINUTE", 1, stored=True)
def two_recalls(world: ProbeWorld) -> object:
    memory = world.memory()
    return [world.outcome(lambda: memory.ask("anything")) for _ in range(2)]


@probe("MAX_VOTES_PER_MINUTE", 1, stored=True)
def two_votes(world: ProbeWorld) -> object:
    memory = world.memory()
    grain = memory.store("The ferry leaves at nine")
    answer = memory.ask("When does the ferry leave?")
    return [world.outcome(lambda: memory.vote(answer["trace_id"], grain, True)) for _ in range(2)]


@probe("MAX_WRITE_QUEUE_DEPTH", 1)
def writers_that_may_wait(world: ProbeWorld) -> object:
    """Whoever finds as many writers before them as there may be is sent away."""
    queue = booth.Booth()
    with queue.condition:  # while it is held the booth takes nobody out of the line
        found = [world.outcome(lambda: queue.put(lambda: None)) for _ in range(2)]
        queue.waiting.clear()
    return found


# Key-value memory ---------------------------------------------------------------------------------


def _statuses(api: Api, *writes: tuple[str, object]) -> list[int]:
    return [api.put(f"{MINE}/{key}", {"value": value}).status_code for key, value in writes]


@probe("MAX_KV_VALUE_BYTES", 5, stored=True)
@probe("MAX_KV_KEYS", 1, stored=True)
@probe("MAX_KV_BYTES", 20, stored=True)
@probe("MAX_KV_WRITES_PER_MINUTE", 1, stored=True)
def writing_keys(world: ProbeWorld) -> object:
    return _statuses(world.api(), ("a", "x" * 12), ("b", "y" * 12))


@probe("KV_HISTORY_VERSIONS", 1, stored=True)
def versions_of_a_key(world: ProbeWorld) -> object:
    api = world.api()
    _statuses(api, *(("a", value) for value in range(5)))
    return len(api.get("/agents/alice/history/a").json()["versions"])


@probe("MAX_BOARDS_PER_AGENT", 1, stored=True)
@probe("MAX_BOARDS_PER_SPACE", 1, stored=True)
def making_boards(world: ProbeWorld) -> object:
    api = world.api()
    return [api.post("/boards", {"board": name}).status_code for name in ("one", "two")]


@probe("KV_EXPIRY_GRACE_HOURS", 0.0, stored=True)
def value_of_an_expired_key(world: ProbeWorld) -> object:
    from memory.keyvalue import expiry, expiry_clock
    from memory.keyvalue.models import Item

    api = world.api()
    api.put(f"{MINE}/a", {"value": 1, "ttl_secs": 10})

    def sweep() -> None:
        later = expiry_clock.current() + 60
        expiry.emit_expired(later)
        expiry.destroy(later)

    booth.write(sweep)
    return Item.objects.latest("id").value


@probe("KV_HISTORY_DAYS", 1.0, stored=True)
@probe("KV_WATCH_DAYS", 0.5, stored=True)
def history_and_news_after_two_days(world: ProbeWorld) -> object:
    from memory.keyvalue import expiry
    from memory.keyvalue.models import Item, Revision

    api = world.api()
    _statuses(api, ("a", 1), ("a", 2))
    Revision.objects.update(at=clock.now() - timedelta(days=2))
    Event.objects.update(at=clock.now() - timedelta(days=2))
    booth.write(expiry.prune_history)
    booth.write(expiry.prune_events)
    item = Item.objects.latest("id")
    news = Event.objects.filter(space=item.namespace.space_id, kind="kv.set")
    return Revision.objects.filter(item=item).count(), news.count()


@probe("KV_TOMBSTONES", 0, stored=True)
def deleted_keys_that_are_remembered(world: ProbeWorld) -> object:
    from memory.keyvalue.jobs import FORGET_DELETED
    from memory.keyvalue.models import Item

    api = world.api()
    _statuses(api, ("a", 1))
    number = Item.objects.latest("id").pk
    api.delete(f"{MINE}/a")
    booth.write(lambda: jobs.enqueue(FORGET_DELETED, once_key="all"))
    worker.drain()
    return Item.objects.filter(pk=number).exists()
