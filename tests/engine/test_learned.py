"""What votes teach: the question judged, the same in other words, nothing beside it; and every vote can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.spaces import Space
from memory.embedding.hashed import HashedEncoder
from memory.engine.learning import vote_boost
from memory.engine.learning.learned import FULL_CREDIT, MISSED_PLACE, Learned
from memory.engine.learning.vote_sums import VoteSample, VoteSums, learn_votes
from memory.engine.ranking.recall import Settings
from memory.engine.text import question
from tests.engine.memories import ask, make_space

HOUSE = (
    "The spare key hangs behind the blue door.",
    "Dinner with Priya is on Thursday.",
    "The boiler was repaired by a plumber from Ghent.",
    "Otis the beagle hates thunder.",
    "Tax papers are in the drawer under the stove.",
    "The neighbour feeds the cat in July.",
    "The garage opens with the small black remote.",
    "Lamps for the hall came from the flea market.",
)
HEATING = "Who looked after our heating?"


def vote(text: str, row: int, strength: float = 1.0, *, caller: int = 1, vector: bool = True) -> VoteSample:
    return VoteSample(
        question.read_question(text).keys, HashedEncoder().encode([text])[0] if vector else None, caller, row, strength
    )


def taught(held: Space, votes: Iterable[VoteSample]) -> Space:
    held.index.learned = learn_votes(votes)
    return held


def same(one: Learned, other: Learned) -> bool:
    left, right = one.arrays(), other.arrays()
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("vectors", [False, True])
def test_a_missed_grain_comes_first_when_the_question_is_repeated(vectors: bool) -> None:
    held = make_space(*HOUSE, vectors=vectors)
    assert ask(held, HEATING).rows[:1].tolist() != [2]
    answer = ask(taught(held, [vote(HEATING, 2, vector=vectors)]), HEATING)
    assert answer.rows[0] == 2
    assert answer.confidence > 0.9
    assert answer.contributions[0]["learning"] > 0


def test_a_row_found_by_votes_alone_has_the_source_learning() -> None:
    held = taught(make_space(*HOUSE, vectors=False), [vote(HEATING, 2, vector=False)])
    assert ask(held, HEATING).sources[0] == "learning"


def test_stop_words_of_a_judged_question_do_not_matter() -> None:
    held = taught(make_space(*HOUSE), [vote(HEATING, 2)])
    assert ask(held, "looked after heating").rows[0] == 2


def test_a_question_about_something_else_is_answered_as_before() -> None:
    held = make_space(*HOUSE)
    for text in ("Where are the tax papers?", "What does Otis hate?", "When is dinner?"):
        held.index.learned = None
        before = ask(held, text)
        after = ask(taught(held, [vote(HEATING, 2)]), text)
        assert after.rows[0] == before.rows[0]
        assert after.confidence == pytest.approx(before.confidence, abs=0.02)


def test_a_grain_not_useful_for_the_same_question_loses_its_place() -> None:
    held = make_space(*HOUSE)
    text = "the blue door key"
    first = int(ask(held, text).rows[0])
    assert ask(taught(held, [vote(text, first, -1.0)]), text).rows[0] != first


def test_a_speakers_name_is_no_link() -> None:
    lines = [
        {"text": text, "speaker": speaker, "session": "1"}
        for text, speaker in (
            ("I sold the boat.", "Maren"),
            ("Good morning, Maren!", "Ivo"),
            ("The roof leaks.", "Maren"),
            ("Maren, call the roofer.", "Ivo"),
            ("I adopted a parrot.", "Maren"),
        )
    ]
    held = taught(make_space(*lines, vectors=False), [vote("What did Maren sell?", 0, vector=False)])
    told = vote_boost.compute_boost(
        held.index.learned, question.read_question("What did Maren adopt?"), None, held.index
    )
    assert not len(told.candidates)
    assert told.share.max(initial=-np.inf) <= vote_boost.DEFAULT.alike


def test_a_name_that_is_also_a_stop_word_is_learned_from() -> None:
    text = "Which garage remote did Will lose?"
    assert "will" in question.read_question(text).capitals
    assert ask(taught(make_space(*HOUSE), [vote(text, 6)]), text).rows[0] == 6


def test_questions_of_one_form_about_two_names_are_not_alike() -> None:
    held = taught(make_space(*HOUSE), [vote("Which street does Anselm live in?", 7)])
    told = vote_boost.compute_boost(
        held.index.learned,
        question.read_question("Which street does Bertil live in?"),
        HashedEncoder().encode(["Which street does Bertil live in?"])[0],
        held.index,
    )
    assert not len(told.candidates)


def test_a_term_of_a_judged_question_leads_to_its_useful_grain() -> None:
    held = taught(make_space(*HOUSE, vectors=False), [vote("heating engineer", 2, vector=False)])
    told = vote_boost.compute_boost(
        held.index.learned, question.read_question("heating engineer address"), None, held.index
    )
    assert told.rows.tolist() == [2]
    assert ask(held, "heating engineer address").rows[0] == 2


def test_a_grain_that_may_not_be_seen_is_not_brought_by_votes() -> None:
    held = taught(make_space(*HOUSE), [vote(HEATING, 2)])
    allowed = np.ones(held.index.size, np.bool_)
    allowed[2] = False
    assert 2 not in ask(held, HEATING, allowed=allowed).rows


def test_rows_that_the_index_does_not_have_are_passed_over() -> None:
    held = taught(make_space(*HOUSE), [vote(HEATING, 2), vote(HEATING, 10_000)])
    assert ask(held, HEATING).rows[0] == 2


def test_learning_can_be_left_out() -> None:
    held = make_space(*HOUSE)
    before = ask(held, HEATING).rows.tolist()
    held = taught(held, [vote(HEATING, 2)])
    assert ask(held, HEATING, settings=Settings(without=frozenset({"learning"}))).rows.tolist() == before


def test_the_order_of_votes_changes_nothing() -> None:
    votes = [
        vote(f"{text} {number}", row, strength, caller=row % 3)
        for number, text in enumerate(("key", "boiler man", "cat food", HEATING))
        for row, strength in ((1, 1.0), (2, -0.5), (3, 0.25))
    ]
    shuffled = [votes[place] for place in np.random.default_rng(5).permutation(len(votes))]
    one, other = learn_votes(votes), learn_votes(shuffled)
    assert same(one, other)
    slowly = VoteSums()
    for each in shuffled:
        slowly.add(each)
    assert same(one, slowly.learned)


def test_undoing_votes_restores_every_array() -> None:
    stay = [vote("boiler man", 2), vote(HEATING, 2), vote(HEATING, 0, -1.0), vote(HEATING, 5, 0.3, caller=2)]
    undone = [vote(HEATING, 2, caller=7), vote("boiler man", 4, -0.7), vote("the garage", 6), vote(HEATING, 5, 0.1)]
    lessons = VoteSums(stay)
    before = {name: array.copy() for name, array in lessons.learned.arrays().items()}
    for one in undone:
        lessons.add(one)
    assert not same(lessons.learned, learn_votes(stay))
    for one in reversed(undone[1:]):
        lessons.remove(one)
    lessons.remove(undone[0])
    after = lessons.learned.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    for one in stay:
        lessons.remove(one)
    assert not lessons.learned
    assert same(lessons.learned, Learned.empty())


def test_one_caller_counts_once_however_often_it_votes() -> None:
    (once,) = learn_votes([vote(HEATING, 2)]).questions.values()
    (often,) = learn_votes([vote(HEATING, 2)] * 50).questions.values()
    assert once.credits == often.credits == {2: FULL_CREDIT}


def test_two_callers_outvote_one() -> None:
    against = [vote(HEATING, 2, -1.0, caller=9)] * 100
    assert not learn_votes([*against, vote(HEATING, 2, caller=1)])
    (held,) = learn_votes([*against, vote(HEATING, 2, caller=1), vote(HEATING, 2, caller=2)]).questions.values()
    assert held.credits == {2: FULL_CREDIT}


def test_a_weak_vote_does_less() -> None:
    held = make_space(*HOUSE)
    told = [
        vote_boost.compute_boost(
            learn_votes([vote(HEATING, 2, strength)]), question.read_question(HEATING), None, held.index
        )
        for strength in (0.1, 1.0)
    ]
    assert told[0].share[0] < told[1].share[0]


def test_a_grain_useful_for_many_questions_gains_less_for_each() -> None:
    held = make_space(*HOUSE, vectors=False)
    narrow = learn_votes([vote("heating engineer", 2, vector=False)])
    wide = learn_votes(
        [vote("heating engineer", 2, vector=False), *(vote(f"thing {number}", 2, vector=False) for number in range(60))]
    )
    asked = question.read_question("heating engineer address")
    shares = [vote_boost.compute_boost(one, asked, None, held.index).share[0] for one in (narrow, wide)]
    assert shares[1] < shares[0] - 1


def test_vectors_of_another_encoder_are_not_compared() -> None:
    held = make_space(*HOUSE)
    other = VoteSample(question.read_question(HEATING).keys, np.ones(64, np.float32), 1, 2, 1.0)
    assert ask(taught(held, [other]), HEATING).rows[0] == 2
    mixed = learn_votes([other, vote("the garage", 6)])
    assert len(mixed.questions) == 2
    assert mixed.encoded == 1


@pytest.mark.parametrize("strength", [0.0, float("nan"), float("inf")])
def test_a_vote_without_a_strength_teaches_nothing(strength: float) -> None:
    assert not learn_votes([vote(HEATING, 2, strength)])


def test_a_vector_without_direction_is_no_vector() -> None:
    held = make_space(*HOUSE)
    none = VoteSample(question.read_question(HEATING).keys, np.zeros(held.index.dense.dimension, np.float32), 1, 2, 1.0)
    assert ask(taught(held, [none]), HEATING).rows[0] == 2


def test_without_votes_there_is_no_effect() -> None:
    held = make_space(*HOUSE)
    assert not len(vote_boost.compute_boost(None, question.read_question(HEATING), None, held.index).rows)
    assert not len(vote_boost.compute_boost(Learned.empty(), question.read_question(HEATING), None, held.index).rows)


def standing(learned: Learned, row: int, settings: vote_boost.VoteSettings = vote_boost.DEFAULT) -> float:
    return float(vote_boost._record_gains(learned, None, np.array([row], np.int32), settings)[0])


def test_a_grain_useful_at_a_low_place_gains_for_any_question() -> None:
    near, far = (
        learn_votes([VoteSample(question.read_question(HEATING).keys, None, 1, 2, 1.0, place)])
        for place in (1, MISSED_PLACE)
    )
    assert standing(near, 2) == 0
    assert 0 < standing(far, 2) < 0.6
    assert standing(far, 3) == 0


def test_a_grain_repeatedly_not_useful_loses_within_a_bound() -> None:
    learned = [
        learn_votes(
            VoteSample(question.read_question(f"question {number}").keys, None, 1, 3, -1.0) for number in range(count)
        )
        for count in (1, 4, 10, 500)
    ]
    once, often, more, always = (standing(one, 3) for one in learned)
    assert once == 0
    assert 0 > often > more
    assert always == pytest.approx(-vote_boost.DEFAULT.vain * vote_boost.DEFAULT.vain_most)


def test_a_grain_with_the_words_of_the_question_loses_less() -> None:
    held = make_space(*HOUSE)
    shown = learn_votes(
        VoteSample(question.read_question(f"question {number}").keys, None, 1, 2, -1.0) for number in range(9)
    )

    def loses(asked: str) -> float:
        told = vote_boost.compute_boost(shown, question.read_question(asked), None, held.index)
        return -float(vote_boost._record_gains(shown, told.terms, np.array([2], np.int32), vote_boost.DEFAULT)[0])

    assert loses("Where is the garage?") > loses("The name of the plumber?") > 0
    assert loses("A plumber from Ghent?") == 0


def test_undoing_a_vote_restores_the_lowest_useful_place() -> None:
    keys = question.read_question(HEATING).keys
    lessons = VoteSums([VoteSample(keys, None, 1, 2, 1.0, 3)])
    before = lessons.learned.arrays()
    missed = VoteSample(keys, None, 2, 2, 1.0, MISSED_PLACE)
    lessons.add(missed)
    assert lessons.learned.behind == {2: {MISSED_PLACE: 1}}
    lessons.remove(missed)
    assert lessons.learned.behind == {2: {3: 1}}
    after = lessons.learned.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_shared_words_count_more_where_the_grain_does_not_hold_them() -> None:
    held = make_space(*HOUSE)
    told = [
        vote_boost.compute_boost(
            learn_votes([vote("Which cheap plumber from Ghent was it?", row)]),
            question.read_question("A plumber from Ghent"),
            HashedEncoder().encode(["A plumber from Ghent"])[0],
            held.index,
            replace(vote_boost.DEFAULT, link=-12.0),
        )
        for row in (2, 3)
    ]
    holds, lacks = (float(one.share[0]) for one in told)
    assert lacks > holds


def test_words_only_in_the_grain_and_the_question_raise_its_share() -> None:
    held = make_space(*HOUSE)
    judged = learn_votes([vote("Who repaired the heating?", 2)])
    settings = replace(vote_boost.DEFAULT, link=-12.0, words=0.0)
    vector = HashedEncoder().encode([HEATING])[0]
    more, other = (
        float(vote_boost.compute_boost(judged, question.read_question(asked), vector, held.index, settings).share[0])
        for asked in ("Who is the plumber from Ghent?", "Who is the gardener from Bruges?")
    )
    assert more > other + 1
