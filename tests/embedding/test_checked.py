"""Whatever an encoder does wrong is noticed in one place."""

from __future__ import annotations

import numpy as np
import pytest

from memory.embedding.encoder import EncoderProblem, encode_checked, unit


class Odd:
    """An encoder that answers with what it is given."""

    name, dimension = "odd-64", 64

    def __init__(self, answer):
        self.answer = answer

    def encode(self, texts):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def good() -> np.ndarray:
    return unit(np.ones((2, 64), dtype=np.float32))


def with_one(value: float) -> np.ndarray:
    rows = good()
    rows[1, 3] = value
    return rows


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (RuntimeError("the text was: my secret"), "failed on a text (RuntimeError)"),
        (MemoryError(), "failed on a text (MemoryError)"),
        (with_one(np.nan), "not finite"),
        (with_one(np.inf), "not finite"),
        (np.zeros((2, 64), dtype=np.float32), "unit length"),
        (good() * np.float32(1.01), "unit length"),
        (good()[:1], "shape (1, 64) instead of (2, 64)"),
        (good()[:, :63], "shape (2, 63) instead of (2, 64)"),
        (good()[0], "shape (64,)"),
        (good().astype(np.float64), "float64 instead of float32"),
        (good().tolist(), "list instead of float32"),
        (None, "NoneType instead of float32"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_answer_is_a_problem_with_a_name(answer, says):
    with pytest.raises(EncoderProblem) as caught:
        encode_checked(Odd(answer), ["one", "two"])
    assert str(caught.value).startswith("odd-64 ")
    assert says in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_right_answer_passes_unchanged():
    rows = good()
    assert encode_checked(Odd(rows), ["one", "two"]) is rows


def test_nothing_is_asked_for_nothing():
    assert encode_checked(Odd(RuntimeError()), []).shape == (0, 64)


def test_a_row_of_zeros_becomes_a_direction():
    rows = unit(np.array([[0, 0], [3, 4]], dtype=np.float32))
    assert rows.tolist() == [[1, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
