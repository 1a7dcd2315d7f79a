"""Features: what speaks for a candidate, free of the collection's scale."""

from __future__ import annotations

import numpy as np
import pytest

from memory.engine.ranking import features
from memory.engine.ranking.candidate_columns import parse_period
from memory.engine.ranking.features import NAMES
from memory.engine.ranking.scoring import score_candidates
from memory.engine.text import question
from tests.engine.memories import NOW, make_space

CHAT = (
    {"text": "Where did you go on holiday?", "speaker": "Ann", "session": "1", "time": "2024-05-01"},
    {"text": "To Lisbon with my father, it was lovely.", "speaker": "Ben", "session": "1", "time": "2024-05-01"},
    {"text": "I always prefer the mountains.", "speaker": "Ann", "session": "1", "time": "2024-05-01"},
    {"text": "My holiday begins on Monday.", "speaker": "Ann", "session": "2", "time": "2024-06-10"},
    {"text": "We had 14 guests.", "speaker": "Ben", "session": "2", "time": "2024-06-10"},
)


def feature_rows(query: str, *names: str, items: tuple = CHAT) -> list[list[float]]:
    """The named features of every row, in the order of the rows."""
    held = make_space(*items, vectors=False)
    weighed = score_candidates(held.index, question.read_question(query, NOW), None, allowed=None, now=NOW, every=True)
    assert weighed is not None
    table = np.full((len(names), len(items)), np.nan)
    rows = weighed.candidates.rows[weighed.pool]
    for place, name in enumerate(names):
        table[place, rows] = weighed.features[NAMES.index(name)]
    return table.tolist()


def test_the_turn_after_a_matching_question_is_seen_to_answer_it() -> None:
    answers, asks, before = feature_rows("Ben's holiday", "answers", "asks", "before")
    assert answers[1] > 0
    assert answers[1] == before[1]
    assert asks[0] == 1
    assert asks[1] == 0
    assert answers[0] == before[0] == 0


def test_a_question_put_to_a_machine_announces_no_answer() -> None:
    roles = tuple(one | {"speaker": {"Ann": "user", "Ben": "assistant"}[str(one["speaker"])]} for one in CHAT)
    answers, asks = feature_rows("Ben's holiday", "answers", "asks", items=roles)
    assert not any(answers)
    assert not any(asks)


def test_neighbours_are_of_the_same_session_only() -> None:
    (before,) = feature_rows("mountains holiday", "before")
    assert before[3] == 0
    assert before[2] == before[1] == 0 or before[1] > 0


def test_a_speaker_counts_as_named_only_when_the_question_says_the_name() -> None:
    named, other, only = feature_rows("Where did Ben go on holiday?", "named", "other_named", "only_named")
    assert named[1] == only[1] == 1
    assert named[0] == 0
    assert other[0] == 1
    named, only = feature_rows("Did Ann and Ben go on holiday?", "named", "only_named")
    assert named[0] == named[1] == 1
    assert only[0] == only[1] == 0


def test_roles_are_no_names() -> None:
    items = ({"text": "The user manual", "speaker": "user"}, {"text": "A manual", "speaker": "assistant"})
    named, role = feature_rows("user manual", "named", "role", items=items)
    assert named == [0, 0]
    assert role == [1, -1]


def test_coverage_leaves_the_speakers_name_out() -> None:
    (coverage,) = feature_rows("Ben holiday", "coverage")
    assert coverage[0] == pytest.approx(1)
    assert coverage[4] == pytest.approx(0) or np.isnan(coverage[4])


def test_kinds_of_question_look_at_the_kind_of_text() -> None:
    assert feature_rows("How many guests on the holiday in Lisbon?", "number_how_many")[0][4] == 1
    assert feature_rows("When is the holiday in Lisbon?", "number_how_many")[0][3] == 0
    assert feature_rows("When is the holiday?", "time_when")[0][3] == 1
    assert feature_rows("Which holiday does Ann prefer, mountains?", "preference")[0][2] == 1


def test_a_session_scores_the_mean_of_its_three_best_rows() -> None:
    (best,) = feature_rows("holiday in Lisbon with father", "session_best")
    assert best[0] == best[1] == best[2]
    assert best[0] > best[3]


def test_dates_are_matched_by_the_day_of_saying() -> None:
    (date,) = feature_rows("Ann's holiday on 10 June 2024", "date")
    assert date[3] == 1
    assert date[0] == 0


@pytest.mark.parametrize(
    ("feature", "days", "worth"),
    [("2024-05-17", 1, 1.0), ("2024-02", 29, 0.5), ("2023", 365, 0.2), ("2024-W10", 7, 0.8)],
)
def test_a_date_is_a_span_of_seconds(feature: str, days: int, worth: float) -> None:
    found = parse_period(feature)
    assert found is not None
    begin, end, weight = found
    assert (end - begin) / 86_400 == days
    assert weight == worth


@pytest.mark.parametrize(
    "feature", ["may", "05-17", "2024-13", "2024-02-31", "0000", "2024-W60", "9999-12-31", "monday"]
)
def test_a_feature_that_is_no_period_gives_none(feature: str) -> None:
    parse_period(feature)
    if feature != "9999-12-31":
        assert parse_period(feature) is None


def test_standardised_features_have_no_unit() -> None:
    raw = np.random.default_rng(3).normal(size=(len(NAMES), 40)).astype(np.float32)
    raw[0] = 5
    scaled, _ = features.standardise(raw)
    assert np.all(scaled[0] == 0)
    assert np.allclose(scaled[1:].mean(axis=1), 0, atol=0.1)
    assert np.allclose(scaled, features.standardise(raw * 1_000 + 3)[0], atol=1e-2)
    with_none = np.hstack((raw, np.zeros((len(raw), 1), np.float32)))
    assert np.allclose(features.standardise(with_none)[1], features.standardise(with_none)[0][:, -1], atol=1e-5)
    assert np.abs(scaled).max() <= features.CLIP


def test_every_feature_belongs_to_a_signal_and_is_finite() -> None:
    held = make_space(*CHAT)
    for query in ("holiday", "Ben", "when", "2024", "Lisbon Lisbon Lisbon", "in June 2024 with my father?"):
        weighed = score_candidates(
            held.index, question.read_question(query, NOW), None, allowed=None, now=NOW, every=True
        )
        assert weighed is None or np.isfinite(weighed.features).all()
    assert set(features.FEATURES.values()) == {
        "words",
        "meaning",
        "speaker",
        "neighbours",
        "form",
        "standing",
        "session",
        "time",
        "links",
    }
