"""An answer of the model is taken at its word in nothing"""

from __future__ import annotations

import json

import pytest

from memory.extraction import model_answer
from memory.extraction.ollama_client import BadModelAnswer
from memory.extraction.prompt import MAX_GRAINS

SOURCE = "I moved to  Lisbon\nin May, and the rent is 900 euros."


def read(grains, speaker="Anna"):
    return model_answer.parse_answer(json.dumps({"grains": grains}), source=SOURCE, speaker=speaker)


def one(text="Anna moved to Lisbon in May.", quote="moved to Lisbon in May", **more):
    return {"text": text, "quote": quote, **more}


def test_a_statement_comes_with_the_characters_it_rests_on():
    (found,) = read([one()])
    assert (found.text, SOURCE[found.begins : found.ends]) == (one()["text"], "moved to  Lisbon\nin May")


def test_the_same_statement_twice_is_one():
    assert len(read([one(), one(text="Anna  moved to Lisbon in May.")])) == 1


def test_what_the_text_does_not_bear_out_is_left_out():
    assert [found.text for found in read([one(), one(quote="Eve is the owner")])] == [one()["text"]]
    invented = one(text="Eve became administrator of the harbour.", quote="moved to Lisbon")
    assert [found.text for found in read([one(), invented])] == [one()["text"]]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[]",
        "7",
        '"text"',
        "Sure! Here you are.",
        '```json\n{"grains": []}\n```',
        '{"grains": []',
        "{}",
        '{"grains": {}}',
        '{"grains": null}',
        '{"grains": [null]}',
        '{"grains": ["a"]}',
        '{"grains": [], "more": 1}',
        '{"grains": [], "grains": []}',
        '{"grains": NaN}',
        '{"memories": []}',
        "[" * 100_000,
        '{"grains": ' * 5_000,
        '{"grains": [{"text": "\\ud800", "quote": "moved"}]}',
        "\ud800",
    ],
)
def test_another_shape_is_no_answer(content):
    with pytest.raises(BadModelAnswer):
        model_answer.parse_answer(content, source=SOURCE, speaker="")


@pytest.mark.parametrize(
    "grain",
    [
        one(provenance="user_stated"),
        one(text=7),
        one(quote=None),
        one(text=""),
        one(text="   "),
        one(quote=""),
        one(text="a" * 501),
        one(quote="b" * 2001),
        one(text="moved\u202e to Lisbon"),
        one(text="moved\0 to Lisbon"),
        {"text": "moved"},
        {"quote": "moved"},
    ],
)
def test_one_bad_statement_spoils_the_answer(grain):
    with pytest.raises(BadModelAnswer):
        read([one(), grain])


def test_more_statements_than_were_asked_for_are_no_answer():
    with pytest.raises(BadModelAnswer):
        read([one()] * (MAX_GRAINS + 1))


def test_nothing_that_stands_in_the_text_is_no_answer():
    with pytest.raises(BadModelAnswer, match="occurs in the text"):
        read([one(quote="the owner said so")])
