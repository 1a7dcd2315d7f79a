"""LangGraph's store: every operation on `InMemoryStore` and on keys, directly and awaited, and in a graph."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, MatchCondition, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from flux.adapters.langgraph import LangGraphStore
from flux.client import FluxClient
from flux.exact import AgentMemory, Blackboard
from tests.adapters.comparison import Comparison, outcome

ANN, BOB, TEAM = ("users", "ann"), ("users", "bob"), ("team", "docs", "v1")
COLOURS = {"colour": "red", "n": 3, "tags": ["a", "b"], "deep": {"x": 1, "y": {"z": True}}, "none": None}
Step = tuple[str, str, tuple[Any, ...], dict[str, Any]]


def _step(title: str, method: str, *given: Any, **named: Any) -> Step:
    return title, method, given, named


def _filter(title: str, **wanted: Any) -> Step:
    return _step(f"filter {title}", "search", ("users",), filter=wanted)


STEPS = [
    _step("get what is missing", "get", ANN, "a"),
    _step("put", "put", ANN, "a", COLOURS),
    _step("get", "get", ANN, "a"),
    _step("put again", "put", ANN, "a", COLOURS | {"n": 4}),
    _step("get the new value", "get", ANN, "a"),
    _step("put an empty object", "put", ANN, "b", {}),
    _step("put any characters", "put", ANN, "c/*?%\\ ü\u0308 ✓", {"text": "Größe ✓ \u0000", "f": 1.5, "big": 2**50}),
    _step("get any characters", "get", ANN, "c/*?%\\ ü\u0308 ✓"),
    _step("put 440 Cyrillic letters", "put", ("люди",), "ж" * 440, {"n": 1}),
    _step("get 440 Cyrillic letters", "get", ("люди",), "ж" * 440),
    _step("put 440 characters of CJK", "put", ("人",), "猫" * 440, {"n": 1}),
    _step("search 440 of CJK", "search", ("人",)),
    _step("put other forms of letters", "put", ("u\u0308", "Å", "\u1112\u1161"), "ü", {"n": 1}),
    _step("put a precomposed label", "put", ("ü", "Å", "하"), "ü", {"n": 2}),
    _step("search by another form", "search", ("u\u0308",)),
    _step("put a key of dots", "put", ANN, "..", {"n": 1}),
    _step("get a key of dots", "get", ANN, ".."),
    _step("put a number as key", "put", ANN, 7, {"n": 7}),
    _step("get a number as key", "get", ANN, "7"),
    _step("delete", "delete", ANN, ".."),
    _step("delete again", "delete", ANN, ".."),
    _step("delete", "delete", ANN, 7),
    _step("get what was deleted", "get", ANN, ".."),
    _step("put for another", "put", BOB, "a", {"colour": "blue", "n": 10}),
    _step("put for another", "put", BOB, "b", {"colour": "red", "n": -1.5, "tags": ["a"]}),
    _step("put in a namespace like it", "put", ("users", "ann2"), "a", {"n": 0}),
    _step("put below a namespace", "put", (*ANN, "below"), "a", {"n": 5, "deep": {"x": 2}}),
    _step("put in any namespace", "put", ("a/b", "*", "ü %"), "a", {"n": 1}),
    _step("put elsewhere", "put", TEAM, "a", {"n": 1}),
    _step("an empty namespace", "put", (), "a", {}),
    _step("an empty label", "put", ("a", ""), "a", {}),
    _step("a label with a period", "put", ("a.b",), "a", {}),
    _step("the root langgraph", "put", ("langgraph", "x"), "a", {}),
    _step("search all", "search", (), limit=50),
    _step("search a prefix", "search", ("users",)),
    _step("search a namespace", "search", ANN),
    _step("search any namespace", "search", ("a/b", "*")),
    _step("search nothing", "search", ("nobody",)),
    _step("search, limit 1", "search", BOB, limit=1),
    _step("search, offset 1", "search", BOB, offset=1),
    _step("search, beyond the end", "search", BOB, offset=9),
    _step("search, limit 0", "search", BOB, limit=0),
    _step("search, limit -1", "search", BOB, limit=-1),
    _step("search, offset -1", "search", BOB, offset=-1),
    _step("search, offset -2, limit 1", "search", BOB, offset=-2, limit=1),
    _filter("a member", colour="red"),
    _filter("two members", colour="red", n=4),
    _filter("null", none=None),
    _filter("a missing member", missing=1),
    _filter("a list", tags=["a", "b"]),
    _filter("a shorter list", tags=["a"]),
    _filter("an object", deep={"x": 1}),
    _filter("an object in an object", deep={"y": {"z": True}}),
    _filter("$eq", colour={"$eq": "blue"}),
    _filter("$ne", colour={"$ne": "red"}),
    _filter("in an object", deep={"x": {"$eq": 2}}),
    _filter("unknown operator", colour={"$in": ["red"]}),
    _step("filter $gt", "search", BOB, filter={"n": {"$gt": 0}}),
    _step("filter $gte", "search", BOB, filter={"n": {"$gte": 10}}),
    _step("filter $lt", "search", BOB, filter={"n": {"$lt": 10}}),
    _step("filter $lte and $gt", "search", BOB, filter={"n": {"$lte": 10, "$gt": -1.5}}),
    _step("filter, limit and offset", "search", ("users",), filter={"colour": "red"}, limit=1, offset=1),
    _step("namespaces", "list_namespaces"),
    _step("namespaces, prefix", "list_namespaces", prefix=("users",)),
    _step("namespaces, prefix *", "list_namespaces", prefix=("*", "ann")),
    _step("namespaces, long prefix", "list_namespaces", prefix=("users", "ann", "below", "x")),
    _step("namespaces, suffix", "list_namespaces", suffix=("v1",)),
    _step("namespaces, suffix *", "list_namespaces", suffix=("docs", "*")),
    _step("namespaces, both", "list_namespaces", prefix=("users",), suffix=("below",)),
    _step("namespaces, depth 1", "list_namespaces", max_depth=1),
    _step("namespaces, depth 2", "list_namespaces", prefix=("users",), max_depth=2),
    _step("namespaces, limit", "list_namespaces", limit=2),
    _step("namespaces, offset", "list_namespaces", limit=2, offset=1),
    _step("namespaces, offset -2", "list_namespaces", limit=1, offset=-2),
    _step("namespaces, limit -1", "list_namespaces", limit=-1),
    _step("batch of all kinds", "batch", [
        PutOp(BOB, "new", {"n": 1}),
        GetOp(BOB, "new"),
        GetOp(BOB, "a"),
        SearchOp(BOB),
        PutOp(BOB, "new", {"n": 2}),
        PutOp(BOB, "a", None),
        ListNamespacesOp((MatchCondition("prefix", ("users",)),)),
    ]),
    _step("after the batch", "search", BOB),
    _step("a batch of nothing", "batch", []),
    _step("an unknown operation", "batch", ["get"]),
    _step("a batch of 200 puts", "batch", [PutOp(("many",), f"{n:03}", {"n": n}) for n in range(200)]),
    _step("search page of 200", "search", ("many",), limit=150, offset=30),
    _step("search beyond 200", "search", ("many",), limit=150, offset=130),
    _step("delete 200", "batch", [PutOp(("many",), f"{n:03}", None) for n in range(200)]),
    _step("search what was deleted", "search", ("many",)),
]  # fmt: skip
WORDS = ("cats", "dogs", "like", "fish", "birds", "sing")
TEXTS = {"1": "cats like fish", "2": "dogs like cats", "3": "birds like singing", "4": "nothing fits at all"}


def _plain(value: Any) -> Any:
    """A result without its times, which are checked for their form, and without scores."""
    if isinstance(value, list):
        found = [_plain(one) for one in value]
        # Items of several namespaces have no order in common: there it is that of their first puts.
        names = {one.namespace for one in value if isinstance(one, SearchItem)}
        return sorted(found, key=lambda one: one[1:3]) if len(names) > 1 else found
    if isinstance(value, Item):
        recent = all(abs((at - datetime.now(UTC)).total_seconds()) < 600 for at in (value.created_at, value.updated_at))
        return [type(value).__name__, "/".join(value.namespace), value.key, value.value, "now" if recent else "old"]
    return "/".join(value) if isinstance(value, tuple) else value


def _shown(value: Any) -> Any:
    """A result in few words: of items their keys."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        names = (f"{one[1]}/{one[2]}" if isinstance(one, list) else str(one) for one in value)
        return f"{len(value)}: " + ", ".join(names)
    return value[3] if isinstance(value, list) and value and value[0] == "Item" else value


async def _compare(table: Comparison, ours: Any, prefix: str) -> None:
    own = InMemoryStore()
    for title, method, given, named in STEPS:
        found = [_plain(await outcome(getattr(one, prefix + method), *given, **named)) for one in (own, ours)]
        table.row(title, *found, _shown)
        if title == "get what is missing":
            own._data.clear()  # it counts a namespace that was only read as one
        if title.startswith("delete 200"):
            own._data.pop(("many",))  # and one without items


def _compare_queries(table: Comparison, ours: Any) -> None:
    """Ranking by words and by recall, compared with vectors that count words."""

    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(text.count(word)) for word in WORDS] for text in texts]

    own = InMemoryStore(index={"dims": len(WORDS), "embed": embed, "fields": ["text"]})
    for store in (own, ours):
        for key, text in TEXTS.items():
            store.put(("facts",), key, {"text": text, "even": int(key) % 2 == 0})
    for query in ("cats like fish", "dogs like cats", "fish"):
        for named in ({"limit": 1}, {"limit": 1, "filter": {"even": True}}):
            found = [[one.key for one in store.search(("facts",), query=query, **named)] for store in (own, ours)]
            table.row(f"query {query}, {len(named) - 1} filters", *found)
    words = LangGraphStore(ours.keys, index=False)
    scores = [(one.key, one.score) for one in words.search(("facts",), query="Cats, fish!")]
    table.holds("scores: share of words", scores, [("1", 1.0), ("2", 0.5), ("3", 0.0), ("4", 0.0)])


def _check_recall(table: Comparison, keys: AgentMemory) -> None:
    """Ranking by recall, of items that have been indexed and of those that have not."""
    store = LangGraphStore(keys, folder="recalled")

    def found(query: str, **named: Any) -> list[Any]:
        return [one.key for one in store.search(("facts",), query=query, **named)]

    def is_ready(key: str) -> bool:
        """Whether an item is indexed, and its vector is there: both decide how it ranks."""
        passages = keys.client.memory_passages(keys.name, f"recalled/facts/{key}")["passages"]
        return bool(passages) and all(keys.client.get_grain(one["id"])["enriched"] for one in passages)

    def wait_for(key: str) -> None:
        until = time.monotonic() + 60
        while not is_ready(key) and time.monotonic() < until:
            time.sleep(0.1)

    for key, text in TEXTS.items():
        store.put(("facts",), key, {"text": text, "even": int(key) % 2 == 0})
    table.holds("made recallable", keys.client.memory_recallable(keys.name)["prefixes"], ["langgraph/", "recalled/"])
    table.holds("a fresh put is found", found("cats like fish", limit=1), ["1"])
    for key in TEXTS:
        wait_for(key)
    # By stems: no item has the words of this query.
    table.holds("recall: singing bird", found("a singing bird", limit=1), ["3"])
    table.holds("recall: fished", found("Which cat fishes?", limit=1), ["1"])
    table.holds("recall and a filter", found("Who has a dog?", limit=1, filter={"even": True}), ["2"])
    table.holds("recall, all and offset", sorted(found("Which cat fishes?", offset=1)), ["2", "3", "4"])
    table.holds("recall elsewhere", [one.key for one in store.search(("other",), query="cats")], [])
    store.put(("facts",), "5", {"text": "cats like fish and milk"})
    table.holds("a fresh put beside recalled", found("cats like fish and milk", limit=1), ["5"])
    store.put(("facts",), "1", {"text": "snakes like frogs"})
    table.holds("an overwritten item", found("snakes like frogs", limit=1), ["1"])
    store.delete(("facts",), "5")
    table.holds("a deleted item", "5" in found("cats like fish and milk"), False)


def _compare_graphs(table: Comparison, ours: Any) -> None:
    """A graph that remembers what it was told and counts what it knows."""

    class State(TypedDict):
        said: str
        known: int

    def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
        store.put(("graph", "ann"), state["said"], {"said": state["said"]})
        return {"known": len(store.search(("graph",)))}

    def run(store: Any) -> list[Any]:
        graph = StateGraph(State)
        graph.add_node("remember", remember)
        graph.add_edge(START, "remember")
        graph.add_edge("remember", END)
        compiled = graph.compile(store=store)
        return [compiled.invoke({"said": said, "known": 0}) for said in ("one", "two", "one")]

    table.row("a graph with this store", run(InMemoryStore()), run(ours))


def _check_lifetimes(table: Comparison, keys: AgentMemory) -> None:
    """TTL, which InMemoryStore does not have: its rules are in the documentation of BaseStore."""
    store = LangGraphStore(keys, folder="lifetimes", ttl={"default_ttl": 60, "refresh_on_read": True})

    def expiry(key: str) -> Any:
        entry = keys.entry(f"lifetimes/a/{key}")
        return entry and entry["expires_at"]

    store.put(("a",), "by default", {})
    store.put(("a",), "never", {}, ttl=None)
    store.put(("a",), "long", {"n": 1}, ttl=120)
    table.holds("default_ttl", bool(expiry("by default")))
    table.holds("ttl=None", expiry("never"), None)
    moments = [expiry("long")]
    for read in (
        lambda: store.get(("a",), "long", refresh_ttl=False),
        lambda: store.search(("a",), refresh_ttl=False),
        lambda: store.get(("a",), "long"),
        lambda: store.search(("a",)),
        lambda: store.put(("a",), "long", {"n": 2}, ttl=120),
    ):
        time.sleep(0.01)
        read()
        moments.append(expiry("long"))
    later = [after > before for before, after in pairwise(moments)]
    table.holds("expiry: read, read, 3 refreshes", later, [False, False, True, True, True])
    store.put(("a",), "short", {}, ttl=0.5 / 60)
    until = time.monotonic() + 60
    while store.get(("a",), "short", refresh_ttl=False) is not None and time.monotonic() < until:
        time.sleep(0.1)
    table.holds("expired: get and search", [store.get(("a",), "short"), len(store.search(("a",)))], [None, 3])


async def _check_limits(table: Comparison, ours: Any) -> None:
    """What InMemoryStore takes, as it keeps objects in memory, and JSON or a key of the server does not."""
    for title, value in (
        ("2^53", 2**53),
        ("NaN", float("nan")),
        ("infinity", float("inf")),
        ("a datetime", datetime.now(UTC)),
        ("bytes", b"x"),
    ):
        answer = await outcome(ours.put, ("limits",), "a", {"value": value})
        table.holds(f"refused: {title}", answer is not None)
    for title, method, given in (
        ("put", ours.put, (("limits",), "x" * 600, {})),
        ("get", ours.get, (("limits",), "x" * 600)),
        ("search", ours.search, (("x" * 600,),)),
    ):
        answer = await outcome(method, *given)
        table.holds(f"{title}: 600 characters", str(answer).partition(" take ")[0], "ValueError: Namespace and key")
    table.holds("nothing of it is there", ours.search(("limits",)), [])


async def main() -> None:
    logging.getLogger("langgraph.store.memory").setLevel(logging.ERROR)  # it recommends numpy for its vectors
    with FluxClient() as client:
        keys = AgentMemory(client)
        table = Comparison("LangGraph's store: batch", "InMemoryStore")
        ours = LangGraphStore(keys)
        await _compare(table, ours, "")
        _compare_queries(table, ours)
        await _check_limits(table, ours)
        _check_recall(table, keys)
        _compare_graphs(table, ours)
        _check_lifetimes(table, keys)
        table.end()
        table = Comparison("LangGraph's store: abatch, on a board", "InMemoryStore")
        client.make_board("langgraph")
        await _compare(table, LangGraphStore(Blackboard(client, "langgraph"), folder="any*/where"), "a")
        table.end()


if __name__ == "__main__":
    asyncio.run(main())
