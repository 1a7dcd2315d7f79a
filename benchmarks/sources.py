"""How good recall is where the same texts are in stores: `python -m benchmarks.sources FOLDER`.

Each collection is stored three times, in spaces of their own: as memories, as messages of a transcript, and as files of
one text each. The same questions are asked with the same k. FOLDER holds files in the format of `benchmarks/spaces.py`;
without it the generated sets are measured.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks import measure, service, spaces
from benchmarks.made.__main__ import sets as made_sets
from benchmarks.spaces import moment

K, PART = 20, 500
COLUMNS = ("recall@5", "recall@10", "ndcg@10", "mrr")
Ask = Callable[[str], list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--encoder", default="wordllama", choices=("minilm", "wordllama", "hashed", "none"))
    parser.add_argument("--collections", type=int, default=1_000, help="so many of each set")
    given = parser.parse_args()
    service.prepare(given.encoder)
    for one in _sets(given.folder):
        collections = one["collections"][: given.collections]
        for kind, stored in (("memories", _memories), ("messages", _messages), ("files", _files)):
            rows = [
                row for number, part in enumerate(collections) for row in _rows(part, stored(one["name"], number, part))
            ]
            found = measure.mean(rows)
            print(
                json.dumps(
                    {"set": one["name"], "as": kind, "questions": len(rows)}
                    | {name: round(100 * found[name], 1) for name in COLUMNS}
                ),
                flush=True,
            )


def _sets(folder: Path | None) -> Iterable[dict[str, Any]]:
    return [spaces.read(path) for path in sorted(folder.glob("*.json"))] if folder else made_sets(small=True)


def _rows(collection: dict[str, Any], ask: Ask) -> list[dict[str, float]]:
    asked = (query for query in collection["queries"] if query["evidence"] and not measure.apart(query["category"]))
    return [measure.scored(ask(query["query"]), query["evidence"]) for query in asked]


def _memories(name: str, number: int, collection: dict[str, Any]) -> Ask:
    stored = service.stored(name, number, collection)
    return lambda text: stored.items(stored.ask(text, K))


def _messages(name: str, number: int, collection: dict[str, Any]) -> Ask:
    """Messages of one transcript, in the sessions, with the speakers and times of the items."""
    from accounts.calls import handler
    from flux.calls.transcripts import AppendMessages

    who = _space(f"messages-{name}-{number}")
    items, order = collection["items"], []
    for session, group in groupby(items, key=lambda item: str(item["session"])):
        part = list(group)
        for begin in range(0, len(part), PART):
            said = part[begin : begin + PART]
            more = {"session": session} if session else {}
            handler(AppendMessages)(who, store="source", messages=[_message(item) for item in said], **more)
            order += [item["id"] for item in said]
    _index()
    return lambda text: _found(who, text, lambda cited: order[cited["message"] - 1])


def _message(item: dict[str, Any]) -> dict[str, Any]:
    said = moment(item["time"])
    found = {"role": "user", "content": item["text"], "name": item.get("speaker")}
    return {
        **{key: value for key, value in found.items() if value},
        **({"timestamp": said.isoformat()} if said else {}),
    }


def _files(name: str, number: int, collection: dict[str, Any]) -> Ask:
    """Files of one text each."""
    from memory.artifacts import files

    who = _space(f"files-{name}-{number}")
    ids = {}
    for place, item in enumerate(collection["items"]):
        ids[f"{place}.txt"] = item["id"]
        files.put_file(who, store="source", path=f"{place}.txt", content=files.of_text(item["text"]))
    _index()
    return lambda text: _found(who, text, lambda cited: ids[cited["path"]])


def _space(name: str) -> Any:
    from accounts import agents
    from accounts.principals import find_space, shell
    from memory.artifacts import stores

    agents.create_space(shell(), name=name)
    who = shell(find_space(name))
    stores.create_store(who, key="source", recallable=True)
    return who


def _index() -> None:
    from fluxcore.work import worker

    worker.drain(seconds=service.SECONDS)


def _found(who: Any, text: str, item_of: Callable[[dict[str, Any]], str]) -> list[str]:
    """Items of the results, best first, and of equal texts one after the other."""
    from memory.grains import sources
    from memory.grains.models import Grain
    from memory.recall.recall import recall

    found: list[str] = []
    for grain in recall(who, query=text, k=K)["grains"]:
        found.append(item_of(grain["citation"]))
        same = list(Grain.objects.filter(uuid__in=grain["same"]).values_list("pk", "status"))
        found += [item_of(cited) for cited in sources.citations(who, who.space, same).values()]
    return list(dict.fromkeys(found))


if __name__ == "__main__":
    main()
