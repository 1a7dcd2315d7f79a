"""Programs written from flux-memory's README: its SDK, its REST API, its MCP workflow and its commands."""

from __future__ import annotations

import json

import pytest

from tests.seed_programs.conftest import Shell

pytestmark = pytest.mark.xdist_group("seed_programs")


@pytest.fixture
def home(tmp_path):
    shell = Shell(tmp_path)
    # An old file, with a key of a release nobody has any more.
    (shell.folder / "old.yaml").write_text("TOP_K: 3\nADMIN_LOCKOUT_MINUTES: 15\n")
    return shell


@pytest.mark.either_database
def test_the_sdk(home):
    done = home.program("sdk_notebook.py")
    assert done["before_start"] == "later"
    assert done["status"] == ["stored_wired", "duplicate"]
    assert (done["batch"], done["too_many"]) == (2, "bad input")
    assert done["refused"] == ["bad input"] * 4
    # Five a minute for each caller: the desk had stored four already.
    assert done["desk"] == ["done", "later", "later"]
    assert done["phone"] == ["done"] * 5 + ["later"] * 2
    assert (done["found"], done["confidence"], done["result"]) == (True, True, [True, True, True])
    assert done["good"] == ["reinforced", "reinforced", True, True, True]
    assert (done["bad"], done["several"]) == (["penalized", True], ["reinforced"])
    assert done["listed"] == sorted(
        [
            "Paris is the capital of France",
            "Rome is the capital of Italy",
            "Bern is the capital of Switzerland",
            "desk note 0",
            *(f"phone note {n}" for n in range(5)),
        ]
    )
    assert done["callers"] == ["desk:chat", "phone:chat"]
    assert done["health"] in ("healthy", "warning")
    assert done["config"] == [True, True, 3, 0.5, 0.5, 720.0, 48.0, 168.0]


def test_the_rest_api(served):
    done = served.program("rest_agent.py", **served.server)
    assert (done["name"], done["health"]) == ("Flux Memory", True)
    assert (done["actions"], done["same"], done["batch"]) == (["stored_wired", "duplicate"], True, [2, 2])
    assert done["found"] and done["listed"]
    assert done["voted"] == [True, "reinforced", True]
    assert {"confidence", "expansion_candidates", "fallback_triggered", "features", "grains", "hop_count"} == set(
        done["answer"]
    )
    assert done["first"] == [200] * 6 + [429]
    assert (done["second"], done["bad"]) == ([200], [422, 422, 422])


def test_the_mcp_workflow(served):
    done = served.program("mcp_turns.py")
    assert {
        "flux_store",
        "flux_retrieve",
        "flux_feedback",
        "flux_health",
        "flux_list_grains",
        "flux_onboard",
    } <= set(done["tools"])
    assert done["onboard"] == [True, "flux-memory", True]
    assert all(done["workflow"])
    assert (done["stored"], done["found"]) == ("stored_wired", True)
    assert 0 < done["confidence"] <= 1
    assert done["voted"] == ["reinforced", True]
    assert done["health"] in ("healthy", "warning")
    assert done["listed"] == [["Olga plays the cello on Mondays", "active", "user_stated"]]


def test_the_commands(served):
    """init, start and stop are the fixture; the rest of the README's commands, and what they leave behind."""
    assert "usage: flux" in served.run("-m", "flux", "--help").stdout
    status = json.loads(served.flux("status", "--json").stdout)
    assert status["name"] == "my-memory"
    assert "my-memory" in served.flux("mcp-config").stdout
    snippets = {one.name for one in (served.folder / "integrations").iterdir()}
    assert any(name.startswith("codex") for name in snippets), snippets
    assert (served.folder / "config.yaml").exists() and (served.folder / "flux.db").exists()
