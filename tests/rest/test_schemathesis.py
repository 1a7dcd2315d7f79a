"""The published schema is true: schemathesis finds no server error and no answer the schema does not promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rest.conftest import RestInstance
from tests.rest.schemathesis_run import EXACT, STORES, run_schemathesis

pytestmark = [pytest.mark.proof, pytest.mark.xdist_group("door")]  # thousands of requests, the same in every run


def test_the_instance_keeps_what_its_schema_promises(door: RestInstance, tmp_path: Path):
    capabilities = ["grains.read", "grains.write", "grains.feedback", "health.read", "metrics.read"]
    token = door.make_agents(("schema", "tester", capabilities))["schema/tester"]
    options = ("--max-examples", "3", "--seed", "1", "--exclude-path-regex", f"{EXACT}|{STORES}")
    outcome = run_schemathesis(door, token, tmp_path, *options, seconds=600)
    print(outcome.last_lines)
    assert outcome.exit_status == 0, outcome.said
    assert outcome.cases > 300
    assert "Traceback" not in door.logged()


@pytest.mark.torture
def test_exact_memory_keeps_what_its_schema_promises(door: RestInstance, tmp_path: Path):
    capabilities = ["memory.read", "memory.write", "bb.read", "bb.write"]
    token = door.make_agents(("schema-exact", "tester", capabilities))["schema-exact/tester"]
    options = ("--max-examples", "3", "--seed", "1", "--include-path-regex", EXACT)
    outcome = run_schemathesis(door, token, tmp_path, *options, seconds=600)
    print(outcome.last_lines)
    assert outcome.exit_status == 0, outcome.said
    assert outcome.cases > 300
    assert "Traceback" not in door.logged()


@pytest.mark.torture
def test_stores_keep_what_their_schema_promises(door: RestInstance, tmp_path: Path):
    capabilities = ["artifacts.read", "artifacts.write", "transcript.read", "transcript.write", "grains.read"]
    token = door.make_agents(("schema-stores", "tester", capabilities))["schema-stores/tester"]
    options = ("--max-examples", "3", "--seed", "1", "--include-path-regex", STORES)
    outcome = run_schemathesis(door, token, tmp_path, *options, seconds=600)
    print(outcome.last_lines)
    assert outcome.exit_status == 0, outcome.said
    assert outcome.cases > 300
    assert "Traceback" not in door.logged()
