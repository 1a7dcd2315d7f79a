"""A labelled set through the public service: stored by the verb, enriched by the job, asked by the verb."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from benchmarks.spaces import moment

BATCH = 100
SECONDS = 3_600.0


def prepare(encoder: str) -> None:
    """Django on a fresh home of its own, with the encoder as a person would choose it."""
    os.environ |= {"FLUX_DOOR": "shell", "FLUX_LOG_LEVEL": "WARNING"}
    os.environ.setdefault("FLUX_HOME", tempfile.mkdtemp(prefix="flux-quality-"))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    from fluxsite.home import current_home, make_home

    home = current_home()
    make_home(home)
    wanted = {"minilm": "all-MiniLM-L6-v2"}.get(encoder, encoder)
    home.config.write_text(f"OPERATING_MODE: caller_extracts\nEMBEDDING_MODEL_NAME: {wanted}\n")
    import django

    django.setup()
    from fluxsite import setup

    setup.bring_up_to_date(home)


def ranked(name: str, collections: list[dict[str, Any]], k: int) -> Iterator[tuple[dict[str, Any], list[str], float]]:
    """Each query of each collection with the items that came back, best first, and the confidence.

    Needs Django set up on an empty home (`benchmarks.home.prepare`).
    """
    for number, collection in enumerate(collections):
        space = stored(name, number, collection)
        for query in collection["queries"]:
            answer = space.ask(query["query"], k)
            yield query, space.items(answer), answer["confidence"]


@dataclass
class Stored:
    """A collection in a space of its own."""

    person: Any  # who stores and asks
    items_of: dict[str, list[str]]  # by grain

    def ask(self, text: str, k: int) -> dict[str, Any]:
        from memory.recall.recall import recall

        return recall(self.person, query=text, k=k)

    def items(self, answer: dict[str, Any]) -> list[str]:
        """What came back, best first, equal texts one after the other."""
        found = (grain for hit in answer["grains"] for grain in (hit["id"], *hit["same"]))
        return [item for grain in found for item in self.items_of[grain]]

    @cached_property
    def grain_of(self) -> dict[str, str]:
        return {item: grain for grain, items in self.items_of.items() for item in items}


def stored(name: str, number: int, collection: dict[str, Any]) -> Stored:
    """Through the verb, and enriched by the job."""
    space = f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}-{number}"
    from accounts.agents import create_space
    from accounts.principals import find_space, shell
    from fluxcore.work import worker
    from memory.grains.store import store_batch

    create_space(shell(), name=space, reason="benchmark")
    person = shell(find_space(space))
    items_of: dict[str, list[str]] = {}
    items = collection["items"]
    for begin in range(0, len(items), BATCH):
        part = items[begin : begin + BATCH]
        stored = store_batch(person, items=[_item(item) for item in part], reason="benchmark")
        for item, result in zip(part, stored["results"], strict=True):
            if result["error"] is not None:
                raise RuntimeError(f"{item['id']} was refused: {result['error']}")
            items_of.setdefault(result["grain_id"], []).append(item["id"])
    worker.drain(seconds=SECONDS)
    return Stored(person, items_of)


def _item(item: dict[str, Any]) -> dict[str, Any]:
    said = moment(item["time"])
    given = {
        "content": item["text"],
        "session": item["session"] or None,
        "speaker": item["speaker"] or None,
        "time": said.isoformat() if said else None,
    }
    return {name: value for name, value in given.items() if value is not None}
