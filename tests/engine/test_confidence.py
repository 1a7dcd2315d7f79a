"""Confidence: high when everything agrees, low when little of the question is known, always a probability."""

from __future__ import annotations

import numpy as np
import pytest

from memory.engine.ranking import confidence, features, fitted_weights
from memory.engine.ranking.confidence import QuestionFacts
from memory.engine.ranking.scoring import score_candidates
from memory.engine.text import question
from tests.engine.memories import NOW, ask, make_space

NOTES = tuple(
    f"The {thing} is in the {place}."
    for thing in ("ladder", "passport", "drill", "tent")
    for place in ("cellar", "attic", "shed")
)


def found(**rows: list[float]) -> np.ndarray:
    raw = np.zeros((len(features.NAMES), 6), np.float32)
    for name, values in rows.items():
        raw[features.NAMES.index(name)] = values
    return raw


def test_an_answer_that_covers_the_question_has_more_confidence() -> None:
    held = make_space(*NOTES, "Rowan plays the bassoon on Tuesdays.")
    right = ask(held, "Which day does Rowan play the bassoon?")
    wrong = ask(held, "Which ferry did the astronaut book in the cellar?")
    assert right.confidence > wrong.confidence


def test_unknown_words_lower_the_confidence() -> None:
    held = make_space(*NOTES, "Rowan plays the bassoon on Tuesdays.")
    assert ask(held, "Rowan bassoon").confidence > ask(held, "Rowan bassoon zeppelin quasar obelisk").confidence


def test_the_facts_of_a_question_weigh_unknown_terms_as_the_rarest() -> None:
    held = make_space(*NOTES)

    def unknown(query: str) -> float:
        weighed = score_candidates(held.index, question.read_question(query), None, allowed=None, now=NOW)
        assert weighed is not None
        return confidence.question_facts(weighed.candidates, held.index.size).unknown

    assert unknown("passport") == 0
    assert unknown("passport quasar") > 0.5


@pytest.mark.parametrize("count", [1, 2, 6])
def test_signs_are_finite_for_the_smallest_pools(count: int) -> None:
    scores = np.linspace(3, 1, count).astype(np.float32)
    signs = confidence.signs(scores, found(words=[1] * 6)[:, :count], QuestionFacts(0.0, 0.0, 1))
    assert len(signs) == len(confidence.SIGNS)
    assert np.isfinite(signs).all()
    assert 0 < confidence.confidence(scores, found()[:, :count], QuestionFacts(1.0, 0.0, 1)) < 1


def test_confidence_rises_with_the_lead_of_the_first_row() -> None:
    raw = found(coverage=[1, 0.2, 0.2, 0, 0, 0], words=[1, 0.2, 0.2, 0, 0, 0], meaning=[1, 0.5, 0.5, 0, 0, 0])
    known = QuestionFacts(0.0, 4.0, 3)
    close, far = np.array([5, 4.9, 4.8, 4, 3, 2.9], np.float32), np.array([5, 2, 1.5, 1, 0.5, 0], np.float32)
    assert confidence.confidence(far, raw, known) > confidence.confidence(close, raw, known)


def test_far_from_every_fitted_space_confidence_moves_towards_the_default() -> None:
    high, low = (np.full(len(confidence.SIGNS), value) for value in (5.0, -5.0))
    for signs in (high, low):
        near, far = (
            confidence.probability(signs, np.ones_like(signs) / len(signs), 0.0, share) for share in (1.0, 0.0)
        )
        assert abs(far - confidence.DEFAULT_CONFIDENCE) < abs(near - confidence.DEFAULT_CONFIDENCE)
    assert confidence.probability(high, high, 0.0, 0.0) > confidence.probability(low, high, 0.0, 0.0)


def test_the_confidence_of_an_answer_depends_on_the_shape_of_its_space() -> None:
    held = make_space(*NOTES, "Rowan plays the bassoon on Tuesdays.")
    weighed = score_candidates(held.index, question.read_question("Rowan bassoon"), None, allowed=None, now=NOW)
    assert weighed is not None
    order = np.argsort(-weighed.scores, kind="stable")
    facts = confidence.question_facts(weighed.candidates, held.index.size)
    said = confidence.confidence(weighed.scores[order], weighed.features[:, order], facts, weighed.gate)
    assert ask(held, "Rowan bassoon", vector=False).confidence == pytest.approx(said)


def test_the_weights_file_names_only_existing_signs() -> None:
    assert set(fitted_weights.CONFIDENCE["signs"]) <= set(confidence.SIGNS)
