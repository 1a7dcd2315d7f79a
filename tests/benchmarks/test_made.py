"""The generated sets: the same every time, labelled truthfully, of several shapes."""

from __future__ import annotations

import json

import pytest

from benchmarks.made.__main__ import sets
from benchmarks.made.conversations import conversation
from benchmarks.spaces import moment

SMALL = sets(small=True)


def test_the_same_seed_writes_the_same_texts_and_another_seed_others() -> None:
    assert json.dumps(sets(small=True)) == json.dumps(SMALL)
    assert conversation(0, seed=2, sessions=3, events=5).items != conversation(0, seed=1, sessions=3, events=5).items


def test_there_are_chats_passages_assistants_notes_and_languages() -> None:
    assert [one["name"] for one in SMALL] == [
        "made-chats",
        "made-passages",
        "made-assistant",
        "made-notes",
        "made-languages",
    ]


@pytest.mark.parametrize("made", SMALL, ids=lambda made: made["name"])
def test_evidence_is_of_the_collection_and_times_can_be_read(made: dict) -> None:
    for collection in made["collections"]:
        ids = [item["id"] for item in collection["items"]]
        assert len(set(ids)) == len(ids)
        assert collection["queries"]
        for query in collection["queries"]:
            assert set(query["evidence"]) <= set(ids)
            assert bool(query["evidence"]) == (query["category"] != "no answer")
            assert "{" not in query["query"]
        for item in collection["items"]:
            assert "{" not in item["text"]
            assert not item["time"] or moment(item["time"]) is not None


def test_questions_are_of_many_kinds() -> None:
    asked = {query["category"] for made in SMALL for one in made["collections"] for query in one["queries"]}
    assert {"single", "multi-hop", "temporal", "preference", "instruction", "ordering", "update", "no answer"} <= asked
