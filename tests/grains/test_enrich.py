"""Vectors and neighbours come after the text is safe; without an encoder grains wait, and nothing is lost."""

from __future__ import annotations

import time
from contextlib import nullcontext

import numpy as np
import pytest

from fluxcore import clock
from fluxcore.models import Event, Job
from fluxcore.work import worker
from fluxcore.work.sweep import sweep_and_run
from fluxcore.writes import booth
from memory.arena import cache as shelves
from memory.arena.changes import unpack
from memory.embedding import active_encoder
from memory.grains import enrich
from memory.grains.models import Conduit, Grain, Relation, Vector


class Topics:
    """An encoder that knows a few words: its vector says which of them a text holds."""

    name, dimension = "topics", 64
    words = ("salary", "5000", "6000", "cat", "dog", "sea", "boat", "poison", "zero", "short")

    def encode(self, texts):
        rows = np.full((len(texts), self.dimension), 0.01, np.float32)
        for row, text in enumerate(texts):
            for place, word in enumerate(self.words):
                rows[row, place] += 3.0 * (word == "salary") + 1.0 if word in text else 0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        for row, text in enumerate(texts):
            if "poison" in text:
                rows[row, 0] = np.nan
            if "zero" in text:
                rows[row] = 0
        return rows[:, :32] if any("short" in text for text in texts) else rows


class Broken(Topics):
    def encode(self, texts):
        raise RuntimeError("out of order")


class Choice(active_encoder.ProcessEncoder):
    def __init__(self, encoder, tmp_path):
        super().__init__("none", tmp_path)
        self._encoder = encoder


@pytest.fixture
def use(tmp_path, monkeypatch):
    """Give the process an encoder, or None; arenas begin anew with each."""
    before = active_encoder.replace_encoder(None)

    def give(encoder):
        active_encoder.replace_encoder(Choice(encoder, tmp_path))
        monkeypatch.setattr(shelves, "encoder_name", lambda: encoder.name if encoder else "")
        monkeypatch.setattr(shelves, "_current", None)

    give(Topics())
    yield give
    active_encoder.replace_encoder(before)


def remember(api, *texts, **fields):
    answer = api.post("/store/batch", {"items": [{"content": text, **fields} for text in texts]})
    assert answer.status_code == 200, answer.content


def related():
    """Linked pairs of texts with their weights."""
    found = Conduit.objects.filter(relation=Relation.RELATED, from_entry=None)
    return {(one.from_grain.text, one.to_grain.text): one.weight for one in found.select_related()}


def waiting():
    return set(Grain.objects.filter(enriched=False).values_list("text", flat=True))


@pytest.fixture
def memory(api, use):
    """Store texts."""
    return lambda *texts, **fields: remember(api, *texts, **fields)


def test_a_stored_grain_waits_for_its_vector_and_gets_it(memory, principal):
    memory("a cat", "a dog")
    assert enrich.pending() == enrich.pending(principal.space) == 2
    assert worker.drain() == 1
    assert (enrich.pending(), waiting()) == (0, set())
    vectors = list(Vector.objects.order_by("grain"))
    assert [(one.encoder, one.dimension, len(bytes(one.data)), one.space_id) for one in vectors] == [
        ("topics", 64, 64, principal.space)
    ] * 2
    back = np.frombuffer(bytes(vectors[0].data), np.int8).astype(np.float32) * vectors[0].scale
    assert float(back @ Topics().encode(["a cat"])[0]) > 0.999


@pytest.mark.django_db(transaction=True)  # arenas on PostgreSQL follow only what is committed
def test_near_copies_are_linked_and_never_dropped(memory):
    memory("salary 5000")
    worker.drain()
    memory("salary 6000")
    worker.drain()
    assert set(Grain.objects.values_list("text", flat=True)) == {"salary 5000", "salary 6000"}
    ((ends, weight),) = related().items()
    assert ends == ("salary 6000", "salary 5000")
    vectors = Topics().encode(["salary 5000", "salary 6000"])
    cosine = float(vectors[0] @ vectors[1])
    assert cosine > 0.9 and weight == pytest.approx(0.5 * cosine, abs=0.01)
    assert Job.objects.filter(kind="grains.enrich").latest("id").lines.get().text.endswith("1 near duplicates.")


def test_grains_of_one_page_find_each_other_once(memory):
    memory("sea and boat", "a boat at sea", "only the dog", "the dog alone")
    worker.drain()
    assert set(related()) == {("a boat at sea", "sea and boat"), ("the dog alone", "only the dog")}


def test_what_has_little_in_common_is_not_linked(memory):
    memory("a cat", "a dog")
    worker.drain()
    assert related() == {}  # cosine x 0.5 lies below WEIGHT_FLOOR


@pytest.mark.django_db(transaction=True)
def test_a_grain_is_linked_to_five_other_texts_at_most_and_not_to_its_equals(memory):
    memory("cat", "cat and sea", session="one")
    memory("cat", "cat and sea", session="two")
    memory(*(f"cat number {number}" for number in range(9)))
    worker.drain()
    memory("a cat like any other")
    worker.drain()
    texts = [to for start, to in related() if start == "a cat like any other"]
    assert len(texts) == len(set(texts)) == 5
    numbers = Conduit.objects.filter(relation=Relation.RELATED, from_grain__text="cat", to_grain__text="cat")
    assert not numbers.exists()


def test_grains_of_other_spaces_are_no_neighbours(memory, make_token, as_agent):
    memory("a cat")
    remember(as_agent(make_token("bert", space="south")), "a cat too")
    assert worker.drain() == 2
    assert related() == {}


def test_one_event_tells_the_arenas_everything(memory):
    memory("sea and boat", "a boat at sea")
    worker.drain()
    event = Event.objects.get(kind="grains.enriched")
    change = unpack(bytes(event.packed))
    assert set(change.grains) == set(Grain.objects.values_list("id", flat=True))
    links = Conduit.objects.filter(relation=Relation.RELATED, from_entry=None)
    assert change.conduits["id"].tolist() == list(links.values_list("id", flat=True)) != []
    assert "boat" not in str(event.data) + event.subject


@pytest.mark.parametrize("encoder", [None, Broken()])
def test_without_a_working_encoder_grains_wait_and_no_try_is_burnt(memory, use, encoder):
    use(encoder)
    memory("a cat", "a dog")
    assert worker.drain() == 1
    assert Job.objects.get().state == "done"
    assert (Job.objects.get().attempts, waiting(), Vector.objects.count()) == (1, {"a cat", "a dog"}, 0)
    assert worker.drain() == 0  # no retry storm


def test_the_minute_asks_again_once_the_encoder_is_back(memory, use):
    def asked():
        return Job.objects.filter(kind="grains.enrich").count()

    use(None)
    memory("a cat")
    worker.drain()
    sweep_and_run()
    assert (waiting(), asked()) == ({"a cat"}, 1)
    use(Topics())
    sweep_and_run()
    assert (waiting(), asked()) == (set(), 2)
    sweep_and_run()
    assert asked() == 2


def test_the_minute_has_an_encoder_loaded_that_nobody_loaded_yet(memory, tmp_path):
    memory("a cat")
    Job.objects.all().delete()
    active_encoder.replace_encoder(active_encoder.ProcessEncoder("hashed", tmp_path))
    sweep_and_run()
    until = time.monotonic() + 20
    while not active_encoder.ready() and time.monotonic() < until:
        time.sleep(0.01)
    sweep_and_run()
    assert waiting() == set()


@pytest.mark.parametrize("bad", ["poison", "zero", "short"])
def test_a_text_without_a_sound_vector_waits_alone(memory, bad):
    memory("a cat", bad, "a dog")
    worker.drain()
    assert waiting() == {bad}
    assert Vector.objects.count() == 2
    memory("the sea")
    worker.drain()
    assert waiting() == {bad}


def runs() -> int:
    return Job.objects.filter(kind="grains.enrich", state="done").count()


def test_more_than_a_page_is_done_page_by_page(memory, monkeypatch):
    monkeypatch.setattr(enrich, "PAGE", 3)
    memory("poison", *(f"cat {number}" for number in range(7)))
    worker.drain()
    assert (runs(), waiting()) == (3, {"poison"})
    assert Event.objects.filter(kind="grains.enriched").count() == 3


def test_a_page_is_closed_early_when_encoding_takes_long(memory, monkeypatch):
    monkeypatch.setattr(enrich, "SLICE", 2)
    monkeypatch.setattr(enrich, "SECONDS", -1.0)
    memory(*(f"cat {number}" for number in range(5)))
    worker.drain()
    assert (runs(), waiting()) == (3, set())


def test_a_worker_killed_before_its_commit_leaves_nothing_half_done(memory):
    memory("sea and boat", "a boat at sea")
    run = worker.claim()
    assert enrich.enrich(run) is not None  # it computed everything and was killed there
    assert (Vector.objects.count(), related(), len(waiting())) == (0, {}, 2)
    Job.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert worker.run_one()
    assert (Vector.objects.count(), len(related()), waiting()) == (2, 1, set())


def test_a_failure_in_the_middle_of_the_commit_undoes_all_of_it(memory, monkeypatch):
    memory("sea and boat", "a boat at sea")

    def fail(*args):
        raise RuntimeError("the disk is on fire")

    with monkeypatch.context() as patch:
        patch.setattr(enrich.linking, "insert_conduits", fail)
        worker.run_one()
    assert (Vector.objects.count(), len(waiting()), Job.objects.get().state) == (0, 2, "queued")
    Job.objects.update(due_at="2020-01-01T00:00:00Z")
    worker.drain()
    assert (Vector.objects.count(), waiting()) == (2, set())


def test_a_grain_purged_meanwhile_is_left_out(memory):
    memory("sea and boat", "a boat at sea", "the dog")
    run = worker.claim()
    apply = enrich.enrich(run)
    gone = Grain.objects.get(text="sea and boat")
    Conduit.objects.filter(to_grain=gone).delete()
    gone.delete()
    booth.write(apply)
    assert (Vector.objects.count(), related(), waiting()) == (2, {}, set())


def test_while_the_arena_is_being_read_the_page_waits_a_little_and_then_goes_on(memory, monkeypatch, time_machine):
    class Empty:
        def arena(self, space):
            return nullcontext((None, "cold"))

    monkeypatch.setattr(enrich, "arena_cache", Empty)
    monkeypatch.setattr(enrich, "WAITS", 2)
    time_machine.move_to(clock.now(), tick=False)
    memory("a cat")
    for _ in range(2):
        assert worker.drain() == 1
        assert waiting() == {"a cat"}
        time_machine.shift(enrich.WAIT)
    assert worker.drain() == 1
    assert (waiting(), Job.objects.filter(state="queued").count()) == (set(), 0)


def test_a_corroborated_grain_is_not_encoded_again(memory):
    memory("a cat")
    worker.drain()
    memory("a cat")
    assert (worker.drain(), waiting(), Vector.objects.count()) == (0, set(), 1)


def test_what_waits_is_visible(memory, use, make_token, as_agent):
    use(None)
    memory("a cat", "a dog")
    watcher = as_agent(make_token("watcher", capabilities=("health.read",)))
    assert watcher.get("/health").json()["encoder"]["pending"] == 2
    use(Topics())
    worker.drain()
    sweep_and_run()
    assert watcher.get("/health").json()["encoder"]["pending"] == 0
