"""What goes out comes in again as it was: texts, origins, validity, sessions, tags, and what was learned."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from fluxcore import clock
from fluxcore.work import worker
from memory.grains import pin, store
from memory.grains.import_export import export
from memory.grains.lifecycle import verbs
from memory.grains.models import Conduit, Entry, Grain
from memory.learning import feedback
from memory.recall import recall
from memory.transfer import formats
from memory.transfer.importer import import_source

ITEMS = [
    {"content": "Paris is the capital of France", "provenance": "user_stated", "tags": ["geography", "ça"]},
    {"content": "When is the release?", "session": "standup", "speaker": "Ada", "time": "2026-03-02T09:00:00+01:00"},
    {
        "content": 'Next Friday\nat "noon" \u202e!',
        "session": "standup",
        "speaker": "Bo",
        "valid_from": "2026-03-02T00:00:00Z",
        "valid_to": "2026-04-01T00:00:00Z",
        "provenance": "external_source",
    },
    {"content": "Paris is the capital of France", "provenance": "ai_inferred"},
    {"content": "an archived one"},
    {"content": "a pinned one"},
    {"content": "one to delete"},
]


@pytest.fixture
def lived(who):
    """A space with something of everything, votes included."""
    ids = store.store_batch(who, items=ITEMS)["grain_ids"]
    verbs.archive(who, grain=ids[4])
    pin.pin(who, grain=ids[5], pinned=True)
    verbs.delete(who, grain=ids[6])
    for _ in range(3):
        found = recall.recall(who, query="What is the French capital called?")
        feedback.feedback(who, trace_id=found["trace_id"], grain_id=ids[0], useful=True)
    worker.drain()
    assert Conduit.objects.filter(base__isnull=False).exists()
    return who


@pytest.fixture
def elsewhere(db):
    agents.create_space(shell(), name="elsewhere")
    return shell(Space.objects.get(name="elsewhere"))


def exported(who):
    """An export without what is each space's own: ids, times of writing, who wrote."""
    grains = list(export.export_grains(who))
    names = {one["id"]: (one["content"], one["provenance"], one["session"]) for one in grains}
    own = ("id", "writer")
    links = [
        {**one, "to": names[one["to"]], **({"from": names[one["from"]]} if "from" in one else {})}
        for one in export.export_links(who)
    ]
    key = lambda one: json.dumps(one, sort_keys=True)  # noqa: E731
    return [{k: v for k, v in one.items() if k not in own} for one in grains], sorted(links, key=key)


def test_export_and_import_are_each_others_undoing(lived, elsewhere, tmp_path):
    file = tmp_path / "out.jsonl"
    call_command("flux_export", str(file), "--space", "home", "--json", stdout=io.StringIO())
    assert oct(file.stat().st_mode)[-3:] == "600"
    for told in import_source(elsewhere, formats.read(file), provenance=None, dry=False):
        assert {one.status for one in told} == {"stored"}
    grains, links = exported(lived)
    assert len(grains) == 6 and links  # the marked one stays behind
    assert exported(elsewhere) == (grains, links)
    ordinals = Grain.objects.filter(session="standup").values_list("space__name", "speaker", "ordinal")
    assert sorted(ordinals) == [("elsewhere", "Ada", 0), ("elsewhere", "Bo", 1), ("home", "Ada", 0), ("home", "Bo", 1)]
    again = [
        one.status for told in import_source(elsewhere, formats.read(file), provenance=None, dry=False) for one in told
    ]
    assert set(again) == {"there"}
    assert exported(elsewhere) == (grains, links)


def test_what_was_learned_answers_there_too(lived, elsewhere, tmp_path):
    learned = Entry.objects.filter(kind="term").count()
    file = tmp_path / "out.jsonl"
    call_command("flux_export", str(file), "--space", "home", "--json", stdout=io.StringIO())
    list(import_source(elsewhere, formats.read(file), provenance=None, dry=False))
    assert Entry.objects.filter(kind="term", space=elsewhere.space).count() == learned > 0
    found = recall.recall(elsewhere, query="What is the French capital called?")
    assert found["grains"][0]["content"] == "Paris is the capital of France"


def test_the_export_says_what_it_is(lived, tmp_path):
    file = tmp_path / "out.jsonl"
    call_command("flux_export", str(file), "--space", "home", "--json", stdout=io.StringIO())
    header, *rest = map(json.loads, file.read_text().splitlines())
    assert (header["flux_export"], header["space"], header["grains"]) == (1, "home", 6)
    assert header["links"] == sum("link" in one for one in rest)
    assert clock.parse(header["exported_at"])
    assert formats.read(file).total == len(rest)
