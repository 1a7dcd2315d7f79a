"""Building: what SQL holds of a space is in its arrays, and nothing of any other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from fluxcore import events
from memory.arena import queries
from memory.arena.build import build_arena
from memory.engine.index.space_index import BEGINNING_OF_TIME, END_OF_TIME, NO_ROW, SECOND
from memory.engine.text import words
from memory.grains.models import Conduit, ContextShift, Entry, Grain, Member, Vector
from tests.arena.graph_writer import DIMENSION, ENCODER, MOMENT, GraphWriter, unit_vector

pytestmark = pytest.mark.storage


def row(arena, grain: Grain) -> int:
    return int(arena.row_of([grain.pk])[0])


def test_the_tables_are_those_of_the_models():
    for model, table, columns in (
        (Grain, queries.GRAINS, queries.GRAIN_COLUMNS),
        (Vector, queries.VECTORS, (*queries.VECTOR_COLUMNS, "space_id", "encoder", "grain_id")),
        (Conduit, queries.CONDUITS, (*queries.CONDUIT_COLUMNS, "space_id")),
        (Entry, queries.ENTRIES, ("id", "space_id", "kind", "feature")),
        (Member, queries.MEMBERS, (*queries.MEMBER_COLUMNS, "space_id", "grain_id", "entry_id")),
        (ContextShift, queries.SHIFTS, ("space_id", "remaining")),
    ):
        assert model._meta.db_table == table
        assert set(columns) <= {field.column for field in model._meta.fields}


def test_an_empty_space_gives_an_empty_arena(writer):
    arena = build_arena(writer.space, ENCODER)
    assert arena.index.size == 0
    assert arena.index.dense is None
    assert arena.row_of([1, 2]).tolist() == [NO_ROW, NO_ROW]


def test_a_grain_is_a_row_of_numbers(writer):
    said = datetime(2023, 5, 8, 13, 56, 7, 999_999, tzinfo=UTC)
    grain = writer.store(
        "Caroline adopted two cats",
        session="s1",
        ordinal=4,
        speaker="Mel Brown",
        tags=["pets"],
        said_at=said,
        valid_from=MOMENT,
        valid_to=MOMENT + timedelta(days=1),
        authority=1,
        decay_class=2,
        status="dormant",
        pinned=True,
        confidence=0.25,
    )
    arena = build_arena(writer.space, ENCODER)
    index, place = arena.index, row(arena, grain)
    values = {name: column[place] for name, column in index.columns.items()}
    assert values["id"] == grain.pk
    assert values["digest"] == int(grain.digest[:16], 16)
    assert values["session"] == words.key("session:s1") and values["ordinal"] == 4
    assert values["speaker"] == words.key("@mel brown")
    assert values["said"] == int(said.timestamp()) * SECOND + 999_999
    assert values["recorded"] == int(MOMENT.timestamp()) * SECOND
    assert (values["valid_from"], values["valid_to"]) == (values["recorded"], values["recorded"] + 86_400 * SECOND)
    assert (values["authority"], values["decay"], values["status"], values["pinned"]) == (1, 2, 1, 1)
    assert values["confidence"] == np.float32(0.25)
    assert values["chars"] == len(grain.text)
    assert values["length"] == len(words.terms(grain.text)) + 2
    assert index.speakers == {int(values["speaker"]): tuple(words.keys(words.terms("Mel Brown")).tolist())}


def test_a_grain_without_times_is_valid_for_ever_and_was_said_when_it_was_recorded(writer):
    grain = writer.store("No times at all")
    arena = build_arena(writer.space, ENCODER)
    columns, place = arena.index.columns, row(arena, grain)
    assert (columns["valid_from"][place], columns["valid_to"][place]) == (BEGINNING_OF_TIME, END_OF_TIME)
    assert columns["said"][place] == int(MOMENT.timestamp()) * SECOND
    assert (columns["session"][place], columns["speaker"][place]) == (0, 0)


def test_words_speakers_and_tags_lead_to_the_grain(writer):
    writer.store("Nothing of it here")
    grain = writer.store("The cats, two cats", speaker="Melanie", tags=["pets", "At Home"])
    arena = build_arena(writer.space, ENCODER)
    postings, place = arena.index.postings, row(arena, grain)
    cat, name = words.key(words.terms("cats")[0]), words.key(words.terms("Melanie")[0])
    assert [part.tolist() for part in postings.of(cat)] == [[place], [2]]
    for key in (name, words.key("#pets"), words.key("#At Home")):
        assert [part.tolist() for part in postings.of(key)] == [[place], [1]]


def test_only_vectors_of_the_requested_encoder_are_read(writer):
    first, second = writer.store("one"), writer.store("two", vector=False)
    writer.vector(second, encoder="another")
    arena = build_arena(writer.space, ENCODER)
    dense = arena.index.dense
    assert dense.dimension == DIMENSION
    assert dense.has[[row(arena, first), row(arena, second)]].tolist() == [True, False]
    rows, scores = dense.search(unit_vector("one"), k=3)
    assert rows.tolist() == [row(arena, first)] and scores[0] == pytest.approx(1, abs=0.01)
    assert build_arena(writer.space, "unheard of").index.dense is None


def test_conduits_lead_from_entries_and_grains_to_grains(writer):
    first, second = writer.store("one", entries=["paris"]), writer.store("two")
    writer.link(first, second, 0.75, relation=5)
    flat = build_arena(writer.space, ENCODER).index.graph.flat()
    found = sorted(
        zip(flat.source.tolist(), flat.key.tolist(), flat.target.tolist(), flat.weight.tolist(), strict=True)
    )
    assert found == [(-1, words.key("name:paris"), 0, 0.5), (0, 0, 1, 0.75)]


def test_rows_of_a_session_are_linked_to_their_neighbours(writer):
    texts = [("b", 2), ("a", 1), ("c", 3)]
    made = {text: writer.store(text, session="s", ordinal=place) for text, place in texts}
    writer.store("x", session="other", ordinal=2)
    writer.store("y")
    arena = build_arena(writer.space, ENCODER)
    row_of = {text: row(arena, grain) for text, grain in made.items()}
    columns = arena.index.columns
    assert [columns["next"][row_of[text]] for text in "abc"] == [row_of["b"], row_of["c"], NO_ROW]
    assert [columns["prev"][row_of[text]] for text in "abc"] == [NO_ROW, row_of["a"], row_of["b"]]
    assert columns["prev"][: arena.index.size].tolist().count(NO_ROW) == 3


def test_another_space_is_not_read(writer):
    agents.create_space(shell(), name="other")
    other = GraphWriter(Space.objects.get(name="other").pk)
    theirs = other.store("secret of another space", entries=["paris"])
    writer.store("ours", entries=["paris"])
    arena = build_arena(writer.space, ENCODER)
    assert arena.index.size == 1
    assert arena.row_of([theirs.pk]).tolist() == [NO_ROW]
    assert len(arena.index.graph.flat().id) == 1


def test_the_position_is_that_of_the_log_before_the_rows_were_read(writer):
    writer.store("one")
    head = events.head()
    assert build_arena(writer.space, ENCODER).position == head


def test_a_space_is_read_in_seven_statements_whatever_its_size(writer, monkeypatch):
    monkeypatch.setattr(queries, "CHUNK", 3)
    for number in range(8):
        writer.store(f"text {number}", entries=["paris", "rome"], session="s")
    with CaptureQueriesContext(
        connection,
    ) as seen:
        arena = build_arena(writer.space, ENCODER)
    assert arena.index.size == 8 and len(arena.index.graph.flat().id) == 16
    assert len(seen) <= 7
