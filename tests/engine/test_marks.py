"""What is kept of a text besides its words, and the title it may begin with."""

# ruff: noqa: RUF001  (letters of other scripts are meant)
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.text import marks as m
from memory.engine.text.marks import find_title, mark_text

BITS = {
    "question": m.IS_QUESTION,
    "time": m.HAS_TIME_WORD,
    "number": m.HAS_NUMBER,
    "date": m.HAS_DATE,
    "preference": m.PREFERENCE,
    "standing": m.STANDING,
    "first": m.FIRST_PERSON,
    "capitals": m.CAPITALS,
    "code": m.LIST_OR_CODE,
}


def marks_of(text: str) -> set[str]:
    return {name for name, bit in BITS.items() if mark_text(text) & bit}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What a day?", {"question", "time"}),
        ("Where do they live", {"question"}),
        ("Can you help us", {"question", "first"}),
        ("When they were young, they swam.", set()),
        ("What a surprise!", set()),
        ('She asked "why?"', {"question"}),
        ("Du kommst wann?", {"question"}),
        ("你喜欢什么吗？", {"question", "preference"}),
        ("どこに行きますか", {"question"}),
        ("yesterday it rained", {"time"}),
        ("we left on Monday", {"time", "first"}),
        ("it happened in May 2023", {"time", "date", "number"}),
        ("you may go", set()),
        ("due 2023-05-08", {"date", "number"}),
        ("room 42", {"number"}),
        ("昨天我去了", {"time", "first"}),
        ("she loves pizza", {"preference"}),
        ("my favourite colour", {"preference", "first"}),
        ("they always swim", {"preference", "time"}),
        ("it never works", {"preference"}),
        ("it rained in Paris", {"capitals"}),
        ("Paris is old", set()),
        ("Old. Paris", set()),
        ("- milk\n- eggs", {"code"}),
        ("1. milk\n2. eggs", {"code", "number"}),
        ("```\nx\n```", {"code"}),
        ("if (x) {\n}", {"code"}),
        ("plain\ntext", set()),
        ("", set()),
    ],
)
def test_a_text_has_these_marks(text, expected):
    assert marks_of(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Always answer in French.",
        "Never use emojis",
        "Please don't call me sir.",
        "From now on, keep it short",
        "Whenever I ask for code, use Python",
        "I want you to include sources",
        "Remember that she is vegan",
        "When I ask about travel, always mention the train.",
        "请以后用中文回答",
    ],
)
def test_an_instruction_to_the_assistant_is_a_standing_rule(text):
    assert "standing" in marks_of(text)


@pytest.mark.parametrize(
    "text", ["I always go running", "She never called", "Please come in", "We want to go", "Did you remember?"]
)
def test_a_statement_is_no_standing_rule(text):
    assert "standing" not in marks_of(text)


@given(st.text(max_size=300))
@settings(max_examples=300)
def test_any_text_has_sixteen_bits_of_marks_and_always_the_same(text):
    once = mark_text(text)
    m._chunk_flags.clear()
    assert mark_text(text) == once
    assert 0 <= once < 2**16


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mercury\nThe first planet", "mercury"),
        ("Mercury (planet)\nThe first planet", "mercury"),
        ("The Beatles: a band of four", "beatles"),
        ("# Set up\n\nRun it", "set up"),
        ("St. Louis\nA city", "st louis"),
        ("Émile Zola\r\nA writer", "emile zola"),
        ("one two three four five six seven eight\ntext", "one two three four five six seven eight"),
        ("one two three four five six seven eight nine\ntext", None),
        ("Hello there!\nHow are you", None),
        ("No title here", None),
        ("Title alone\n", None),
        ("at 10:30 we left", None),
        (": x", None),
        ("", None),
        ("\n\n", None),
    ],
)
def test_a_text_has_this_title(text, expected):
    assert find_title(text) == expected


def test_a_title_is_written_as_the_name_others_mention():
    from memory.engine.text.mentions import find_mentions

    called = find_title("The Eiffel Tower (Paris)\nIt is made of iron.")
    assert called in [one.feature for one in find_mentions("We saw the Eiffel Tower at night", None)]


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_text_has_a_short_title_or_none(text):
    called = find_title(text)
    assert called is None or 0 < len(called.split()) <= 64
