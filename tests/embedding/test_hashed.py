"""Hashed words and pieces: any script, and the same numbers in every release."""

from __future__ import annotations

import numpy as np
import pytest

from memory.embedding.hashed import HashedEncoder

hashed = HashedEncoder()
FROZEN = [(81, -0.3185), (174, -0.2897), (209, 0.2602), (161, -0.2241), (121, 0.1884), (234, 0.1884)]


def likeness(one: str, other: str) -> float:
    first, second = hashed.encode([one, other])
    return float(first @ second)


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("the connection was refused", "connections are refusing", "bread and butter"),
        ("Straßenbahn", "STRASSENBAHNEN", "Flugzeug"),
        ("東京に引っ越した", "彼は東京に住んでいる", "猫が寝ている"),
        ("Мы встретились на вокзале", "встреча возле вокзала", "кошка спит"),
        ("café", "cafe\u0301", "tea"),
        ("ada@example.org", "mail to ada at example.org", "bob on the bus"),
    ],
)
def test_shared_words_and_pieces_bring_texts_together(one, near, far):
    assert likeness(one, near) > likeness(one, far) + 0.15


def test_case_and_composition_do_not_count():
    assert likeness("CAFÉ au lait", "cafe\u0301 AU LAIT") == pytest.approx(1)


def test_saying_it_twice_changes_little():
    assert likeness("green tea", "green green green tea") > 0.85


def test_nothing_said_is_a_vector_too_and_always_the_same():
    assert np.array_equal(hashed.encode([""]), hashed.encode(["?!"]))


def test_unrelated_words_are_nearly_at_right_angles():
    words = [f"{first}{second}" for first in ("gar", "lum", "tev", "pos", "kir") for second in ("dono", "wesk", "fima")]
    rows = hashed.encode(words)
    others = (rows @ rows.T)[~np.eye(len(words), dtype=bool)]
    assert abs(float(others.mean())) < 0.15
    assert float(np.abs(hashed.encode(["qqqq"]) @ hashed.encode(["zzzz"]).T).max()) < 0.3


def test_these_numbers_belong_to_the_name():
    """Stored vectors are compared with new ones: whoever changes these numbers gives the encoder another name."""
    row = hashed.encode(["Ada moved to 東京 in 2021."])[0]
    assert [(int(at), round(float(row[at]), 4)) for at in np.argsort(-np.abs(row), kind="stable")[:6]] == FROZEN
