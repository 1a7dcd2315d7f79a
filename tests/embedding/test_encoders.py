"""Every encoder keeps the same promises."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memory.embedding.encoder import encode_checked
from tests.embedding.sentences import SENTENCES, TRIPLES

SOME = SENTENCES[::9]


def test_rows_are_unit_and_float32(encoder):
    rows = encode_checked(encoder, SOME)
    assert rows.shape == (len(SOME), encoder.dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_bit_per_number_fills_whole_words(encoder):
    assert encoder.dimension % 64 == 0


def test_a_text_has_one_vector_whatever_it_is_asked_with(encoder):
    together = encoder.encode(SOME)
    alone = np.concatenate([encoder.encode([text]) for text in reversed(SOME)])[::-1]
    assert np.array_equal(together, alone)


def test_threads_do_not_disturb_each_other(encoder):
    expected = encoder.encode(SOME)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(rows, expected) for rows in pool.map(encoder.encode, [SOME] * 8))


def test_nothing_asked_is_nothing_answered(encoder):
    assert encode_checked(encoder, []).shape == (0, encoder.dimension)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\x00",
        "half of \ud83d a smile",
        "👩‍👩‍👧",
        "a" * 16_384,
        "很" * 5000,
        "word " * 3000,
        "[CLS] [SEP] <s>",
        "!?",
    ],
    ids=["empty", "blank", "nul", "surrogate", "family", "one long word", "no spaces", "long", "marks", "signs"],
)
def test_any_text_gets_a_vector(encoder, text):
    assert encode_checked(encoder, [text]).shape == (1, encoder.dimension)


@pytest.mark.parametrize(("one", "same", "other"), TRIPLES)
def test_what_means_the_same_is_nearer(encoder, one, same, other):
    first, second, third = encoder.encode([one, same, other])
    assert first @ second > first @ third + 0.1
    assert abs(first @ third) < 0.3


def test_names_tell_encoders_and_dimensions_apart(loaded):
    names = {(loaded(wanted).name, loaded(wanted).dimension) for wanted in ("all-MiniLM-L6-v2", "wordllama", "hashed")}
    assert names == {("minilm-l6-int8", 384), ("wordllama-256", 256), ("hashed-256", 256)}
