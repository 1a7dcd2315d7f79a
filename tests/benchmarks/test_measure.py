"""The yardsticks: hand-made orders have the numbers anybody can work out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import measure, variants
from benchmarks.descent import minimum
from benchmarks.spaces import moment


def test_recall_and_ndcg_of_an_order() -> None:
    found = measure.scored(["x", "a", "y", "z", "w", "b"], ["a", "b"])
    assert found["recall@5"] == 0.5
    assert found["recall@10"] == found["all@10"] == 1.0
    assert found["mrr"] == 0.5
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / (1 + 1 / math.log2(3)))


def test_an_item_that_comes_twice_gains_nothing() -> None:
    assert measure.scored(["a", "a", "a"], ["a", "b"])["recall@10"] == 0.5


def test_a_confidence_that_is_right_has_no_error_and_one_that_boasts_has() -> None:
    true = np.array([0, 1] * 50, np.float64)
    assert measure.calibration(np.full(100, 0.5), true)[0] == pytest.approx(0)
    assert measure.calibration(np.full(100, 0.9), true)[0] == pytest.approx(0.4)


def test_questions_nothing_answers_are_counted_apart() -> None:
    assert all(map(measure.apart, ("adversarial", "abstention", "no answer", "multi-session_abs")))
    assert not measure.apart("single-hop")


def test_the_descent_finds_the_minimum_of_a_narrow_valley() -> None:
    def valley(at: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = at
        return (1 - x) ** 2 + 100 * (y - x * x) ** 2, np.array(
            [-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)]
        )

    assert np.allclose(minimum(valley, np.array([-1.2, 1.0]), steps=500, still=1e-14), [1, 1], atol=1e-3)


@pytest.mark.parametrize(
    "written",
    ["1:56 pm on 8 May, 2023", "March-15-2024", "2023/04/10 (Mon) 17:50", "2024-01-08T09:30:00+00:00", "8 May 2023"],
)
def test_dates_as_sets_write_them_are_read(written: str) -> None:
    found = moment(written)
    assert found is not None
    assert found.tzinfo is not None
    assert moment("some day") is None
    assert moment("") is None


CHAT = {
    "id": "c",
    "items": [
        {"id": str(n), "text": f"turn {n}", "time": "8 May 2023", "speaker": "Ann", "session": f"s{n // 4}"}
        for n in range(8)
    ],
    "queries": [{"id": "q", "query": "?", "evidence": ["1", "2", "5"], "category": "single"}],
}


def test_variants_take_away_what_they_say_and_keep_the_evidence() -> None:
    assert {item["speaker"] for item in variants.without_speakers(CHAT)["items"]} == {""}
    assert {item["session"] for item in variants.without_sessions(CHAT)["items"]} == {""}
    mixed_up = variants.shuffled(CHAT)["items"]
    assert [item["id"] for item in mixed_up] != [item["id"] for item in CHAT["items"]]
    assert sorted(item["id"] for item in mixed_up) == [item["id"] for item in CHAT["items"]]
    merged = variants.merged(CHAT)
    assert [item["text"].count("turn") for item in merged["items"]] == [3, 1, 3, 1]
    assert merged["queries"][0]["evidence"] == ["0", "4"]
    both = variants.mixed(CHAT, {**CHAT, "id": "d"})
    assert len(both["items"]) == 16
    assert set(both["queries"][1]["evidence"]) <= {item["id"] for item in both["items"]}
