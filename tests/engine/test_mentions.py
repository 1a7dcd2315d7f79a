"""What a text names: the entries of the graph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.engine.text.mentions import LONGEST, MOST, Mention, find_mentions


def found(text: str, kind: str = "name") -> list[str]:
    return [one.feature for one in find_mentions(text, None) if one.kind == kind]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I met Caroline at the museum.", ["caroline"]),
        ("Caroline came too.", ["caroline"]),  # no common word, so a name also at the beginning
        ("Thanks! Looking good. The kids ate.", []),
        ("Will came.", []),
        ("We asked Will.", ["will"]),
        ("I think I'm fine, and I've slept.", []),
        ("She lives in New York City now", ["new york city", "york", "city"]),
        ("New York is loud", ["new york", "york"]),
        ("the University of Oxford", ["university of oxford", "university", "oxford"]),
        ("He read Lord of the Rings", ["lord of the rings", "lord", "rings"]),
        ("with Dr. Smith and J. K. Rowling", ["dr smith", "j k rowling", "smith", "rowling"]),
        ("to Paris, London and Rome", ["paris", "london", "rome"]),
        ("Caroline's Toyota", ["caroline", "toyota"]),
        ("In May she left on Monday", []),  # dates
        ("I WENT TO PARIS YESTERDAY", []),
        ("Title line\nAnna\nBen", ["title", "anna", "ben"]),
        ("Herr Müller wohnt in Köln", ["herr muller", "koln", "herr", "muller"]),
        ("Меня зовут Иван Петров", ["иван петров", "иван", "петров"]),
        ("昨日「ノルウェイの森」を読んだ", ["ノルウェイの森", "ノルウェイ"]),
        ("我在读《红楼梦》", ["红楼梦"]),
        ('I read "Charlotte\'s Web"', ["charlotte's web", "charlotte", "web"]),
        ("write to Anna.Smith@Example.com.", ["anna.smith@example.com"]),
        ("ask @bob about #Python", ["@bob", "python"]),
        ("see https://www.example.org/a?b=c", ["example.org"]),
        ("call foo.bar() with max_size and camelCase in C++", ["foo.bar", "max_size", "camelcase", "c++"]),
        ("open main.py", ["main.py"]),
        ("nothing here", []),
    ],
)
def test_these_names_are_found(text, names):
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("it costs 5000 euros", ["5000 euro"]),
        ("$5,000", ["5000 dollar"]),
        ("only 19.99 €", ["19.99 euro"]),
        ("£5k", ["5000 pound"]),
        ("1.5m dollars", ["1500000 dollar"]),
        ("50% off", ["50 percent"]),
        ("we ran 3 km", ["3 km"]),
        ("we ran 3km", ["3 km"]),
        ("three kilometres", ["3 km"]),
        ("two cats and 2 stories", ["2 story", "2 cat"]),
        ("room 42", ["42"]),
        ("7 of them", []),
        ("at 10:30 am", []),
        ("call +1 (555) 123-4567", ["15551234567"]),
        ("call 555-123-4567", ["5551234567"]),
        ("order INV-2023-001 and A12345", ["inv-2023-001", "a12345"]),
        ("version 3.11.2", ["3.11.2"]),
        ("on 8 May 2023", []),  # a date
    ],
)
def test_these_numbers_are_found(text, numbers):
    assert found(text, "number") == numbers


def test_two_salaries_are_two_numbers():
    assert found("The salary is 5000 euro", "number") != found("The salary is 6000 euro", "number")


def test_the_most_specific_come_first_and_twelve_are_enough():
    text = "Anna Smith (anna@example.com) paid 500 euros on 8 May 2023 in Rome: " + " ".join(
        f"Aaa{letter}, " for letter in "bcdefghijklmnopq"
    )
    assert find_mentions(text, None)[:4] == [
        Mention("name", "anna@example.com"),
        Mention("name", "anna smith"),
        Mention("date", "2023-05-08"),
        Mention("number", "500 euro"),
    ]
    assert len(find_mentions(text, None)) == MOST


def test_a_long_name_is_cut():
    assert max(len(one.feature) for one in find_mentions("we met " + " ".join(["Abc" * 15] * 5), None)) == LONGEST


def test_a_name_counts_once():
    assert find_mentions("Rome, then Rome and again Rome", None) == [Mention("name", "rome")]


def test_a_grain_and_a_question_meet_in_a_name():
    grain = find_mentions("Yesterday Caroline Smith showed me her painting", None)
    assert set(find_mentions("What did Caroline paint?", None)) & set(grain)


@given(st.text(max_size=300), st.none() | st.integers(-(10**12), 10**12))
@settings(max_examples=300)
def test_any_text_gives_few_short_features_and_always_the_same(text, said_at):
    once = find_mentions(text, said_at)
    assert once == find_mentions(text, said_at)
    assert len(once) <= MOST and len(set(once)) == len(once)
    for kind, feature in once:
        assert kind in ("name", "number", "date")
        assert 0 < len(feature) <= LONGEST
        assert feature.strip() == feature
