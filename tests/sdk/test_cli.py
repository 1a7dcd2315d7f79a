"""`flux` and `python -m flux`: the management commands by short names, and help without loading a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import memory.management.commands
from flux import cli
from fluxcore.version import VERSION
from tests.instances import ROOT

EVERY = {path.stem for path in Path(memory.management.commands.__path__[0]).glob("flux_*.py")}


def flux(*words, environment=None):
    return subprocess.run(
        [sys.executable, "-m", "flux", *words], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_every_management_command_has_a_short_name():
    assert {"flux_" + name.replace("-", "_") for name in cli.commands()} == EVERY
    assert {"init", "start", "stop", "status", "admin", "store", "recall"} <= set(cli.commands())


def test_help_lists_them_all_with_what_they_do(capsys):
    for words in ([], ["--help"], ["-h"], ["help"]):
        cli.main(words)
        said = capsys.readouterr().out
        assert all(f"\n  {name} " in said for name in cli.commands())
        assert "Recall the memories that answer a question, best first." in said


def test_every_command_says_what_it_is_for():
    assert [name for name, path in cli.commands().items() if len(cli.help_of(path)) < 10] == []


def test_the_version_is_the_packages(capsys):
    cli.main(["--version"])
    assert capsys.readouterr().out == f"flux-memory {VERSION}\n"


@pytest.mark.parametrize(
    "typed, meant", [("recal", "recall"), ("STATUS", "status"), ("flux_stor", "store"), ("starts", "start")]
)
def test_a_mistyped_command_is_told_the_nearest(capsys, typed, meant):
    with pytest.raises(SystemExit) as ended:
        cli.main([typed])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (64, "")
    assert f"Did you mean {meant}?" in said.err


def test_what_is_like_nothing_gets_no_guess(capsys):
    with pytest.raises(SystemExit):
        cli.main(["xyzzy"])
    assert "Did you mean" not in capsys.readouterr().err


def test_a_command_runs_and_ends_as_the_management_command_does(blank):
    done = flux("status", "--json", "--name=blank", environment=blank.environment)
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "blank"), done.stderr
    refused = flux("flux_recall", "--name", "blank", "x", "--space", "nowhere", environment=blank.environment)
    assert refused.returncode == 66
    assert "not_found" in refused.stderr


def test_memory_is_kv_as_agentd_has_it(blank):
    assert "\n  memory " in cli.usage()
    words = ("--name", "blank", "--space", "main")
    flux("memory", "write", "assistant", "config", '{"theme": "dark"}', *words, environment=blank.environment)
    done = flux("memory", "read", "assistant", "config", *words, "--json", environment=blank.environment)
    assert json.loads(done.stdout)["value"] == {"theme": "dark"}


def test_help_of_a_command_names_it_as_it_is_typed(blank):
    said = flux("help", "recall", environment=blank.environment).stdout
    assert said.startswith("usage: flux recall ")


def test_help_and_the_client_load_no_django():
    code = (
        "import sys\nfrom flux import cli\ncli.main(['--help'])\nimport flux.client, flux.errors\n"
        "print([one for one in sys.modules if one.split('.')[0] in ('django', 'rest_framework', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_mcp_as_a_client_of_a_server_loads_no_django():
    """It answers its client even if nobody listens there; what it has loaded until then is the point."""
    code = (
        "import sys\nfrom flux import cli\n"
        "import atexit; atexit.register(lambda: sys.stderr.write(repr([one for one in sys.modules if "
        "one.split('.')[0] in ('django', 'numpy')])))\n"
        "cli.main(['mcp'])\n"
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FLUX_", "DJANGO_"))}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={**kept, "FLUX_URL": "http://127.0.0.1:1", "FLUX_TOKEN": "flux_x"},
        input='{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n',
    )
    assert done.stderr.endswith("[]"), done.stderr
    assert json.loads(done.stdout)["id"] == 1
