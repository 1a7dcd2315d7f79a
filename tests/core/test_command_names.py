"""Command names as the user types them: `flux stop` or `manage.py flux_stop`, with the instance."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fluxcore import command_names
from fluxcore.command_names import runnable_command, typed_command, typed_commands
from tests.instances import ROOT


@pytest.fixture
def start_as(monkeypatch):
    def start(program: str, name: str = "default", home: str = "") -> None:
        monkeypatch.setenv("FLUX_STARTED_AS", program)
        monkeypatch.setenv("FLUX_NAME", name)
        monkeypatch.setenv("FLUX_HOME", home)

    return start


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
def test_a_command_is_spelled_as_the_user_types_it(start_as, program, name, said):
    start_as(program, name)
    assert typed_command("flux_mcp_config --install CLIENT") == said


@pytest.mark.parametrize("program", ["flux", "manage.py"])
def test_a_command_to_paste_runs_in_any_folder(start_as, program, tmp_path):
    start_as(program, home=str(tmp_path / "a home"))
    done = subprocess.run(
        ["sh", "-c", runnable_command("flux_init --help")],
        cwd="/",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(command_names._ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "--token-file" in done.stdout, done.stderr


def test_messages_name_flux_commands_to_users_of_flux(tmp_path):
    """A refusal, and what it tells the user to type."""
    done = subprocess.run(
        [sys.executable, "-m", "flux", "status", "--name", "work"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "FLUX_HOME": str(tmp_path)},
        cwd=command_names._ROOT,
    )
    assert "Create it: flux init --name work." in done.stderr


def test_commands_in_braces_are_spelled_as_the_user_types_them(start_as):
    start_as("flux", "work")
    said = typed_commands("See {flux_learning list} or {flux_eval}, {not this}.")
    assert said == "See `flux learning list --name work` or `flux eval --name work`, {not this}."


PACKAGES = ("accounts", "dashboard", "flux", "fluxcore", "fluxsite", "mcp_bridge", "memory")
COMMANDS = [path.stem for path in (ROOT / "memory/management/commands").glob("flux_*.py")]
# A command within a sentence. In braces it is spelled when it is shown, behind `manage.py` it is meant so.
NAMED = re.compile(rf"(?<![{{\w])(?<!manage\.py )({'|'.join(COMMANDS)})\b")
SPELLS = {"typed_command", "runnable_command"}
IN_A_CALL = {"command", "reason"}  # a command that the called function spells, and the name of an act in the audit log
TOOLS = {"flux_store", "flux_extract", "flux_health"}  # of MCP, named like commands; only models read of them
ELSEWHERE = {"memory/management/answers.py"}


def literals(node: ast.AST) -> Iterator[ast.Constant]:
    """Texts that are shown as they stand: no docstring, nothing that is spelled before it is shown."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SPELLS:
            return
    if isinstance(node, ast.keyword) and node.arg in IN_A_CALL:
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from literals(child)


def test_no_message_names_only_the_command_of_a_checkout():
    found = [
        f"{name}:{text.lineno} {word}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if (name := str(path.relative_to(ROOT))) not in ELSEWHERE
        for text in literals(ast.parse(path.read_text()))
        for word in NAMED.findall(str(text.value))
        if not (package == "mcp_bridge" and word in TOOLS)
    ]
    assert found == []
