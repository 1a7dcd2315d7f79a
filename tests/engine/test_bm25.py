"""BM25: the formula as it is written down, and a search that finds exactly what scoring every row would."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.index import bm25, top_k
from memory.engine.index.postings import Postings
from memory.engine.index.space_index import COLUMNS, Index


def collection(rows: list[Counter[int]], *, chars: int | list[int] = 100, base: int | None = None) -> Index:
    size = len(rows)
    postings = Postings.build(rows[:base])
    for row in range(postings.size, size):
        postings.add(row, rows[row])
    columns = {name: np.zeros(size + 10, kind) for name, kind in COLUMNS.items()}
    columns["length"][:size] = [sum(terms.values()) for terms in rows]
    columns["chars"][:size] = chars
    columns["length"][size:] = 9999  # the room to grow means nothing
    return Index(columns, postings, None, ConduitGraph.empty(), size)


def zipf_rows(count: int, *, words: int = 2000, seed: int = 5) -> list[Counter[int]]:
    """Texts of 4 to 20 words out of a language with common and rare ones; key = rank + 1."""
    chance = np.random.default_rng(seed)
    odds = 1 / np.arange(2.7, words + 2.7)
    odds /= odds.sum()
    lengths = chance.integers(4, 21, count)
    flat = (chance.choice(words, int(lengths.sum()), p=odds) + 1).tolist()
    ends = np.cumsum(lengths).tolist()
    return [Counter(flat[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]


def by_hand(rows: list[Counter[int]], keys: list[int], b: float, k1: float) -> list[float]:
    mean = sum(sum(terms.values()) for terms in rows) / len(rows)
    found = []
    for terms in rows:
        total = 0.0
        for key in dict.fromkeys(keys):
            with_key = sum(key in other for other in rows)
            idf = math.log(1 + (len(rows) - with_key + 0.5) / (with_key + 0.5))
            count = terms[key]
            total += idf * (k1 + 1) * count / (count + k1 * (1 - b + b * sum(terms.values()) / mean)) if count else 0.0
        found.append(total)
    return found


def brute(index: Index, keys: np.ndarray, allowed: np.ndarray | None, k: int) -> tuple[list[int], list[float]]:
    """Every row scored, sorted by score, then by row."""
    rows = np.arange(index.size)
    found = bm25.scores(index, bm25.terms(index, keys), rows)
    if allowed is not None:
        found = np.where(allowed, found, 0)
    best = sorted((row for row in rows.tolist() if found[row] > 0), key=lambda row: (-found[row], row))[:k]
    return best, found[best].tolist()


@pytest.mark.parametrize(
    ("mean", "b", "k1"),
    [(30, 0.4, 0.9), (140, 0.4, 0.9), (280, 0.4 + 0.2 * math.log(2), 1.0188), (2100, 0.9416, 1.2), (16000, 0.95, 1.2)],
)
def test_the_two_parameters_follow_the_length_of_the_texts(mean, b, k1):
    index = collection([Counter([1])] * 4, chars=[mean - 10, mean + 10, mean, mean])
    assert bm25.bm25_parameters(index) == pytest.approx((b, k1), abs=2e-4)


def test_the_parameters_follow_texts_that_come_later():
    index = collection([Counter([1])] * 4, chars=140)
    before = bm25.bm25_parameters(index)
    index.columns["chars"][4:8] = 4000
    index.size = 8
    assert before.b == pytest.approx(0.4)
    assert bm25.bm25_parameters(index).b == pytest.approx(0.4 + 0.2 * math.log(2070 / 140))


def test_an_empty_space_gives_an_empty_result():
    index = collection([])
    keys = np.array([4], np.uint64)
    assert top_k.search_top_k(index, bm25.terms(index, keys), k=5)[0].tolist() == []
    assert bm25.scores(index, bm25.terms(index, keys), np.array([], np.int32)).tolist() == []
    assert bm25.bm25_parameters(index) == (0.4, 0.9)


@pytest.mark.parametrize("chars", [100, 2000])
def test_scores_are_those_of_the_formula(chars):
    rows = zipf_rows(60, words=40)
    index = collection(rows, chars=chars, base=40)
    keys = [3, 9, 1, 39, 5000]
    found = bm25.scores(index, bm25.terms(index, np.array(keys, np.uint64)), np.arange(60))
    assert found == pytest.approx(by_hand(rows, keys, *bm25.bm25_parameters(index)), rel=1e-5)
    asked = bm25.terms(index, np.array(keys, np.uint64))
    counts = index.postings.counts_of(asked.spans, np.arange(60)).astype(np.float32)
    chosen = bm25.score_counts(index, np.arange(60), counts, asked.idf, bm25.Bm25Parameters(0.95, 1.5))
    assert chosen == pytest.approx(by_hand(rows, keys, 0.95, 1.5), rel=1e-5)
    shapes, lengths = (
        (bm25.Bm25Parameters(0.4, 0.9), bm25.Bm25Parameters(0.95, 1.5)),
        index.column("length").astype(np.float32),
    )
    both = bm25.score_counts_each(index, counts, asked.idf, shapes, lengths)
    assert both[1].tolist() == chosen.tolist()
    assert both[0] == pytest.approx(by_hand(rows, keys, 0.4, 0.9), rel=1e-5)


def test_the_parts_of_the_terms_add_up_to_the_score():
    index = collection(zipf_rows(80, words=40))
    keys = np.array([3, 1, 17, 8], np.uint64)
    asked, rows = bm25.terms(index, keys), np.arange(80)
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    parts = bm25.by_term(index, rows, counts, asked.idf, bm25.bm25_parameters(index))
    assert parts.shape == (4, 80)
    assert parts.sum(axis=0) == pytest.approx(bm25.scores(index, asked, rows), rel=1e-6)
    assert (parts[2] > 0).tolist() == [17 in terms for terms in zipf_rows(80, words=40)]


def test_a_term_that_is_asked_twice_counts_once():
    index = collection(zipf_rows(80, words=40))
    once, twice = (bm25.terms(index, np.array(keys, np.uint64)) for keys in ([3, 8], [3, 8, 3]))
    rows = np.arange(80)
    assert bm25.scores(index, once, rows).tolist() == bm25.scores(index, twice, rows).tolist()
    assert top_k.search_top_k(index, once, k=9)[1].tolist() == top_k.search_top_k(index, twice, k=9)[1].tolist()
    assert twice.places.tolist() == [0, 1]


def test_equal_scores_come_in_the_order_of_the_rows():
    index = collection([Counter([1]), Counter([1, 2]), Counter([1]), Counter([3]), Counter([1])] * 30)
    rows, found = top_k.search_top_k(index, bm25.terms(index, np.array([1], np.uint64)), k=50)
    assert len(rows) == 50
    alone = [row for row in range(150) if row % 5 in (0, 2, 4)]
    assert rows.tolist() == alone[:50]
    assert len(set(found.tolist())) == 1


@pytest.fixture(scope="module")
def large() -> Index:
    return collection(zipf_rows(20_000), base=17_000)


@pytest.mark.parametrize("budget", [(200, 10**9), (2_000, 10**9), (10**9, 10**9)])
@pytest.mark.parametrize("k", [1, 10, 400])
def test_the_search_finds_exactly_what_scoring_every_row_finds(large, monkeypatch, budget, k):
    monkeypatch.setattr(top_k, "FIRST_READ", budget[0])
    monkeypatch.setattr(top_k, "LAST_READ", budget[1])
    chance = np.random.default_rng(k)
    early = 0
    for _ in range(12):
        keys = np.unique((chance.zipf(1.3, 7) % 2000 + 1).astype(np.uint64))
        rows, found = top_k.search_top_k(large, bm25.terms(large, keys), k=k, sure=k)
        expected, values = brute(large, keys, None, k)
        assert rows.tolist() == expected
        assert found.tolist() == values
        early += len(rows) == k
    assert early


def test_the_first_rows_are_exact_and_the_others_correctly_scored(large, monkeypatch):
    monkeypatch.setattr(top_k, "FIRST_READ", 200)
    chance = np.random.default_rng(4)
    for _ in range(12):
        keys = np.unique((chance.zipf(1.3, 7) % 2000 + 1).astype(np.uint64))
        rows, found = top_k.search_top_k(large, bm25.terms(large, keys), k=400)
        assert rows[: top_k.SURE].tolist() == brute(large, keys, None, 400)[0][: top_k.SURE]
        assert found.tolist() == bm25.scores(large, bm25.terms(large, keys), rows).tolist()
        assert found.tolist() == sorted(found.tolist(), reverse=True)
        assert len(set(rows.tolist())) == len(rows)


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_only_rows_that_are_allowed_are_found(large, share):
    chance = np.random.default_rng(2)
    allowed = chance.random(large.size) < share
    for _ in range(6):
        keys = (chance.zipf(1.3, 6) % 2000 + 1).astype(np.uint64)
        rows, found = top_k.search_top_k(large, bm25.terms(large, keys), allowed=allowed, k=30)
        assert (rows.tolist(), found.tolist()) == brute(large, keys, allowed, 30)
        assert allowed[rows].all()


def test_the_limit_of_postings_read_is_kept_and_reported(large, monkeypatch):
    monkeypatch.setattr(top_k, "FIRST_READ", 1_000)
    monkeypatch.setattr(top_k, "LAST_READ", 4_000)
    caps: list[str] = []
    common = np.array([1, 2, 3], np.uint64)
    rows, found = top_k.search_top_k(large, bm25.terms(large, common), k=20, caps=caps)
    assert caps == ["postings"]
    assert len(rows) == 20
    # What it did look at has its full score, the unread terms included.
    assert found.tolist() == bm25.scores(large, bm25.terms(large, common), rows).tolist()
    assert (
        top_k.search_top_k(large, bm25.terms(large, np.array([1500], np.uint64)), k=5, caps=(calm := []))[0].size == 5
        and calm == []
    )


def test_a_page_as_a_question_is_a_search_like_any_other(monkeypatch):
    """Thousands of terms, each in half of all rows: what the bound costs must not grow with their square."""
    chance = np.random.default_rng(3)
    rows = [Counter((chance.choice(4_000, 2_000, replace=False) + 1).tolist()) for _ in range(60)]
    pages, caps, looked_up = collection(rows), list[str](), []
    counts_of = pages.postings.counts_of

    def counted(spans, rows):
        looked_up.append(len(spans.keys))
        return counts_of(spans, rows)

    monkeypatch.setattr(pages.postings, "counts_of", counted)
    monkeypatch.setattr(top_k, "FIRST_READ", 100)  # so that it looks at the bound on the way
    found, _ = top_k.search_top_k(pages, bm25.terms(pages, np.arange(1, 4_001, dtype=np.uint64)), k=20, caps=caps)
    assert (len(found), caps) == (20, ["terms"])
    assert 0 < sum(looked_up) <= 8 * top_k.MOST_TERMS


def test_with_a_rare_term_the_postings_of_common_terms_are_not_read(large, monkeypatch):
    """Reading stops as soon as the unread terms cannot change which rows are the best."""
    monkeypatch.setattr(top_k, "FIRST_READ", 100)
    read = []
    plain = Postings.read
    monkeypatch.setattr(
        Postings, "read", lambda self, spans, place: read.append(int(spans.keys[place])) or plain(self, spans, place)
    )
    keys = np.array([1, 2, 900, 901, 902, 903], np.uint64)
    rows, _ = top_k.search_top_k(large, bm25.terms(large, keys), k=1)
    assert rows.tolist() == brute(large, keys, None, 1)[0]
    assert 903 in read and 1 not in read
