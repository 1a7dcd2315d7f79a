"""What is implied: a question asked again in other words, a statement that puts an earlier one right."""

from __future__ import annotations

import pytest

from memory.engine.text.correction import corrects
from memory.engine.text.question import read_question
from memory.engine.text.rephrase import rephrases


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("What is the deploy command for the api", "how do I deploy the api"),
        ("Which printer in the office is broken?", "Which office printer broke down?"),
    ],
)
def test_a_rephrased_question_is_recognised(later, earlier):
    assert rephrases(read_question(later), read_question(earlier), None)


@pytest.mark.parametrize(
    ("later", "earlier", "why"),
    [
        ("Where does Mia live?", "Where does Mia live?", "word by word: a habit"),
        ("Where does Bo live?", "Where does Mia live?", "another person"),
        ("When did Mia move to Porto?", "Where did Mia move?", "another kind of answer"),
        ("What does the red car cost?", "Who painted the garden fence?", "another thing"),
        ("", "Where does Mia live?", "nothing"),
    ],
)
def test_another_question_is_no_rephrasing(later, earlier, why):
    assert not rephrases(read_question(later), read_question(earlier), None), why


def test_near_vectors_show_a_rephrasing_with_few_common_words():
    later, earlier = read_question("how is the app shipped"), read_question("deployment procedure of the app")
    assert not rephrases(later, earlier, 0.3)
    assert rephrases(later, earlier, 0.9)


@pytest.mark.parametrize(
    ("later", "earlier"),
    [
        ("My salary is 6000 euros", "My salary is 5000 euros"),
        ("The weekly meeting is at 4 pm", "The weekly meeting is at 3 pm"),
        ("Mia no longer lives in Lisbon", "Mia lives in Lisbon"),
        ("Actually Mia lives in Porto", "Mia lives in Lisbon"),
        ("Order 123 was not shipped", "Order 123 was shipped"),
        ("Room 12 costs 90 euros a night", "Room 12 costs 80 euros a night"),
        ("Actually order 124 shipped", "Order 123 shipped"),
    ],
)
def test_a_correction_is_recognised(later, earlier):
    assert corrects(later, earlier)


@pytest.mark.parametrize(
    ("later", "earlier", "why"),
    [
        ("Bo plays the cello", "Mia moved to Lisbon in 2021", "something else"),
        ("Alice likes tea", "Alice likes coffee", "both may be so"),
        ("Mia moved to Lisbon in 2021 with Bo", "Mia moved to Lisbon in 2021", "it only adds"),
        ("Lunch on 3 May 2024 cost 20 euros", "Lunch on 4 May 2024 cost 30 euros", "two days"),
        ("Bo earns 5000 euros a month", "Mia earns 6000 euros a month", "two people"),
        ("", "Mia lives in Lisbon", "nothing"),
        ("Order 124 shipped", "Order 123 shipped", "two orders"),
        ("Ticket #8 was not solved", "Ticket #7 was solved", "two tickets"),
        ("Ben does not like coffee", "Ben likes tea", "both may be so"),
        ("The blue train leaves at 9", "The red train leaves at 7", "two trains"),
    ],
)
def test_another_statement_is_no_correction(later, earlier, why):
    assert not corrects(later, earlier), why
