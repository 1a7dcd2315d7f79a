"""The TypeScript SDK from npm as a client: lists and calls tools, both revisions, over HTTP and standard input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.instances import ROOT, Instance
from tests.mcp.test_stdio import USUAL
from tests.servers import missing

pytestmark = [pytest.mark.node, pytest.mark.xdist_group("mcp-server")]

PACKAGE = "@modelcontextprotocol/client@2.4.0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, outside the project."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip(missing("node", "it is not installed"))
    made = tmp_path_factory.mktemp("node")
    (made / "package.json").write_text('{"private": true}')
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", PACKAGE],
        cwd=made,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode != 0:
        pytest.skip(missing("npm", "the registry does not give the package"))
    shutil.copy(Path(__file__).with_name("stranger.mjs"), made)
    return made


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("door", ["stdio", "http"])
def test_it_lists_the_tools_and_calls_them(folder: Path, server: Instance, door: str, revision: str) -> None:
    text = f"Strangers of {revision} come through {door}."
    given: dict[str, Any] = {
        "options": {"versionNegotiation": {"mode": "auto"}} if revision == "2026-07-28" else {},
        "calls": [
            ["flux_onboard", {}],
            ["flux_store", {"content": text}],
            ["flux_retrieve", {"query": text}],
            ["flux_health", {}],
            ["flux_list_grains", {"limit": 1}],
            ["flux_pending_feedback", {}],
        ],
    }
    if door == "stdio":
        environment = {**server.environment, "PATH": os.environ["PATH"]}
        given |= {"command": sys.executable, "args": [str(ROOT / "manage.py"), "flux_mcp"], "env": environment}
    else:
        given |= {"url": f"{server.state['urls']['mcp']}/mcp", "token": server.token}
    done = subprocess.run(
        ["node", "stranger.mjs", json.dumps(given)], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["revision"], found["tools"]) == (revision, USUAL)
    called = found["called"]
    assert called["flux_onboard"]["agent"] == "assistant"
    assert called["flux_store"]["grain_id"] in [one["id"] for one in called["flux_retrieve"]["grains"]]
    assert called["flux_feedback"]["status"] == "recorded"
    assert called["flux_list_grains"]["count"] == 1
    assert called["flux_health"]["status"] == "healthy" and called["flux_pending_feedback"]["pending"] == []
