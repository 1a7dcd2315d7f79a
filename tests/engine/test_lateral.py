"""What is offered beside an unsure answer: links and clusters take turns, nothing twice, nothing forbidden."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memory.arena.build import assemble_index
from memory.arena.grain_rows import GrainRecord
from memory.engine.ranking import lateral
from memory.engine.ranking.settings import DEFAULT

CLUSTERS = [5, 5, 5, 5, 9, 9, 9, 0, 0]
TYPICAL = [0.1, 0.9, 0.4, 0.9, 1.0, 0.2, 0.3, 0, 0]
NOTHING = np.empty(0, np.int32)


@pytest.fixture
def index():
    records = [
        GrainRecord(
            number + 1, f"text {number}", digest=f"{number:016x}", cluster=CLUSTERS[number], typical=TYPICAL[number]
        )
        for number in range(len(CLUSTERS))
    ]
    return assemble_index([records])


def beside(index, shown, rest=NOTHING, linked=None, allowed=None, **given):
    settings = replace(DEFAULT, **{"expansion": 5, "per_cluster": 2, **given})
    linked = np.zeros(len(rest), np.float32) if linked is None else np.array(linked, np.float32)
    rows, clusters = lateral.expand_answer(
        index, np.array(shown, np.int32), np.array(rest, np.int32), linked, allowed, settings
    )
    return list(zip(rows.tolist(), clusters, strict=True))


def test_the_most_typical_of_the_answers_clusters_come_in_its_order(index):
    assert beside(index, [0, 4]) == [(1, 5), (3, 5), (6, 9), (5, 9)]


def test_links_and_clusters_take_turns_then_the_next_by_score_come(index):
    assert beside(index, [0], [7, 8, 4], [0, 0.5, 0]) == [(8, 0), (1, 5), (3, 5), (7, 0), (4, 0)]


def test_candidates_are_limited_per_cluster_and_in_total(index):
    assert beside(index, [0, 4], per_cluster=1) == [(1, 5), (6, 9)]
    assert len(beside(index, [0, 4], expansion=3)) == 3
    assert beside(index, [0, 4], expansion=0) == []


def test_shown_forbidden_and_repeated_texts_are_left_out(index):
    allowed = np.ones(len(CLUSTERS), np.bool_)
    allowed[3] = False
    index.columns["digest"][1] = index.columns["digest"][0]
    assert beside(index, [0], allowed=allowed) == [(2, 5)]


def test_a_row_without_a_cluster_has_no_lateral_candidates(index):
    assert beside(index, [7]) == []
