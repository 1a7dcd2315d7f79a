"""At least 10,000 generated requests from the published schema: no server error, every answer as promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rest.conftest import RestInstance
from tests.rest.conftest import door as door  # the same running instance
from tests.rest.schemathesis_run import EXACT, run_schemathesis

pytestmark = [pytest.mark.torture, pytest.mark.xdist_group("door")]

MEBIBYTE = 2**20
APART = ("--exclude-path-regex", EXACT)


def resident(door: RestInstance) -> int:
    """Bytes of memory of all the instance's processes."""
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in door.pids()]
    return sum(pages) * 4096


def test_ten_thousand_cases(door: RestInstance, tmp_path: Path):
    capabilities = ["grains.read", "grains.write", "health.read", "metrics.read"]
    token = door.make_agents(("schema", "tester", capabilities))["schema/tester"]
    run_schemathesis(
        door, token, tmp_path, "--max-examples", "5", *APART, seconds=300
    )  # warm, so that memory is compared fairly
    before, cases, seed = resident(door), 0, 1
    while cases < 10_000:
        outcome = run_schemathesis(
            door, token, tmp_path, "--max-examples", "1000", "--seed", str(seed), *APART, seconds=3000
        )
        assert outcome.exit_status == 0, outcome.said
        cases, seed = cases + outcome.cases, seed + 1
    print(outcome.last_lines)
    print(f"{cases} cases, 0 server errors, {(resident(door) - before) / MEBIBYTE:+.1f} MiB")
    assert "Traceback" not in door.logged()
    assert resident(door) - before < 50 * MEBIBYTE
