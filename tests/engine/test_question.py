"""What a question asks for."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.text import words
from memory.engine.text.question import Query, read_question

FLAGS = [
    name
    for name, value in vars(Query).items()
    if isinstance(value, cached_property | property)
    and (value.fget if isinstance(value, property) else value.func).__annotations__["return"] == "bool"
]


def asked(query: str) -> set[str]:
    found = read_question(query)
    return {name.removeprefix("wants_") for name in FLAGS if getattr(found, name)}


@pytest.mark.parametrize(
    ("query", "wants"),
    [
        ("When did Caroline visit the museum?", {"when"}),
        ("What year was it?", {"when"}),
        ("Who came?", {"who"}),
        ("Where do they live?", {"where"}),
        ("Which book was it?", {"which"}),
        ("What kind of dog is it?", {"which"}),
        ("Which city did John see?", {"which", "where"}),
        ("How many kids are there?", {"how_many"}),
        ("How old is Tom?", {"how_many"}),
        ("What is her favourite colour?", {"preference"}),
        ("Can you recommend a hotel?", {"preference", "yes_no"}),
        ("What did I buy?", {"first_person"}),
        ("Did she leave?", {"yes_no"}),
        ("What came first?", {"ordering"}),
        ("What is the latest plan?", {"ordering", "present"}),
        ("Where do you live these days?", {"where", "present"}),
        ("Wieviele Hunde hat sie?", {"how_many"}),
        ("Wie viele Hunde hat sie?", {"how_many"}),
        ("What happened after dinner?", {"ordering"}),
        ("What doesn't he eat?", {"negation"}),
        ("Who has never flown?", {"who", "negation"}),
        ("Wann war ich in München?", {"when", "first_person"}),
        ("Combien d'enfants?", {"how_many"}),
        ("¿Dónde vive?", {"where"}),
        ("Когда он приехал?", {"when"}),
        ("你什么时候去?", {"when"}),
        ("彼はどこに住んでいますか", {"where"}),
        ("누구를 만났어?", {"who"}),
        ("pizza", set()),
        ("", set()),
    ],
)
def test_the_kind_of_answer_a_question_wants_is_recognised(query, wants):
    assert asked(query) == wants


def test_words_of_a_question_are_analysed_like_those_of_grains():
    query = read_question("Which dogs barked at the running cats?")
    assert list(query.terms) == words.terms("Which dogs barked at the running cats?") == ["dog", "bark", "run", "cat"]
    assert query.keys.dtype == np.uint64
    assert query.keys.tolist() == [words.key(term) for term in query.terms]


def test_pairs_are_the_adjacent_terms():
    query = read_question("red dogs bark")
    first, second, third = (words.key(term) for term in ("red", "dog", "bark"))
    assert query.pairs.dtype == np.uint64
    assert query.pairs.tolist() == [[first, second], [second, third]]
    assert read_question("dog").pairs.shape == read_question("").pairs.shape == (0, 2)


def test_capitalised_words_come_as_terms():
    assert read_question("What did Caroline say to John in New York? John knows.").capitals == (
        "carolin",
        "john",
        "new",
        "york",
    )
    assert read_question("Where are my things?").capitals == ()


def test_yesterday_is_resolved_against_the_time_of_the_question():
    assert [one.feature for one in read_question("What did I do yesterday?", 1683554160).mentions] == [
        "2023-05-07",
        "2023-05",
    ]
    assert read_question("What did I do yesterday?").mentions == ()


@given(st.text(max_size=300))
@settings(max_examples=200)
def test_any_text_can_be_a_question_and_is_read_the_same_each_time(text):
    one, other = read_question(text, 0), read_question(text, 0)
    assert one.terms == other.terms and one.mentions == other.mentions
    assert one.keys.tolist() == other.keys.tolist()
    assert len(one.pairs) == max(0, len(one.terms) - 1)
