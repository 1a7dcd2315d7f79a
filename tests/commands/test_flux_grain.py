"""flux_grain"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from memory.grains.models import Grain, Tombstone

MARKER = "Quillfeather"


@pytest.fixture
def grain(run):
    run("flux_space", "create", "main")
    run("flux_store", f"{MARKER} sings in the bath")
    return str(Grain.objects.get().uuid)


def test_it_shows_a_grain_and_what_became_of_it(run, grain):
    assert "No changes since it was stored." in run("flux_grain", "show", grain).text
    run("flux_grain", "quarantine", grain, "--reason", "he denies it")
    shown = run("flux_grain", "show", grain, "--json").json()
    assert shown["status"] == "quarantined"
    (step,) = shown["transitions"]
    assert (step["from"], step["to"], step["why"], step["reason"]) == (
        "active",
        "quarantined",
        "by hand",
        "he denies it",
    )
    text = run("flux_grain", "show", grain).text
    assert MARKER in text and "he denies it" in text


def test_there_and_back(run, grain):
    for there, back, status in (
        ("archive", "restore", "archived"),
        ("quarantine", "release", "quarantined"),
        ("delete", "undelete", "pending_deletion"),
    ):
        assert run("flux_grain", there, grain, "--json").json()["status"] == status
        assert run("flux_grain", there, grain).text.strip() == "Nothing changed: it already has this state."
        assert run("flux_grain", back, grain, "--json").json()["status"] == "active"
    assert run("flux_grain", "promote", grain, "--json").json()["decay_class"] == "core"
    assert run("flux_grain", "demote", grain, "--json").json()["decay_class"] == "working"


def test_it_purges_only_with_the_id_repeated_and_a_reason(run, grain):
    for words in ((), ("--confirm", grain), ("--confirm", grain[:-1], "--reason", "asked"), ("--reason", "asked")):
        assert run("flux_grain", "purge", grain, *words).status == 65
    assert Grain.objects.exists()
    said = run("flux_grain", "purge", grain, "--confirm", grain, "--reason", "asked", "--json")
    assert said.json()["purged"] is True
    assert not Grain.objects.exists() and str(Tombstone.objects.get().uuid) == grain
    assert run("flux_grain", "show", grain, "--json").json()["error"]["code"] == "not_found"


_LIVE = f"""
import json
from fluxcore.work import worker
from accounts.models import Space
from accounts.principals import shell
from memory.arena.cache import arena_cache
from memory.embedding import active_encoder
from memory.grains import store
from memory.learning import feedback
from memory.recall import recall
from memory.grains.models import Grain
who = shell(Space.objects.get())
grains = [store.store(who, content=f"note {{n}} on {MARKER} and the {{n}} swans")["grain_id"] for n in range(100)]
active_encoder.load_encoder(); worker.drain()
answer = recall.recall(who, query="what of {MARKER} and the swans", k=20)
for grain in answer["grains"]:
    feedback.feedback(who, trace_id=answer["trace_id"], grain_id=grain["id"], useful=True)
worker.drain()
arena_cache().write(who.space)
digests = list(Grain.objects.values_list("digest", flat=True))
from memory.keyvalue import purging, verbs
for n in range(5):
    verbs.set_key(who, place="boards/main", key="k", value="{MARKER} %d" % n)
verbs.change_key(who, op="append", place="boards/main", key="l", value="{MARKER}", idempotency_key="once")
for key in "kl":
    purging.purge_key(who, place="boards/main", key=key)
from memory.grains.lifecycle import purge, scrub
for grain in grains:
    purge.purge(who, grain=grain, reason="forget him")
worker.drain()
print(json.dumps(digests))
"""


def test_no_file_of_the_instance_holds_a_word_of_what_was_purged(made):
    """A hundred marked grains: stored, recalled, judged, indexed on disk, purged; and two keys with their history. Not
    one byte of them is left, and no digest of a grain."""
    one = made()
    digests = json.loads(one.command("shell", "-v", "0", "-c", _LIVE).stdout)
    assert len(digests) == 100
    wanted = [word.lower().encode() for word in (MARKER, *digests)]
    found = [
        str(path.relative_to(one.folder))
        for path in sorted(Path(one.folder).rglob("*"))
        if path.is_file() and (held := path.read_bytes().lower()) and any(word in held for word in wanted)
    ]
    assert found == []
    with sqlite3.connect(f"file:{one.folder / 'flux.db'}?mode=ro", uri=True) as line:
        assert line.execute("SELECT COUNT(*) FROM grains_tombstone").fetchone() == (100,)
        assert line.execute("SELECT COUNT(*) FROM grains_grain").fetchone() == (0,)
