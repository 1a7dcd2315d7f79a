"""Command names as the user types them: `flux stop` or `manage.py flux_stop`, with the instance."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fluxcore import command_names
from fluxcore.command_names import runnable_command, typed_command


@pytest.fixture
def came(monkeypatch):
    def by(program: str, name: str = "default", home: str = "") -> None:
        monkeypatch.setenv("FLUX_STARTED_AS", program)
        monkeypatch.setenv("FLUX_NAME", name)
        monkeypatch.setenv("FLUX_HOME", home)

    return by


@pytest.mark.parametrize(
    ("program", "name", "said"),
    [
        ("flux", "default", "flux mcp-config --install CLIENT"),
        ("flux", "work", "flux mcp-config --install CLIENT --name work"),
        ("manage.py", "default", "manage.py flux_mcp_config --install CLIENT"),
        ("manage.py", "work", "manage.py flux_mcp_config --install CLIENT --name work"),
        ("", "default", "manage.py flux_mcp_config --install CLIENT"),  # a server that nobody's command has started
    ],
)
def test_a_command_is_spelled_as_the_user_types_it(came, program, name, said):
    came(program, name)
    assert typed_command("flux_mcp_config --install CLIENT") == said


@pytest.mark.parametrize("program", ["flux", "manage.py"])
def test_a_command_to_paste_runs_in_any_folder(came, program, tmp_path):
    came(program, home=str(tmp_path / "a home"))
    done = subprocess.run(
        ["sh", "-c", runnable_command("flux_init --help")],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(command_names._ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "--token-file" in done.stdout, done.stderr


def test_who_typed_flux_is_answered_in_its_words(tmp_path):
    """A refusal, and what it tells the user to type."""
    done = subprocess.run(
        [sys.executable, "-m", "flux", "status", "--name", "work"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "FLUX_HOME": str(tmp_path)},
        cwd=command_names._ROOT,
    )
    assert "Create it: flux init --name work." in done.stderr
