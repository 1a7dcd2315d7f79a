"""Recall on arrays: what is found, in which order, and what the answer says about itself."""

from __future__ import annotations

import numpy as np
import pytest

from memory.arena.changes import CONDUIT
from memory.engine.graph.conduits import SUPERSEDES
from memory.engine.ranking import rank
from memory.engine.ranking.recall import recall
from memory.engine.ranking.settings import Settings
from memory.engine.text import question
from tests.engine.memories import NOW, ask, make_space

UNFITTED = rank.Ranker("none", (), (), np.zeros_like(rank.FITTED_RANKER.shared), ())
HOUSE = (
    "The spare key hangs behind the blue door.",
    "Dinner with Priya is on Thursday.",
    "The boiler was repaired by a plumber from Ghent.",
    "Otis the beagle hates thunder.",
    "Tax papers are in the drawer under the stove.",
    "The neighbour feeds the cat in July.",
)


def test_the_grain_that_shares_the_words_comes_first_and_says_which() -> None:
    answer = ask(make_space(*HOUSE), "Where are the tax papers?", vector=False)
    assert answer.rows[0] == 4
    assert answer.sources[0] == "words"
    assert [place for place, _ in answer.matched[0]] == [0, 1]
    assert all(part > 0 for _, part in answer.matched[0])
    assert not answer.fallback


def test_scores_lie_between_0_and_1_and_never_rise() -> None:
    answer = ask(make_space(*HOUSE), "the plumber and the boiler in Ghent", k=6)
    assert np.all((answer.scores >= 0) & (answer.scores <= 1))
    assert np.all(np.diff(answer.scores) <= 0)
    assert 0 < answer.confidence <= 1


def test_no_more_than_k_come_back() -> None:
    held = make_space(*HOUSE)
    assert len(ask(held, "the blue door", k=2).rows) == 2
    assert len(ask(held, "the blue door", k=0).rows) == 0


@pytest.mark.parametrize("query", ["", "   ", "?!"])
def test_an_empty_question_has_no_answer(query: str) -> None:
    answer = ask(make_space(*HOUSE), query)
    assert not len(answer.rows)
    assert answer.confidence == 0


def test_an_empty_space_has_no_answer() -> None:
    answer = ask(make_space(), "Where is the key?")
    assert not len(answer.rows)
    assert answer.confidence == 0


@pytest.mark.parametrize("vectors", [False, True])
@pytest.mark.parametrize("query", ["xqzzv blorfk", "wjkq", "zzzkrpt vvv"])
def test_nonsense_has_no_answer(query: str, vectors: bool) -> None:
    answer = ask(
        make_space(*HOUSE, *(f"Lap {number} took {number} minutes." for number in range(60)), vectors=vectors), query
    )
    assert not len(answer.rows)
    assert answer.confidence == 0


def test_meaning_alone_answers_when_no_word_is_known_and_says_so() -> None:
    held = make_space(*HOUSE)
    likeness = held.index.dense.vector(3)  # as an encoder would see a paraphrase of it
    answer = recall(held.index, question.read_question("zzz"), likeness, allowed=None, k=3, now=NOW)
    assert answer.rows[0] == 3
    assert answer.sources[0] == "vector"
    assert answer.fallback


def test_operators_of_a_full_text_engine_are_plain_words() -> None:
    assert ask(make_space(*HOUSE), 'NEAR("tax" AND papers*) OR NOT -drawer').rows[0] == 4


def test_the_same_question_has_the_same_answer() -> None:
    held = make_space(*HOUSE)
    one, other = ask(held, "Who feeds the cat?"), ask(held, "Who feeds the cat?")
    assert one.rows.tolist() == other.rows.tolist()
    assert one.scores.tolist() == other.scores.tolist()


def test_equals_in_score_are_ordered_by_their_number_not_by_their_row() -> None:
    held = make_space("red kite alpha", "red kite bravo", "red kite gamma", vectors=False)
    held.index.columns["id"][:3] = [30, 10, 20]
    assert ask(held, "red kite", ranker=UNFITTED).rows.tolist() == [1, 2, 0]


def test_equal_texts_are_folded_into_one_result() -> None:
    held = make_space("The code is 4711.", {"text": "The code is 4711.", "session": "b"}, "The gate squeaks.")
    answer = ask(held, "What is the code?")
    assert answer.rows.tolist().count(0) + answer.rows.tolist().count(1) == 1
    assert sorted([int(answer.rows[0]), *answer.folded[0]]) == [0, 1]


def test_rows_that_are_not_allowed_are_never_returned() -> None:
    turns = [{"text": text, "session": "s", "speaker": "Ann"} for text in HOUSE]
    held = make_space(*turns, HOUSE[4])
    for hidden in range(len(turns) + 1):
        allowed = np.ones(held.index.size, np.bool_)
        allowed[hidden] = False
        answer = ask(held, "Ann, where are the tax papers and the boiler and the key?", k=10, allowed=allowed)
        shown = {*answer.rows.tolist(), *(row for same in answer.folded for row in same), *answer.expansion.tolist()}
        assert hidden not in shown
        assert len(shown) >= 3


def test_parts_of_a_score_add_up_and_keep_the_order() -> None:
    held = make_space(*({"text": text, "session": "s", "speaker": "Ann"} for text in HOUSE))
    answer = ask(held, "What did Ann say about the beagle and the boiler?", k=6)
    sums = [sum(parts.values()) for parts in answer.contributions]
    assert sums == sorted(sums, reverse=True)
    assert {"words", "meaning"} <= set(answer.contributions[0])


def test_a_signal_that_a_grain_does_not_have_adds_nothing_to_its_score() -> None:
    talk = ({"text": text, "session": "s", "speaker": "Ann"} for text in HOUSE)
    held = make_space(*talk, {"text": "A note about the boiler and the beagle, found in a drawer."})
    answer = ask(held, "What did Ann say about the beagle and the boiler?", k=10)
    alone = answer.contributions[answer.rows.tolist().index(len(HOUSE))]
    assert abs(alone.get("session", 0.0)) < 0.01
    assert abs(alone.get("speaker", 0.0)) < 0.01 or alone["speaker"] < 0


def test_what_the_only_named_speaker_said_is_preferred() -> None:
    held = make_space(
        {"text": "I adopted a puppy last week.", "speaker": "Bela", "session": "1"},
        {"text": "I adopted a puppy last year.", "speaker": "Cleo", "session": "2"},
        *({"text": text, "speaker": "Cleo", "session": "3"} for text in HOUSE),
    )
    for ranker in (UNFITTED, rank.FITTED_RANKER):
        assert ask(held, "Did Cleo adopt a puppy?", ranker=ranker).rows[0] == 1
        assert ask(held, "Did Bela adopt a puppy?", ranker=ranker).rows[0] == 0
    swayed = ask(held, "Did Cleo adopt a puppy last week?", vector=False, ranker=UNFITTED)
    assert swayed.contributions[swayed.rows.tolist().index(1)]["speaker"] > 0


def test_what_was_said_on_the_day_the_question_names_is_preferred() -> None:
    held = make_space(
        {"text": "We went to the lake.", "time": "2024-03-01"},
        {"text": "We went to the lake again.", "time": "2024-05-17"},
        {"text": "We went to the lake once more.", "time": "2024-06-02"},
        *HOUSE,
    )
    assert ask(held, "Where did we go on 17 May 2024?").rows[0] == 1


def test_a_title_that_a_match_mentions_is_followed() -> None:
    held = make_space(
        "The Silent Harbour\nThe Silent Harbour is a film by Clara Verson.",
        "Clara Verson\nShe came into the world in Alaburg and studied chess.",
        *(f"Town {number}\nA place with a mill, number {number}." for number in range(40)),
    )
    query = "Where was the maker of The Silent Harbour born?"
    with_links, without = (
        ask(held, query, vector=False),
        ask(held, query, vector=False, settings=Settings(without=frozenset({"links"}))),
    )
    assert 1 in with_links.rows[:3]
    assert 1 not in without.rows[:3]
    assert with_links.sources[with_links.rows.tolist().index(1)] == "link"


def test_the_turn_after_a_matching_question_is_a_candidate() -> None:
    held = make_space(
        {"text": "Where did you two end up moving?", "speaker": "Ann", "session": "1"},
        {"text": "Leeds, near the canal!", "speaker": "Ben", "session": "1"},
        *({"text": text, "speaker": "Ann", "session": "2"} for text in HOUSE),
    )
    answer = ask(held, "Where did Ben move?", vector=False)
    assert 1 in answer.rows
    assert answer.sources[answer.rows.tolist().index(0)] == "words"


def test_a_superseded_grain_ranks_behind_its_successor() -> None:
    held = make_space("The salary is 5000 a month.", "The salary is 6000 a month.", *HOUSE)
    graph = held.index.graph
    record = np.zeros(1, CONDUIT)
    record["id"], record["weight"], record["affinity"], record["relation"] = 9_999, 1.0, 1.0, SUPERSEDES
    graph.put(record, np.array([1]), np.array([0]))
    assert ask(held, "What is the salary of 5000?", vector=False).rows[:2].tolist() == [1, 0]
    hidden = np.ones(held.index.size, np.bool_)
    hidden[1] = False
    assert ask(held, "What is the salary of 5000?", vector=False, allowed=hidden).rows[0] == 0


def test_a_standing_rule_is_a_candidate_for_any_question() -> None:
    held = make_space(
        "From now on always answer in metric units.", *(f"Lap {number} took {number} minutes." for number in range(200))
    )
    answer = ask(held, "How far was lap 7?", k=100, settings=Settings(pool=40))
    assert 0 in answer.rows
    assert answer.sources[answer.rows.tolist().index(0)] in ("standing", "vector")


def test_far_from_every_fitted_shape_plain_fusion_decides() -> None:
    held = make_space(*HOUSE)
    everywhere_far = rank.Ranker("far", (), (), rank.FITTED_RANKER.shared + 5, ())
    query = "Where are the papers for the tax?"
    assert ask(held, query, ranker=everywhere_far).rows.tolist() == ask(held, query, ranker=UNFITTED).rows.tolist()
    assert ask(held, query, ranker=everywhere_far).weights["gate"] == 0


def test_lateral_candidates_are_offered_when_confidence_is_low() -> None:
    held = make_space(*HOUSE)
    unsure = ask(held, "the boiler", k=2, settings=Settings(unsure=1.0))
    assert len(unsure.expansion)
    assert not set(unsure.expansion.tolist()) & set(unsure.rows.tolist())
    assert not len(ask(held, "the boiler", k=2, settings=Settings(unsure=0.0)).expansion)


def test_one_session_does_not_fill_the_answer_when_it_may_not() -> None:
    held = make_space(
        *({"text": f"kite story {number}", "session": "a" if number < 8 else "b"} for number in range(10))
    )
    capped = ask(held, "kite story", k=6, settings=Settings(one_session=0.5), ranker=UNFITTED)
    assert sum(row >= 8 for row in capped.rows) == 2


def test_questions_in_other_scripts_are_answered() -> None:
    held = make_space(
        "小林上个月搬到杭州去了。", "张医生的生日是三月九号。", "Die Werkstatt verlangt 90 Euro für die Reparatur."
    )
    assert ask(held, "小林现在住在哪里").rows[0] == 0
    assert ask(held, "Wie teuer ist die Reparatur?").rows[0] == 2
