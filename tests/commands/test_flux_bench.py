"""flux_bench: measurements as tables for people and as one JSON document for scripts."""

from __future__ import annotations

import json

import pytest

from tests.instances import Instance


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """No instance is needed: each measurement makes a home of its own."""
    return Instance(tmp_path_factory.mktemp("bench"))


@pytest.mark.proof
def test_speed_is_a_ratio_to_the_plain_way(nowhere: Instance) -> None:
    document = json.loads(nowhere.command("flux_bench", "speed", "300", "--json").stdout)
    assert set(document) == {"rows"}
    found = document["rows"]
    assert found[0]["ratio"] > 0
    assert found[0]["statements"] <= 4
    assert not (nowhere.folder / "flux.db").exists()


@pytest.mark.proof
def test_quality_is_measured_through_the_service_on_generated_sets(nowhere: Instance) -> None:
    shown = nowhere.command("flux_bench", "quality", "--small", "--encoder", "hashed").stdout
    for words in ("made-chats", "made-passages", "recall@10", "confidence"):
        assert words in shown


def test_a_measurement_that_fails_says_so(nowhere: Instance) -> None:
    done = nowhere.command("flux_bench", "speed", "many", check=False)
    assert done.returncode == 65
    assert "could not be measured" in done.stderr
