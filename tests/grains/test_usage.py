"""How much is stored by whom: exact counts, ceilings for an agent and for the space, and room that comes back."""

from __future__ import annotations

from collections import Counter

import pytest

from accounts.models import Space
from accounts.principals import shell
from fluxcore.errors import QuotaReached
from memory.grains import store, usage
from memory.grains.import_export import write_batch
from memory.grains.lifecycle import purge
from memory.grains.models import Grain
from tests.grains.conftest import Memory


def counted():
    """What is counted, after a look whether the grains agree."""
    used, grains, sizes = usage.load_usage(Space.objects.get(name="home").pk), Counter(), Counter()
    for writer, text in Grain.objects.values_list("writer", "text"):
        for one in ("", writer):
            grains[one] += 1
            sizes[one] += len(text.encode())
    assert {writer: held for writer, held in used.items() if held != (0, 0)} == {
        one: (grains[one], sizes[one]) for one in grains
    }
    return used


def people():
    return shell(Space.objects.get(name="home"))


def test_every_new_grain_counts_once_and_a_purged_one_no_longer(memory):
    first = memory.store("naïve café")
    memory.store("naïve café")
    store.store_batch(memory.principal, items=[{"content": "a"}, {"content": "b"}, {"content": "a"}, {"content": ""}])
    Memory(agent="bob").store("of bob")
    assert counted() == {"agent:alice": (3, 14), "agent:bob": (1, 6), "": (4, 20)}
    purge.purge(people(), grain=first, reason="gone")
    assert counted()["agent:alice"] == (2, 2)


@pytest.mark.parametrize(
    ("key", "limit", "what"),
    [
        ("MAX_GRAINS_PER_AGENT", 2, "grains"),
        ("MAX_BYTES_PER_AGENT", 5, "bytes"),
        ("MAX_GRAINS_PER_SPACE", 2, "grains"),
        ("MAX_BYTES_PER_SPACE", 5, "bytes"),
    ],
)
def test_a_ceiling_is_exact_and_says_what_raises_it(memory, configure, key, limit, what):
    configure(**{key: limit})
    first = memory.store("ab")
    memory.store("cde")
    before = counted()
    for refused in (lambda: memory.store("f"), lambda: store.store_batch(memory.principal, items=[{"content": "f"}])):
        with pytest.raises(QuotaReached) as refusal:
            refused()
        assert refusal.value.details == {
            "limit": limit,
            "what": what,
            "raised_by": key,
            "full": "agent:alice" if "AGENT" in key else "space",
        }
        assert f"at most {limit} {what}" in refusal.value.message and key in refusal.value.message
    assert memory.store("ab") == first, "a text that is there already takes no room"
    assert counted() == before
    bob = Memory(agent="bob")
    if "AGENT" in key:
        bob.store("g")
    else:
        with pytest.raises(QuotaReached):
            bob.store("g")
    purge.purge(people(), grain=first, reason="gone")
    memory.store("f")
    counted()


def test_a_batch_that_does_not_fit_is_refused_whole(memory, configure):
    configure(MAX_GRAINS_PER_AGENT=2)
    with pytest.raises(QuotaReached):
        store.store_batch(memory.principal, items=[{"content": text} for text in "abc"])
    assert not Grain.objects.exists() and counted() == {}


def test_an_import_counts_and_takes_what_fits(memory, configure):
    configure(MAX_GRAINS_PER_AGENT=1, MAX_GRAINS_PER_SPACE=3, MAX_BYTES_PER_SPACE=100)
    memory.store("a")
    items = [{"content": text} for text in ("a", "b", "c", "d", "d")]
    results = write_batch.import_grains(
        people(), items=[*items, {"content": "a", "provenance": "ai_stated"}], source="test"
    )
    assert [one["status"] for one in results] == ["stored", "stored", "refused", "refused", "refused", "there"]
    assert results[2]["error"]["code"] == "quota"
    assert results[2]["error"]["details"]["raised_by"] == "MAX_GRAINS_PER_SPACE"
    assert counted()[""] == (3, 3)
    configure(MAX_GRAINS_PER_SPACE=9, MAX_BYTES_PER_SPACE=4)
    again = write_batch.import_grains(people(), items=items, source="test")
    assert [one["status"] for one in again] == ["there", "there", "stored", "refused", "refused"]
    assert counted()[""] == (4, 4)
