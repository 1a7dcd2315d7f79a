"""Nobody learns of a passage or message they may not read: not from dossiers, nor from explained recalls and paths."""

from __future__ import annotations

import json

import pytest

from accounts.calls import handler
from accounts.principals import find_space, shell
from flux.calls.stores import ChangePolicy
from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth, write_locks
from memory.grains.linking import NewConduit, insert_conduits
from memory.grains.models import Grain, Relation
from memory.passages import citing
from tests.passages.conftest import ask, ask_now, say

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.storage]

QUESTION = "Which code opens the shed of Anna Weber?"


@pytest.fixture
def secrets(alice):
    """A memory whose neighbours by entities are a passage and a message."""
    alice.write("secret/shed.md", "The shed of Anna Weber opens with the code 4711 on 2026-03-01.")
    say(alice, "Anna Weber told me the code 4711 of the shed on 2026-03-01.")
    stored = alice.post("/store", {"content": "Anna Weber has a shed since 2026-03-01."}).json()
    worker.drain()
    return stored["grain_id"], {str(one.uuid) for one in Grain.objects.exclude(status="active")}


def ends(dossier):
    links = dossier["conduits"]
    return {one["grain"]["id"] for one in (*links["in"], *links["out"]) if one["grain"]} | set(
        dossier["lineage"]["same_text"]
    )


def test_a_dossier_names_no_passage_that_the_caller_may_not_read(alice, with_recall, secrets):
    memory, hidden = secrets
    own = Grain.objects.get(uuid=memory)
    for other in Grain.objects.exclude(pk=own.pk):
        link(own, other)
    assert hidden <= ends(alice.get(f"/grains/{memory}").json())
    blind = with_recall(name="blind").get(f"/grains/{memory}")
    assert not hidden & ends(blind.json()) and not any(one in blind.content.decode() for one in hidden)
    listener = with_recall("transcript.read:notes", name="listener").get(f"/grains/{memory}").json()
    (seen,) = hidden & ends(listener)
    assert Grain.objects.get(uuid=seen).status == "message"


def link(one: Grain, other: Grain) -> None:
    """Links both ways, as votes make them."""
    links = [
        NewConduit(other.pk, Relation.RELATED, 0.5, grain=one.pk),
        NewConduit(one.pk, Relation.RELATED, 0.5, grain=other.pk),
    ]
    now = int(clock.now().timestamp())
    booth.write(lambda: insert_conduits(one.space_id, links, now), lock=write_locks.lock_name(one.space_id))


def test_a_trace_of_somebody_else_shows_no_words_of_a_hidden_passage(alice, with_recall, secrets):
    memory, hidden = secrets
    answer = ask(alice, QUESTION)
    address = f"/traces/{answer['trace_id']}"
    assert hidden <= {one["grain_id"] for one in alice.get(address).json()["grains"]}
    blind = with_recall("grains.manage", name="blind").get(address)
    assert [one["grain_id"] for one in blind.json()["grains"]] == [memory]
    told = json.dumps({name: value for name, value in blind.json().items() if name != "query"})
    assert not any(one in told for one in hidden) and "opens" not in json.dumps(blind.json()["grains"])
    places = {one["grain_id"]: one["place"] for one in alice.get(address).json()["grains"]}
    assert blind.json()["grains"][0]["place"] == places[memory], "places stay those of the answer"


def test_only_files_below_the_folders_of_a_scope_are_compared(alice, with_recall, monkeypatch):
    monkeypatch.setattr(citing, "MAX_FILES", 2)
    for path in ("a/1.md", "a/2.md", "a/3.md", "z/1.md", "z/2.md", "z/deep/3.md"):
        alice.write(path, f"The ferry of {path} is white.")

    def paths(*scopes):
        api = with_recall(*scopes, name=f"agent{len(seen)}")
        found = sorted(one["citation"]["path"] for one in ask(api, "What colour is the ferry?", k=10)["grains"])
        seen.append(found)
        return found

    seen: list[list[str]] = []
    assert paths("artifacts.read:notes/z/**") == ["z/1.md", "z/2.md"]
    assert paths("artifacts.read:notes/z/deep/*") == ["z/deep/3.md"]
    assert paths("artifacts.read:notes/z/2.md", "artifacts.read:notes/z/d**") == ["z/2.md", "z/deep/3.md"]
    assert paths("artifacts.read:notes/*/1.md") == ["a/1.md"], "a scope without a folder: the first ones by path"
    assert paths("artifacts.read:other/**") == []
    assert len(paths("artifacts.read")) == 6


def test_a_file_becomes_unreadable_the_moment_it_is_staged(alice):
    alice.write("drafts/plan.md", "The ferry is white.")
    assert ask(alice, "What colour is the ferry?")["grains"]
    handler(ChangePolicy)(shell(find_space("home")), store="notes", staging_prefix="drafts")
    assert ask_now(alice, "What colour is the ferry?")["grains"] == []
