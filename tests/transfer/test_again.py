"""An import can be tried, repeated and broken off: nothing comes twice and nothing half."""

from __future__ import annotations

import pytest

from accounts import tokens
from accounts.models import AuditEntry
from fluxcore.errors import Forbidden
from fluxcore.models import Event
from memory.grains import store
from memory.grains.import_export import imported_link, write_batch
from memory.grains.models import Conduit, Grain
from memory.recall import recall
from memory.transfer import importer


def test_a_dry_run_says_what_would_be_and_writes_nothing(move, seed):
    before = AuditEntry.objects.count(), Event.objects.count()
    counts, _ = move(seed, dry=True)
    assert counts == {"stored": 3, "there": 0, "refused": 1, "capped": 0, "links": 2}
    assert Grain.objects.count() == Conduit.objects.count() == 0
    assert (AuditEntry.objects.count(), Event.objects.count()) == before
    move(seed)
    assert move(seed, dry=True)[0] == {"stored": 0, "there": 3, "refused": 1, "capped": 0, "links": 2}


def test_the_same_again_changes_nothing(move, vault):
    move(vault)
    rows = list(Grain.objects.order_by("id").values()), list(Conduit.objects.order_by("id").values())
    counts, told = move(vault)
    assert counts == {"stored": 0, "there": 4, "refused": 0, "capped": 0, "links": 0}
    assert (list(Grain.objects.order_by("id").values()), list(Conduit.objects.order_by("id").values())) == rows
    assert {one.grain_id for one in told if not one.link} == {str(one["uuid"]) for one in rows[0]}


def test_one_that_was_broken_off_goes_on(move, knowledge, monkeypatch):
    monkeypatch.setattr(importer, "AT_ONCE", 3)
    take, calls = write_batch.import_grains, []

    def dies(*arguments, **named):
        calls.append(named)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return take(*arguments, **named)

    monkeypatch.setattr(write_batch, "import_grains", dies)
    with pytest.raises(KeyboardInterrupt):
        move(knowledge)
    assert Grain.objects.count() == 3
    assert move(knowledge)[0] == {"stored": 1, "there": 3, "refused": 0, "capped": 0, "links": 0}


def test_what_was_learned_here_goes_before_what_was_learned_elsewhere(move, seed):
    move(seed)
    one = Conduit.objects.get(use_count=3)
    Conduit.objects.filter(pk=one.pk).update(weight=0.2, use_count=7)
    move(seed)
    one.refresh_from_db()
    assert (one.weight, one.use_count) == (0.2, 7)


def test_an_equal_text_of_the_space_is_not_said_again_by_an_import(move, who, tmp_path):
    known = store.store(who, content="I was here", provenance="external_source")["grain_id"]
    path = tmp_path / "a.txt"
    path.write_text("I  was here")
    _, told = move(path, provenance="external_source", format="text")
    assert told[0].status == "stored"  # of another session: a grain of its own, linked as support
    assert Grain.objects.get(uuid=known).corroborations == 0
    assert Conduit.objects.filter(relation=1).count() == 1


def test_what_moved_in_is_recalled_at_once_and_linked(move, who, seed):
    store.store(who, content="a grain that was here before")
    recall.recall(who, query="warm up")  # an arena that has to be told
    move(seed)
    found = recall.recall(who, query="Who keeps bees on the roof?")
    assert found["grains"][0]["content"] == "Mira keeps bees on the roof"


def test_every_grain_is_in_the_audit_and_a_batch_is_one_event(move, seed):
    move(seed)
    entries = AuditEntry.objects.filter(action="grains.import")
    assert entries.count() == 3
    assert all('"source":"flux.db"' in one.details for one in entries)
    told = Event.objects.filter(kind__endswith=".imported").order_by("id")
    assert [(one.kind, one.data["source"]) for one in told] == [
        ("grains.imported", "flux.db"),
        ("links.imported", "flux.db"),
    ]


@pytest.mark.parametrize(
    "verb, given",
    [(write_batch.import_grains, {"items": [{"content": "x"}]}), (imported_link.import_links, {"links": [{}]})],
)
def test_no_token_imports_anything(make_token, verb, given):
    agent = tokens.authenticate(make_token(capabilities=("grains.read", "grains.write", "graph.export")))
    with pytest.raises(Forbidden):
        verb(agent, **given, source="x")
    assert Grain.objects.count() == 0
