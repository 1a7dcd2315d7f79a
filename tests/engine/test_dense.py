"""Vectors are found by their bits, scored by their int8 numbers, and agree with a plain product of floats."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.engine.index.dense import EXACT_ROWS, RESCORED, SAMPLE, Dense, quantise

Floats = NDArray[np.float32]


def clustered(count: int, dimension: int, seed: int, clusters: int = 100) -> Floats:
    """Unit vectors as sentences make them: groups in a few dimensions, spread over all of them, off the centre."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(clusters, 24))
    latent = centres[random.integers(0, clusters, count)] + 0.6 * random.normal(size=(count, 24))
    full = latent @ random.normal(size=(24, dimension)) + 0.8 * random.normal(size=(count, dimension)) + 0.5
    return (full / np.linalg.norm(full, axis=1, keepdims=True)).astype(np.float32)


def near(vectors: Floats, seed: int, count: int = 30) -> Floats:
    random = np.random.default_rng(seed)
    chosen = vectors[random.integers(0, len(vectors), count)]
    queries = chosen + 0.05 * random.normal(size=chosen.shape)
    return (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)


def dense_of(vectors: Floats, capacity: int = 0) -> Dense:
    return Dense.build(*quantise(vectors), np.ones(len(vectors), np.bool_), capacity)


def recall(dense: Dense, vectors: Floats, queries: Floats, depth: int = 10) -> float:
    """Share of the truly nearest that a search has among its first."""
    found = 0
    for query in queries:
        exact = np.argsort(-(vectors.astype(np.float64) @ query), kind="stable")[:depth]
        found += len(set(exact.tolist()) & set(dense.search(query)[0][:depth].tolist()))
    return found / (depth * len(queries))


def test_a_vector_survives_as_int8_numbers_of_unit_length() -> None:
    vectors = clustered(300, 128, 1)
    data, scale = quantise(vectors)
    back = data.astype(np.float64) * scale[:, None]
    assert np.abs(data).max(axis=1).min() == 127
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1, atol=1e-6)
    assert (back * vectors).sum(axis=1).min() > 0.9999


def test_a_vector_without_direction_becomes_zeros() -> None:
    data, scale = quantise(np.array([[0, 0], [np.nan, 1], [np.inf, 0], [3, 4]], np.float32))
    assert data[:3].any() == False  # noqa: E712
    assert scale[:3].tolist() == [0, 0, 0]
    assert data[3].tolist() == [95, 127]


def test_a_small_space_is_searched_row_by_row() -> None:
    vectors = clustered(700, 64, 2)
    dense = dense_of(vectors)
    for query in near(vectors, 3, 10):
        rows, scores = dense.search(query, k=700)
        assert sorted(rows.tolist()) == list(range(700))
        assert (np.diff(scores) <= 0).all()
        np.testing.assert_allclose(scores, vectors[rows] @ query, atol=0.01)
        np.testing.assert_array_equal(scores, dense.scores(query, rows))


def test_equal_vectors_tie_wherever_they_stand_and_the_lower_row_comes_first() -> None:
    vectors = clustered(3_000, 192, 4)
    twins = [5, 511, 512, 1_300, 2_999]
    vectors[twins] = vectors[5]
    rows, scores = dense_of(vectors).search(vectors[5], k=5)
    assert rows.tolist() == twins
    assert len(set(scores.tolist())) == 1


def test_a_score_does_not_depend_on_the_order_of_its_sum() -> None:
    vectors = clustered(1_500, 384, 30)
    one, other = dense_of(vectors), dense_of(vectors[:, ::-1].copy())
    rows = np.arange(1_500)
    for query in near(vectors, 31, 5):
        np.testing.assert_array_equal(one.scores(query, rows), other.scores(query[::-1].copy(), rows))


def test_scores_of_rows_in_any_order_are_those_of_the_search() -> None:
    vectors = clustered(50, 64, 5)
    dense = dense_of(vectors)
    order = np.array([0, 7, 2], np.int64)
    np.testing.assert_allclose(dense.scores(vectors[0], order), vectors[order] @ vectors[0], atol=0.01)


@pytest.mark.parametrize("dimension", [64, 256, 384])
def test_the_bits_let_the_nearest_through(dimension: int) -> None:
    vectors = clustered(EXACT_ROWS + 3_000, dimension, 6)
    floor = 0.85 if dimension == 64 else 0.97  # 64 bits say little
    assert recall(dense_of(vectors), vectors, near(vectors, 7)) >= floor


def test_bits_are_cut_at_the_mean_of_the_space() -> None:
    dense = dense_of(clustered(500, 64, 8))
    share = np.unpackbits(dense.bits.T.copy().view(np.uint8)).mean()
    np.testing.assert_allclose(dense.centre, (dense.data * dense.scale[:, None]).mean(axis=0), atol=1e-6)
    assert 0.4 < share < 0.6


def test_a_search_answers_only_what_is_allowed() -> None:
    vectors = clustered(EXACT_ROWS + 2_000, 64, 9)
    dense = dense_of(vectors)
    few, many = np.zeros(dense.size, np.bool_), np.ones(dense.size, np.bool_)
    few[100:110] = True
    many[::7] = False
    query = near(vectors, 10, 1)[0]
    assert sorted(dense.search(query, allowed=few)[0].tolist()) == list(range(100, 110))
    rows, _ = dense.search(query, allowed=many)
    assert len(rows) == RESCORED
    assert (rows % 7 != 0).all()


def test_a_mask_may_be_shorter_or_longer_than_the_vectors() -> None:
    dense = dense_of(clustered(20, 64, 11), capacity=64)
    query = dense.vector(3)
    assert len(dense.search(query, allowed=np.ones(5, np.bool_))[0]) == 5
    assert len(dense.search(query, allowed=np.ones(60, np.bool_))[0]) == 20


def test_thousands_of_equal_vectors_do_not_swell_a_search() -> None:
    vectors = clustered(EXACT_ROWS + 2_000, 64, 12)
    vectors[1_000:6_000] = vectors[1_000]
    rows, scores = dense_of(vectors).search(vectors[1_000], k=5_000)
    assert len(rows) >= 5_000 - 1  # asked for that many, it gives them
    rows, scores = dense_of(vectors).search(vectors[1_000], k=50)
    assert rows.tolist() == list(range(1_000, 1_050))
    assert len(set(scores.tolist())) == 1


def test_rows_put_one_by_one_are_as_if_built() -> None:
    vectors = clustered(300, 128, 13)
    data, scale = quantise(vectors)
    built = dense_of(vectors)
    grown = dense_of(vectors[:100])
    grown.centre = built.centre  # it is fixed at build time
    for row in range(100):
        grown.put(row, data[row], float(scale[row]))
    for row in range(100, 300):
        grown.put(row, data[row], float(scale[row]))
    assert grown.size == 300
    assert grown.capacity >= 300
    for name in ("data", "scale", "has"):
        np.testing.assert_array_equal(getattr(grown, name)[:300], getattr(built, name)[:300])
    np.testing.assert_array_equal(grown.bits[:, :300], built.bits[:, :300])


def test_a_replaced_vector_is_found_and_the_old_one_is_not() -> None:
    vectors = clustered(EXACT_ROWS + 500, 256, 14)
    dense = dense_of(vectors)
    new, scale = quantise(-vectors[70:71])
    dense.put(70, new[0], float(scale[0]))
    assert dense.search(-vectors[70])[0][0] == 70
    assert 70 not in dense.search(vectors[70])[0]


def test_rows_without_a_vector_are_never_found() -> None:
    vectors = clustered(30, 64, 15)
    dense = dense_of(vectors)
    data, scale = quantise(vectors[:1])
    dense.put(40, data[0], float(scale[0]))
    dense.drop(3)
    rows, _ = dense.search(vectors[0])
    assert dense.size == 41
    assert set(rows.tolist()) == set(range(30)) - {3} | {40}
    assert dense.scores(vectors[3], np.array([3, 35], np.int64)).tolist() == [0, 0]


def test_an_empty_space_and_a_query_without_direction_find_nothing() -> None:
    empty, dense = Dense.empty(64), dense_of(clustered(10, 64, 16))
    for found in (
        empty.search(np.ones(64, np.float32)),
        dense.search(np.zeros(64, np.float32)),
        dense.search(np.full(64, np.nan, np.float32)),
        dense.search(np.ones(64, np.float32), k=0),
    ):
        assert [len(array) for array in found] == [0, 0]
    assert empty.statistics(np.ones(64, np.float32)) == (0, 0, 0)
    empty.build_ivf()
    empty.put(0, dense.data[0], float(dense.scale[0]))
    assert empty.search(dense.vector(0))[0].tolist() == [0]


def test_statistics_are_those_of_all_rows_while_they_are_few() -> None:
    vectors = clustered(SAMPLE - 6, 64, 17)
    dense, query = dense_of(vectors), near(vectors, 18, 1)[0]
    scores = dense.scores(query, np.arange(len(vectors)))
    low, mean, deviation = dense.statistics(query)
    assert low == scores.min()
    assert mean == pytest.approx(scores.mean(), abs=1e-6)
    assert deviation == pytest.approx(scores.std(), abs=1e-6)


def test_statistics_of_many_rows_come_from_a_sample_that_history_does_not_change() -> None:
    vectors = clustered(20 * SAMPLE, 64, 19)
    data, scale = quantise(vectors)
    grown = dense_of(vectors[:2_000])
    for row in range(2_000, len(vectors)):
        grown.put(row, data[row], float(scale[row]))
    query = near(vectors, 20, 1)[0]
    low, mean, deviation = dense_of(vectors).statistics(query)
    assert (low, mean, deviation) == grown.statistics(query)
    scores = vectors @ query
    assert mean == pytest.approx(scores.mean(), abs=0.05)
    assert deviation == pytest.approx(scores.std(), rel=0.1)


def test_statistics_follow_a_row_of_the_sample_that_changes() -> None:
    vectors = clustered(SAMPLE, 64, 19)
    data, scale = quantise(vectors)
    dense, query = dense_of(vectors), near(vectors, 20, 1)[0]
    before = dense.statistics(query)
    dense.put(0, -data[0], float(scale[0]))
    changed = vectors.copy()
    changed[0] = -changed[0]
    assert dense.statistics(query) == dense_of(changed).statistics(query) != before
    dense.drop(0)
    assert dense.statistics(query) != dense_of(changed).statistics(query)


def test_statistics_find_the_few_vectors_of_a_large_space() -> None:
    vectors = clustered(10, 64, 21)
    dense = Dense.empty(64, 10_000)
    data, scale = quantise(vectors)
    for place in range(10):
        dense.put(9_001 + 2 * place, data[place], float(scale[place]))
    assert dense.statistics(vectors[0])[1] == pytest.approx((vectors @ vectors[0]).mean(), abs=0.01)


def test_lists_find_nearly_all_that_a_full_scan_would() -> None:
    vectors = clustered(20_000, 128, 22, clusters=400)
    dense, queries = dense_of(vectors, capacity=20_010), near(vectors, 23)
    dense.build_ivf(700)
    assert dense.listed is not None
    probed = [dense.listed.near(query, dense.bits[:, : dense.size]).size for query in queries]
    assert max(probed) < 8_000
    assert recall(dense, vectors, queries) >= 0.97


def test_lists_see_what_came_or_changed_after_they_were_built() -> None:
    vectors = clustered(6_000, 128, 24)
    dense = dense_of(vectors, capacity=7_000)
    dense.build_ivf(200)
    data, scale = quantise(-vectors[:2])
    dense.put(6_000, data[0], float(scale[0]))
    dense.put(17, data[1], float(scale[1]))
    assert dense.search(-vectors[0])[0][0] == 6_000
    assert dense.search(-vectors[1])[0][0] == 17
    assert dense.search(-vectors[1], allowed=np.arange(5_900) != 17)[0][0] != 17
    dense.put(5_990, data[1], float(scale[1]))
    assert dense.search(-vectors[1], allowed=np.ones(5_900, np.bool_))[0][0] == 17
    dense.drop(6_000)
    assert 6_000 not in dense.search(-vectors[0])[0]


def test_lists_are_the_same_every_time() -> None:
    first, second = dense_of(clustered(5_000, 64, 25)), dense_of(clustered(5_000, 64, 25))
    first.build_ivf(64)
    second.build_ivf(64)
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name])


def test_a_filter_that_leaves_little_is_not_left_to_the_lists() -> None:
    vectors = clustered(12_000, 64, 26)
    dense = dense_of(vectors)
    dense.build_ivf(400)
    far = np.argsort(vectors @ vectors[0])[:5_000]
    allowed = np.zeros(12_000, np.bool_)
    allowed[far] = True
    rows, _ = dense.search(vectors[0], allowed=allowed)
    assert len(rows) == RESCORED


@pytest.mark.parametrize("listed", [False, True])
def test_arrays_bring_back_the_same_vectors(listed: bool) -> None:
    vectors = clustered(5_000, 64, 27)
    dense = dense_of(vectors, capacity=5_100)
    if listed:
        dense.build_ivf(100)
        dense.put(9, dense.data[10], float(dense.scale[10]))
    again = Dense.from_arrays({name: array.copy() for name, array in dense.arrays().items()})
    assert (again.size, again.capacity, again.dimension) == (5_000, 5_100, 64)
    for query in near(vectors, 28, 3):
        for one, other in zip(dense.search(query), again.search(query), strict=True):
            np.testing.assert_array_equal(one, other)
    again.put(5_000, dense.data[0], float(dense.scale[0]))
    assert again.search(dense.vector(0), k=2)[0].tolist() == [0, 5_000]


def test_a_vector_takes_its_numbers_its_bits_and_five_bytes() -> None:
    dense = dense_of(clustered(1_000, 256, 29))
    assert dense.nbytes == pytest.approx(1_000 * (256 + 32 + 4 + 1), abs=2_000)


def test_a_dimension_that_does_not_fill_words_is_refused() -> None:
    with pytest.raises(ValueError, match="64"):
        Dense.empty(100)
