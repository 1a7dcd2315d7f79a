"""The same collections as other people would have kept them: what the ranker must not depend on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Collection = dict[str, Any]
MIXED = "mixed"  # how the name of a mixture begins


def _with(collection: Collection, items: list[dict[str, Any]], name: str) -> Collection:
    return {**collection, "id": f"{collection['id']}/{name}", "items": items}


def without_speakers(collection: Collection) -> Collection:
    return _with(collection, [{**item, "speaker": ""} for item in collection["items"]], "without speakers")


def without_sessions(collection: Collection) -> Collection:
    items = [{**item, "session": "", "time": ""} for item in collection["items"]]
    return _with(collection, items, "without sessions")


def shuffled(collection: Collection) -> Collection:
    """As if it had been imported in no order: sessions and times are lost with it."""
    items = [{**item, "session": "", "time": ""} for item in collection["items"]]
    random.Random(collection["id"]).shuffle(items)
    return _with(collection, items, "shuffled")


def merged(collection: Collection) -> Collection:
    """Three turns of a session as one item; evidence is the item that holds it."""
    items: list[dict[str, Any]] = []
    into: dict[str, str] = {}
    for item in collection["items"]:
        last = items[-1] if items else None
        said = f"{item['speaker']}: {item['text']}" if item["speaker"] else item["text"]
        if last is None or last["session"] != item["session"] or last["parts"] >= 3:
            last = {**item, "text": said, "speaker": "", "parts": 1}
            items.append(last)
        else:
            last["text"] += f"\n{said}"
            last["parts"] += 1
        into[item["id"]] = last["id"]
    queries = [
        {**query, "evidence": list(dict.fromkeys(into[one] for one in query["evidence"]))}
        for query in collection["queries"]
    ]
    return {**_with(collection, items, "merged"), "queries": queries}


def mixed(one: Collection, other: Collection) -> Collection:
    """Two collections in one space."""
    items = [
        {**item, "id": f"{side['id']}|{item['id']}", "session": item["session"] and f"{side['id']}|{item['session']}"}
        for side in (one, other)
        for item in side["items"]
    ]
    queries = [
        {
            **query,
            "id": f"{side['id']}|{query['id']}",
            "evidence": [f"{side['id']}|{known}" for known in query["evidence"]],
        }
        for side in (one, other)
        for query in side["queries"]
    ]
    return {"id": f"{one['id']}+{other['id']}/{MIXED}", "items": items, "queries": queries}


SINGLE: dict[str, Callable[[Collection], Collection]] = {
    "without speakers": without_speakers,
    "without sessions": without_sessions,
    "shuffled": shuffled,
    "merged": merged,
}
