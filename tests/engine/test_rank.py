"""The order of candidates: a bounded correction that counts as much as the space resembles a fitted one."""

from __future__ import annotations

import numpy as np

from memory.engine.ranking import candidate_columns, features, fitted_weights, rank
from memory.engine.ranking.collection_shape import FREE, CollectionShape, measure_shape, nearness, space_facts
from tests.engine.memories import make_space

CHAT = CollectionShape(3.3, 0.6, 1.0, 0.0, 1.0, 1.0, 1.0)
ONES = np.ones(len(features.NAMES), np.float32)


def ranker(*shapes: CollectionShape, half: tuple[CollectionShape, ...] = ()) -> rank.Ranker:
    return rank.Ranker("test", shapes, half, ONES, (rank.Expert("chat", shapes, 2 * ONES),))


def test_near_a_fitted_shape_the_weights_count_in_full() -> None:
    whole, said = ranker(CHAT).weights(CHAT._replace(length=3.3 + FREE))
    assert np.allclose(whole, 3)
    assert said == {"version": "test", "gate": 1.0, "kind": "chat"}


def test_far_from_every_fitted_shape_the_weights_count_nothing() -> None:
    whole, said = ranker(CHAT).weights(CHAT._replace(speakers=0.0, sessions=0.0, turns=0.0, length=5.0))
    assert np.all(whole == 0)
    assert said["kind"] == ""


def test_the_weights_fade_with_the_distance_to_a_fitted_shape() -> None:
    shares = [nearness(distance) for distance in (0.0, FREE, 0.6, 0.8, 1.2)]
    assert shares[0] == shares[1] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == 0


def test_weights_fitted_on_generated_texts_count_in_part() -> None:
    gate, _ = ranker(half=(CHAT,)).gates(CHAT)
    assert gate == rank.HALF < 1
    trusts = {one["name"]: one["trust"] for one in fitted_weights.WEIGHTS["experts"]}
    assert trusts == {"chat": 1.0, "passages": 1.0, **rank.HALF_OF_KIND}
    assert max(rank.HALF_OF_KIND.values()) < 1


def test_being_a_standing_rule_never_lowers_a_score() -> None:
    every = [fitted_weights.WEIGHTS["shared"], *(one["weights"] for one in fitted_weights.WEIGHTS["experts"])]
    assert min(one.get("rule", 0.0) for one in every) >= 0


def test_no_weights_move_a_candidate_further_than_the_bound() -> None:
    found = np.random.default_rng(1).normal(size=(len(features.NAMES), 50)).astype(np.float32)
    moved = rank.correction(found, 100 * ONES)[0].sum(axis=0)
    assert np.abs(moved).max() <= rank.BOUND * 1.001


def test_a_correction_is_the_same_whatever_unit_a_feature_is_measured_in() -> None:
    found = np.random.default_rng(2).normal(size=(len(features.NAMES), 50)).astype(np.float32)
    other = found * np.linspace(1, 900, len(found), dtype=np.float32)[:, None] + 7
    assert np.allclose(rank.correction(found, ONES)[0], rank.correction(other, ONES)[0], atol=1e-2)


def test_a_space_is_measured_by_its_texts_speakers_and_sessions() -> None:
    chat = make_space(
        *({"text": "word " * 20, "speaker": "Ann", "session": f"s{number // 10}"} for number in range(100))
    )
    notes = make_space(*("word " * 20 for _ in range(100)))
    roles = make_space(*({"text": "hello", "speaker": ("user", "assistant")[number % 2]} for number in range(10)))
    assert measure_shape(chat.index, candidate_columns.ROLES).speakers == 1
    assert measure_shape(chat.index, candidate_columns.ROLES).roles == 0
    assert np.isclose(measure_shape(chat.index, candidate_columns.ROLES).turns, np.log(10) / 3)
    assert measure_shape(notes.index, candidate_columns.ROLES).sessions == 0
    # A passage alone in its file is in no session with others.
    files = make_space(*({"text": f"Note {number}.", "session": f"file {number}"} for number in range(4)))
    assert measure_shape(files.index, candidate_columns.ROLES).sessions == 0
    assert not space_facts(files.index, candidate_columns.ROLES).sessions
    assert space_facts(chat.index, candidate_columns.ROLES).sessions
    assert (
        measure_shape(notes.index, candidate_columns.ROLES).length
        == measure_shape(chat.index, candidate_columns.ROLES).length
    )
    assert measure_shape(roles.index, candidate_columns.ROLES).roles == 1
    assert measure_shape(make_space().index, candidate_columns.ROLES) == CollectionShape(0, 0, 0, 0, 0, 0, 0)


def test_the_weights_file_names_only_existing_features() -> None:
    named = {
        *fitted_weights.WEIGHTS["shared"],
        *(name for one in fitted_weights.WEIGHTS["experts"] for name in one["weights"]),
    }
    assert named <= set(features.NAMES)
    assert rank.FITTED_RANKER.shapes
    assert all(len(one) == len(CHAT) for one in fitted_weights.WEIGHTS["shapes"])
