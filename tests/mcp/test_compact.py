"""Short answers: fields with default values are left out, and texts fit into max_tokens"""

from __future__ import annotations

import orjson
import pytest

from fluxcore.errors import Invalid
from mcp_bridge import compact


def grain(content: str) -> dict[str, object]:
    return {"id": "x", "content": content, "provenance": "ai_stated"}


def size(grains: list[dict[str, object]]) -> int:
    return sum(len(orjson.dumps(one)) for one in grains)


def test_what_is_usual_is_not_said() -> None:
    full = {
        "id": "x",
        "content": "a",
        "provenance": "ai_stated",
        "origin": "ai_stated",
        "authority": "user_stated",
        "score": 0.5,
        "status": "active",
        "time": None,
        "session": None,
        "speaker": "Ada",
        "tags": [],
        "pinned": False,
        "valid_from": None,
        "valid_to": None,
        "writers": 1,
        "said": 3,
        "decay_class": "working",
        "confidence": 1.0,
    }
    assert compact.compact_grain(full) == {
        "id": "x",
        "content": "a",
        "provenance": "ai_stated",
        "score": 0.5,
        "authority": "user_stated",
        "speaker": "Ada",
        "said": 3,
    }


def test_what_fits_is_whole() -> None:
    given = [grain("a" * 100), grain("b" * 100)]
    assert compact.fit_grains(given, size(given)) == (given, 0)


def test_a_long_text_leaves_room_for_those_behind_it() -> None:
    kept, omitted = compact.fit_grains([grain("a" * 10_000), grain("b" * 200), grain("c" * 200)], 2000)
    assert [one["content"][0] for one in kept] == ["a", "b", "c"] and omitted == 0
    assert kept[0]["cut"] and kept[0]["content"].endswith(compact.CUT) and "cut" not in kept[1]
    assert size(kept) <= 2000


def test_those_without_room_are_counted() -> None:
    kept, omitted = compact.fit_grains([grain("a" * 500) for _ in range(10)], 1200)
    assert len(kept) + omitted == 10 and omitted > 0
    assert size(kept) <= 1200 + compact.LEAST_LEFT


def test_a_cut_never_splits_a_character() -> None:
    for room in range(20, 40):
        cut = compact.shorten_text("ä€😀" * 20, room)
        assert len(cut.encode()) <= room and "\ufffd" not in cut


@pytest.mark.parametrize("given", [0, 99, 50_001, "many", True, 1.5])
def test_a_budget_that_is_none(given: object) -> None:
    with pytest.raises(Invalid):
        compact.text_budget(given)
