"""A program written from seed 001's page on MemoryStore."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.xdist_group("seed_programs")  # one instance serves all files of this folder


def test_the_documented_flow(served):
    said = served.program("memory_store.py", **served.server)
    assert said.pop("address").startswith("s3://bucket/agents/memory-store/v0/")
    assert said == {
        "exists": True,
        "protected": True,
        "escaped": True,
        "later": [True, False, True, "night", ["create", "update"], 3],
        "conflict": ["user/profile.json", True],
        "actual": True,
        "created": True,
        "profile": {"name": "Ann", "drinks": "coffee"},
        "earlier": {"name": "Ann"},
        "note": "likes tea\r\n",
        "missing": ["default", None, None],
        "paths": [["user/notes/tea.txt", "user/profile.json"], ["user/notes/tea.txt"], []],
        "meta": ["night", "she said so"],
    }
