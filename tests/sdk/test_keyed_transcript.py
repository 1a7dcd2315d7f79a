"""Transcripts of stores with a key: many messages, several writers, limits, and connections that break."""

from __future__ import annotations

import pytest

from flux.client import FluxClient
from flux.errors import Unreachable
from flux.memory import MemoryStore, MemoryStoreError, keyed
from tests.sdk.memory_messages import said, user


def test_many_pages_and_batches(server, monkeypatch):
    monkeypatch.setattr(keyed, "PAGE", 2)
    monkeypatch.setattr(keyed, "BATCH_BYTES", 100)
    one, other = MemoryStore.create(key="k"), MemoryStore.get_or_create(key="k")
    one.extend(user(str(number)) for number in range(5))
    one.append(user("long " * 50))
    one.save()
    other.extend([user("a"), user("b"), user("c")])
    other.save()
    again = MemoryStore.get_or_create(key="k")
    assert said(again) == said(other) == ["0", "1", "2", "3", "4", "long " * 50, "a", "b", "c"]
    del again.messages[1:6]
    again.save()
    one.save()
    assert said(one) == said(again) == ["0", "a", "b", "c"]
    for number in range(5):
        one.write_text(f"{number}.md", "x")
    assert len(one.list_paths()) == 5


def test_a_flush_that_fails_in_the_middle_goes_on(server, monkeypatch):
    """Some batches arrived, then the connection broke: nothing is lost and nothing twice."""
    monkeypatch.setattr(keyed, "PAGE", 1)
    store, other = MemoryStore.create(key="k"), MemoryStore.get_or_create(key="k")
    store.extend(user(text) for text in "abc")
    send, sent = store._tree._send, []

    def breaks(key, batch):
        if len(sent) == 2:
            raise Unreachable("broken")
        sent.append(batch)
        return send(key, batch)

    monkeypatch.setattr(store._tree, "_send", breaks)
    with pytest.raises(MemoryStoreError, match="broken"):
        store.save()
    monkeypatch.undo()
    monkeypatch.setenv("FLUX_URL", server.url)
    other.append(user("x"))
    other.save()
    store.save()
    assert said(store) == ["a", "b", "x", "c"]
    other.save()
    assert said(other) == said(store)


def test_a_flush_whose_answer_was_lost_counts_once(server):
    """The server has the messages, the answer is lost, and the next flush sends them again."""

    class LosesAnswers(FluxClient):
        lost = 0

        def send(self, request):
            answer = super().send(request)
            if request.method == "POST" and self.lost:
                self.lost -= 1
                raise Unreachable("lost")
            return answer

    with LosesAnswers() as client:
        store = MemoryStore.create(key="k", client=client)
        store_id = store._tree.store
        client.lost = 1
        store.append(user("1"))
        with pytest.raises(MemoryStoreError, match="lost"):
            store.save()
        store.messages.clear()
        store.append(user("2"))
        store.save()
        assert said(store) == said(MemoryStore.get_or_create(key="k")) == ["2"]
        assert client.read_messages(store_id)["total"] == 1


@pytest.fixture
def waits(standing_clock, monkeypatch):
    """Waits of a flush, which move the clock instead."""
    waited = list[float]()

    def wait(seconds):
        waited.append(seconds)
        standing_clock.shift(seconds)

    monkeypatch.setattr(keyed, "_wait", wait)
    return waited


@pytest.fixture
def full(waits, server, configure, standing_clock):
    """A store with 20 messages in its list, and with room for 7 in a minute."""
    store = MemoryStore.create(key="k")
    store.extend(user(str(number)) for number in range(20))
    standing_clock.shift(61)
    configure(MAX_FILE_WRITES_PER_MINUTE=7)
    return store


def stored(store):
    return [one["message"]["content"] for one in store._tree.client.read_messages("k", after=0)["messages"]]


def test_more_messages_than_a_minute_has_room_for(full, waits):
    full.save()
    assert waits == [61, 61], "7, 7 and 6"
    assert said(full) == stored(full) == [str(number) for number in range(20)]
    full.append(user("one more"))
    full.save()
    assert len(waits) == 2 and len(stored(full)) == 21


def test_a_flush_does_not_wait_for_ever(full, waits, monkeypatch):
    monkeypatch.setattr(keyed, "FLUSH_WAITS", 100.0)
    with pytest.raises(MemoryStoreError, match="7 files and messages"):
        full.save()
    assert waits == [61] and stored(full) == [str(number) for number in range(14)]
    full.save()
    assert waits == [61, 61], "the next flush continues where this one stopped"
    assert said(full) == stored(full) == [str(number) for number in range(20)]


def test_messages_that_are_too_large_are_not_sent_in_parts(waits, server):
    store = MemoryStore.create(key="k")
    store.extend([user("x"), user("x" * 300_000)])
    with pytest.raises(MemoryStoreError, match="A message has at most"):
        store.save()
    assert waits == [] and MemoryStore.get_or_create(key="k").messages == []


def test_the_order_of_fields_is_kept_on_the_way(server):
    one, other = MemoryStore.create(key="k"), MemoryStore.get_or_create(key="k")
    one.append({"zeta": 1, "alpha": {"y": 1, "x": 2}, 10: "a", 9: "b"})
    one.save()
    other.append({"role": "user", "content": "later", "a": 1})
    other.save()
    one.save()
    for store in (one, other, MemoryStore.get_or_create(key="k")):
        assert [[str(name) for name in message] for message in store.messages] == [
            ["zeta", "alpha", "10", "9"],
            ["role", "content", "a"],
        ]
        assert list(store.messages[0]["alpha"]) == ["y", "x"]
    assert one._tree.client.read_messages("k")["total"] == 2, "the same fields in another order are the same message"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_not_sent(server, number):
    store = MemoryStore.create(key="k")
    store.extend([user("NaN is a word"), user("fine"), {"score": [number]}])
    with pytest.raises(MemoryStoreError, match="Message 2 has NaN or an infinity"):
        store.save()
    assert MemoryStore.get_or_create(key="k").messages == []
    store.messages[2] = {"score": None}
    store.save()
    assert len(MemoryStore.get_or_create(key="k").messages) == 3
