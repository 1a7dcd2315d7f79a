"""flux_mcp_config: what clients must be told, written, shown and put in place"""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fluxsite.home import DataHome, make_home
from mcp_bridge.clients import hook_examples, installer, programs
from mcp_bridge.clients.programs import CLIENTS
from mcp_bridge.instructions import BEGIN, END, instructions_block
from mcp_bridge.proxy import envelope
from tests.instances import Instance

pytestmark = pytest.mark.either_database

WAY = programs.local_process(
    "/usr/bin/python3",
    Path("/opt/flux/manage.py"),
    instance="work",
    space="main",
    agent="assistant",
    ceiling="user_stated",
    home="/srv/flux",
)
OTHER = programs.local_process(
    "/usr/bin/python3",
    Path("/opt/flux/manage.py"),
    instance="play",
    space="main",
    agent="assistant",
    ceiling="user_stated",
    home="/srv/flux",
)
FILES = {
    "claude-code.json",
    "claude-desktop.json",
    "codex.toml",
    "cursor.json",
    "vscode.json",
    "gemini.json",
    "AGENTS.md",
    "CLAUDE.md",
    "claude-code.hooks.json",
    "gemini.hooks.json",
}


@pytest.fixture
def said(run: Any, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, in a home of its own and for a user with an empty one."""
    settings.HOME = DataHome("tests", tmp_path / "flux" / "tests")
    make_home(settings.HOME)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return run


def entry(name: str, text: str) -> dict[str, Any]:
    client = CLIENTS[name]
    found = tomllib.loads(text) if client.toml else json.loads(text)
    (one,) = found[client.table].values()
    return dict(one)


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_told_the_same_command(name: str) -> None:
    found = entry(name, CLIENTS[name].snippet(WAY))
    assert found["command"] == "/usr/bin/python3"
    assert found["args"] == [
        "/opt/flux/manage.py",
        "flux_mcp",
        "--name",
        "work",
        "--space",
        "main",
        "--agent",
        "assistant",
        "--ceiling",
        "user_stated",
    ]
    assert found["env"] == {"FLUX_HOME": "/srv/flux"}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_running_server_is_named_by_its_address(name: str) -> None:
    for token in ("", "flux_secret"):
        found = entry(
            name, CLIENTS[name].snippet(programs.remote_server("http://127.0.0.1:7464", token, instance="work"))
        )
        if name == "claude-desktop":  # it only starts processes
            assert found["args"] == ["-m", "mcp_bridge.proxy"]
            assert found["env"] == {"FLUX_URL": "http://127.0.0.1:7464", "FLUX_TOKEN": token or "flux_..."}
        else:
            assert "http://127.0.0.1:7464/mcp" in found.values()
            assert (token or "FLUX_TOKEN") in json.dumps(found)


def test_showing_writes_nothing(said: Any, settings: Any) -> None:
    shown = said("flux_mcp_config").text
    for client in CLIENTS.values():
        assert client.title in shown
    assert "mcp_servers" not in said("flux_mcp_config", "cursor", "--url", "http://127.0.0.1:1").text
    assert entry("codex", said("flux_mcp_config", "--json").json()["snippets"]["codex"])
    assert list(settings.HOME.integrations.iterdir()) == []


def test_it_writes_a_file_for_each(said: Any, settings: Any) -> None:
    answer = said("flux_mcp_config", "--write", "--json").json()
    assert {Path(one).name for one in answer["written"]} == FILES
    for file in settings.HOME.integrations.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_flux_init_writes_them_and_what_they_say_works(blank: Instance) -> None:
    """The very words of a snippet start a server that knows its agent."""
    folder = blank.folder / "integrations"
    assert {file.name for file in folder.iterdir()} == FILES
    found = entry("codex", (folder / "codex.toml").read_text())
    assert {"type": "stdio", **found} == entry("claude-code", (folder / "claude-code.json").read_text())
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "flux_onboard", "arguments": {}, "_meta": envelope("test")},
    }
    environment = {"PATH": os.environ["PATH"], "FLUX_ENCODER": "none", **found["env"]}
    server = subprocess.Popen(
        [found["command"], *found["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd="/",
    )
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())["result"]["structuredContent"]
    server.communicate(timeout=30)
    assert (answer["agent"], answer["provenance_ceiling"]) == ("assistant", "user_stated")


@pytest.mark.parametrize("name", CLIENTS)
def test_install_makes_the_file_and_says_so_once(said: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "client" / "config"
    first = said("flux_mcp_config", "--install", name, "--config-file", str(file), "--json").json()["changed"][0]
    assert (first["done"], first["changed"], first["backup"]) == (True, True, None)
    assert entry(name, file.read_text())["command"] == sys.executable
    again = said("flux_mcp_config", "--install", name, "--config-file", str(file), "--json").json()["changed"][0]
    assert (again["done"], again["changed"], again["backup"]) == (True, False, None)


def test_install_finds_the_client_s_own_file(said: Any, tmp_path: Path) -> None:
    said("flux_mcp_config", "--install", "gemini")
    assert entry("gemini", (tmp_path / "user/.gemini/settings.json").read_text())


def test_what_else_stands_in_the_file_stays_and_the_old_one_is_kept(said: Any, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    before = '{\n    "theme": "ü",\n    "mcpServers": {"other": {"command": "x"}}\n}\n'
    file.write_text(before)
    file.chmod(0o640)
    shown = said("flux_mcp_config", "--install", "cursor", "--config-file", str(file), "--yes").text
    assert "+" in shown and "flux-tests" in shown
    found = json.loads(file.read_text())
    assert found["theme"] == "ü" and found["mcpServers"]["other"] == {"command": "x"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert (tmp_path / "mcp.json.flux-backup").read_text() == before


def test_a_dry_run_writes_nothing(said: Any, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    one = said("flux_mcp_config", "--install", "cursor", "--config-file", str(file), "--dry-run", "--json").json()
    assert not file.exists() and not one["changed"][0]["done"] and "flux-tests" in one["changed"][0]["diff"]


TOML = """\
# my own words
model = "o5"

[mcp_servers.other]
command = "x"  # [not a table]

[mcp_servers."flux-work"]
command = "old"
args = ["-m", "mcp_bridge.entry", "--name", "work"]

[mcp_servers.flux-work.env]
FLUX_HOME = "/srv/flux"
OLD = "1"

[profiles.work]
model = "o4"
"""


def test_toml_keeps_its_comments_and_an_old_entry_goes(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TOML)
    new_text = installer.plan_install(CLIENTS["codex"], WAY, file).new_text
    assert new_text.startswith("# my own words\n") and "# [not a table]" in new_text and "OLD" not in new_text
    found = tomllib.loads(new_text)
    assert found["profiles"] == {"work": {"model": "o4"}} and found["mcp_servers"]["other"] == {"command": "x"}
    assert found["mcp_servers"]["flux-work"]["command"] == "/usr/bin/python3"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", "{ // a comment\n}"),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": []}'),
        ("codex", "a = "),
        ("cursor", '{"theme": "a", "theme": "b"}'),
        ("cursor", "[" * 100_000),
        ("codex", "mcp_servers = 5"),
        ("codex", 'mcp_servers = {"other" = {command = "x"}}'),
        ("codex", 'text = """\n[mcp_servers.flux-work]\n"""\n'),
    ],
)
def test_a_file_that_could_come_to_harm_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(installer.UnmergeableFile):
        installer.plan_install(CLIENTS[name], WAY, file)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_second_instance_gets_an_entry_of_its_own(tmp_path: Path, name: str) -> None:
    client, file = CLIENTS[name], tmp_path / "config"
    for way in (WAY, OTHER, WAY):
        installer.plan_install(client, way, file).carry_out()
    found = tomllib.loads(file.read_text()) if client.toml else json.loads(file.read_text())
    assert found[client.table] == {"flux-work": client.entry(WAY), "flux-play": client.entry(OTHER)}


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(
    "way", [WAY, programs.remote_server("http://127.0.0.1:7464", instance="work")], ids=["local", "url"]
)
def test_an_entry_of_the_same_instance_keeps_its_old_name(tmp_path: Path, name: str, way: Any) -> None:
    client, file = CLIENTS[name], tmp_path / "config"
    installer.plan_install(client, replace(way, name="flux-memory"), file, replace=True).carry_out()
    newer = replace(way, command="/usr/bin/python3.13") if way.command else replace(way, token="flux_new")
    installer.plan_install(client, newer, file).carry_out()
    assert entry(name, file.read_text()) == client.entry(newer)
    assert "flux-memory" in file.read_text() and "flux-work" not in file.read_text()


def test_an_entry_that_leads_elsewhere_is_replaced_only_by_its_name(said: Any, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"flux-tests": {"url": "http://elsewhere:7464/mcp"}}}')
    install = ("flux_mcp_config", "--install", "cursor", "--config-file", str(file), "--json")
    refused = said(*install).json()["error"]
    assert refused["code"] == "conflict" and "--entry NAME" in refused["message"]
    said(*install, "--entry", "mine")
    assert set(json.loads(file.read_text())["mcpServers"]) == {"flux-tests", "mine"}
    said(*install, "--entry", "flux-tests")
    assert json.loads(file.read_text())["mcpServers"]["flux-tests"]["command"] == sys.executable


def test_what_a_client_wrote_since_the_diff_was_shown_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text("{}")
    plan = installer.plan_install(CLIENTS["cursor"], WAY, file)
    file.write_text('{"history": ["an hour of work"]}')
    with pytest.raises(installer.UnmergeableFile):
        plan.carry_out()
    assert file.read_text() == '{"history": ["an hour of work"]}' and list(tmp_path.iterdir()) == [file]


def test_the_backup_is_the_old_file_to_the_byte_and_a_link_stays_one(tmp_path: Path) -> None:
    """Half a character stands in files whose client cut a prompt short."""
    real, file = tmp_path / "elsewhere" / "settings.json", tmp_path / "settings.json"
    real.parent.mkdir()
    before = b'{\r\n\t"prompt": "caf\xc3\xa9 \\ud83d"\r\n}\r\n'
    real.write_bytes(before)
    file.symlink_to(real)
    backup = installer.plan_install(CLIENTS["cursor"], WAY, file).carry_out()
    assert backup is not None and backup.read_bytes() == before
    after = real.read_bytes()
    assert file.is_symlink() and after.startswith(b'{\r\n\t"prompt"') and after.count(b"\n") == after.count(b"\r\n")
    assert json.loads(after)["prompt"] == "café \ud83d" and list(real.parent.iterdir()) == [real]


def test_ends_and_beginnings_in_the_wrong_order_are_somebody_s_own_words(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text(f"{END}\nmine\n{BEGIN}\n")
    new_text = installer.plan_instructions(file, "ai_stated").new_text
    assert new_text == f"{END}\nmine\n{BEGIN}\n\n{instructions_block('ai_stated')}"


def test_the_loop_is_put_into_the_file_an_agent_always_reads(said: Any, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("# House rules\n\nBe kind.")
    said("flux_mcp_config", "--instructions", str(file))
    assert file.read_text() == f"# House rules\n\nBe kind.\n\n{instructions_block('user_stated')}"
    file.write_text(f"Before.\n{BEGIN}\nold words\n{END}\nAfter.\n")
    said("flux_mcp_config", "--instructions", str(file), "--ceiling", "ai_stated")
    assert file.read_text() == f"Before.\n{instructions_block('ai_stated')}After.\n"
    for tool in ("flux_retrieve", "flux_store", "flux_feedback"):
        assert tool in instructions_block("user_stated")


@pytest.mark.parametrize("what", ["--instructions", "--write"])
def test_instructions_for_a_server_elsewhere_need_the_ceiling_of_its_token(
    said: Any, tmp_path: Path, settings: Any, what: str, capsys: Any
) -> None:
    file = tmp_path / "AGENTS.md" if what == "--instructions" else settings.HOME.integrations / "AGENTS.md"
    given = ("flux_mcp_config", "--url", "http://127.0.0.1:1", what, *([str(file)] if what == "--instructions" else []))
    assert said(*given).status == 65
    assert "Add --ceiling with one of" in " ".join(capsys.readouterr().err.split()) and not file.exists()
    said(*given, "--ceiling", "ai_stated")
    assert file.read_text() == instructions_block("ai_stated")


def test_the_hook_asks_the_memory_with_a_prompt(blank: Instance, instance: Any) -> None:
    import shutil

    one = instance("hooked")
    shutil.copytree(blank.folder, one.folder)
    one.command("flux_store", "Ada's cat is called Byron.")
    way = programs.local_process(
        sys.executable,
        Path(__file__).resolve().parents[2] / "manage.py",
        instance=one.name,
        space="main",
        agent="assistant",
        ceiling="user_stated",
        home=str(one.home),
    )
    for example in hook_examples.examples(way).values():
        assert hook_examples.hook_command(way) in json.loads(example)["hooks"].popitem()[1][0]["hooks"][0]["command"]

    def asked(event: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", hook_examples.hook_command(way)],
            input=event,
            capture_output=True,
            text=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "FLUX_ENCODER": "none"},
        )

    done = asked(json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": "What is Ada's cat called?"}))
    found = json.loads(done.stdout)["hookSpecificOutput"]
    assert found["hookEventName"] == "UserPromptSubmit" and "Byron" in found["additionalContext"]
    broken = asked("no JSON")
    assert (broken.returncode, broken.stdout) == (0, "") and "recall failed" in broken.stderr
