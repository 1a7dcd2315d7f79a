"""flux_reembed"""

from __future__ import annotations

import numpy as np
import pytest

from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore.models import Event
from fluxcore.work import worker
from fluxsite.home import DataHome, make_home
from memory.arena.cache import arena_cache
from memory.arena.changes import unpack
from memory.embedding import active_encoder, encoder_kinds
from memory.embedding.active_encoder import ProcessEncoder
from memory.engine.index.dense import quantise
from memory.grains import enrich, reembed, store
from memory.grains.models import Grain, JudgedQuestion, Vector
from memory.learning import feedback
from memory.management.commands import flux_reembed
from memory.recall import recall


class Old:
    name, dimension = "old-64", 64

    def encode(self, texts):
        return np.tile(np.eye(1, 64, dtype=np.float32), (len(texts), 1))


class Broken(Old):
    name = "hashed-256"

    def encode(self, texts):
        raise RuntimeError("out of order")


@pytest.fixture
def using(tmp_path, settings):
    """The instance as if config.yaml named this encoder."""
    settings.HOME = DataHome("tests", tmp_path / "home")
    make_home(settings.HOME)
    before = active_encoder.replace_encoder(None)
    yield lambda wanted: active_encoder.replace_encoder(ProcessEncoder(wanted, tmp_path))
    active_encoder.replace_encoder(before)


@pytest.fixture
def grains(run, using):
    """Two spaces whose grains were encoded by an encoder of yesterday."""
    chosen = ProcessEncoder("none", None)
    chosen._encoder = Old()
    active_encoder.replace_encoder(chosen)
    for name in ("north", "south"):
        run("flux_space", "create", name)
        for number in range(5):
            store.store(shell(Space.objects.get(name=name)), content=f"fact {number} of {name}")
    worker.drain()
    assert set(Vector.objects.values_list("encoder", flat=True)) == {"old-64"}
    using("hashed")


def encoders(space=None):
    found = Vector.objects.filter(space__name=space) if space else Vector.objects
    return {name: found.filter(encoder=name).count() for name in set(found.values_list("encoder", flat=True))}


def test_it_gives_every_grain_a_vector_of_the_encoder_in_use_and_drops_the_old_ones(run, grains):
    said = run("flux_reembed", "--json").json()
    assert said == {
        "encoder": "hashed-256",
        "in_use": True,
        "spaces": {name: {"encoded": 5, "refused": 0, "dropped": 5, "questions": 0} for name in ("north", "south")},
    }
    assert encoders() == {"hashed-256": 10}
    assert "hashed" not in run("flux_reembed").text  # a table of what was done, not of how


def test_a_second_run_finds_nothing_to_do(run, grains):
    run("flux_reembed")
    done = run("flux_reembed", "--json").json()["spaces"]["north"]
    assert done == {"encoded": 0, "refused": 0, "dropped": 0, "questions": 0}


@pytest.fixture
def judged(grains, using):
    """A question that was judged while the encoder of yesterday was in use."""
    chosen = ProcessEncoder("none", None)
    chosen._encoder = Old()
    active_encoder.replace_encoder(chosen)
    asker = shell(Space.objects.get(name="north"))
    answer = recall.recall(asker, query="Which fact is the second?")
    feedback.feedback(asker, trace_id=answer["trace_id"], grain_id=answer["grains"][0]["id"], useful=True)
    worker.drain()
    assert JudgedQuestion.objects.get().encoder == "old-64"
    using("hashed")
    return asker


def test_judged_questions_get_vectors_of_the_encoder_in_use(run, judged):
    assert run("flux_reembed", "--json").json()["spaces"]["north"]["questions"] == 1
    question = JudgedQuestion.objects.get()
    encoder = active_encoder.make_encoder(encoder_kinds.HASHED, None)
    data, scale = quantise(encoder.encode([question.query]))
    assert (question.encoder, bytes(question.data)) == (encoder.name, data[0].tobytes())
    assert question.scale == pytest.approx(float(scale[0]))
    assert run("flux_reembed", "--json").json()["spaces"]["north"]["questions"] == 0


def test_an_arena_compares_questions_by_meaning_again(run, judged):
    active_encoder.load_encoder()
    with arena_cache().arena(judged.space) as (arena, _):
        assert arena.encoder == "hashed-256"
        assert not arena.index.learned.encoded
    run("flux_reembed")
    with arena_cache().arena(judged.space) as (arena, _):
        assert arena.index.learned.encoded == 1


def test_prepared_ahead_questions_keep_the_vectors_in_use(run, judged, using):
    using("none")
    assert run("flux_reembed", "--encoder", "hashed", "--json").json()["spaces"]["north"]["questions"] == 0
    assert JudgedQuestion.objects.get().encoder == "old-64"


def test_one_space_alone(run, grains):
    run("flux_reembed", "--space", "north")
    assert (encoders("north"), encoders("south")) == ({"hashed-256": 5}, {"old-64": 5})


def test_old_vectors_may_stay(run, grains):
    run("flux_reembed", "--keep")
    assert encoders() == {"hashed-256": 10, "old-64": 10}


def test_prepared_ahead_of_the_change_nothing_in_use_is_dropped(run, grains, using):
    using("none")
    said = run("flux_reembed", "--encoder", "hashed", "--json").json()
    assert (said["in_use"], said["spaces"]["north"]["dropped"]) == (False, 0)
    assert encoders() == {"hashed-256": 10, "old-64": 10}
    assert "Then run manage.py flux_reembed" in run("flux_reembed", "--encoder", "hashed").text


def test_an_instance_that_was_not_restarted_keeps_its_vectors(run, grains, monkeypatch, settings):
    monkeypatch.setattr(
        flux_reembed.running_state, "read_state", lambda home: {"bound": {"EMBEDDING_MODEL_NAME": "something older"}}
    )
    said = run("flux_reembed", "--json").json()
    assert (said["in_use"], encoders()) == (False, {"hashed-256": 10, "old-64": 10})


def test_stopped_in_the_middle_it_goes_on_where_it_was(run, grains, monkeypatch):
    monkeypatch.setattr(reembed, "PAGE", 2)
    north = Space.objects.get(name="north")
    encoder = active_encoder.make_encoder(encoder_kinds.HASHED, None)
    page = reembed.reembed(shell(north), encoder=encoder)
    assert (page["encoded"], reembed.count_left(north.pk, "hashed-256")) == (2, 3)
    assert run("flux_reembed", "--json").json()["spaces"]["north"]["encoded"] == 3
    assert encoders("north") == {"hashed-256": 5}


def test_the_arenas_are_told_page_by_page(run, grains):
    run("flux_reembed", "--space", "north")
    event = Event.objects.filter(kind="grains.enriched").order_by("-id").first()
    numbers = Grain.objects.filter(space__name="north").order_by("id").values_list("id", flat=True)
    assert unpack(bytes(event.packed)).grains == tuple(numbers)


def test_it_is_on_the_chain_of_the_space(run, grains):
    run("flux_reembed", "--space", "north", "--reason", "a better one")
    chain = Space.objects.get(name="north").uuid.hex
    entries = AuditEntry.objects.filter(chain=chain, action__in=["grains.reembed", "grains.drop_vectors"])
    assert entries.filter(reason="a better one").count() == entries.count() >= 2


def test_an_encoder_that_encodes_nothing_costs_nothing(run, grains, monkeypatch):
    monkeypatch.setattr(active_encoder, "make_encoder", lambda kind, models: Broken())
    assert run("flux_reembed", "--json").json()["error"]["code"] == "conflict"
    assert encoders() == {"old-64": 10}


@pytest.mark.parametrize(("encoder", "wanted"), [("banana", "hashed"), (None, "none"), ("none", "hashed")])
def test_it_refuses_an_encoder_there_is_not(run, grains, using, encoder, wanted):
    using(wanted)
    said = run("flux_reembed", *(["--encoder", encoder] if encoder else []), "--json")
    assert (said.status, said.json()["error"]["details"]) == (65, {"field": "encoder"})


def test_what_is_pending_stays_the_workers(run, grains):
    store.store(shell(Space.objects.get(name="north")), content="new meanwhile")
    run("flux_reembed")
    assert enrich.pending() == 1
    assert reembed.count_left(Space.objects.get(name="north").pk, "hashed-256") == 0
