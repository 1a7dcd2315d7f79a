"""flux_init"""

from __future__ import annotations

import base64
import json
import os
import pty
import select
import stat
import subprocess
import sys
import time

from tests.instances import ROOT
from tests.sign_in_codes import code_for


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_four_at_once_make_one_instance_with_a_private_home_and_a_key_of_its_own(instance):
    one = instance("one")
    command = [sys.executable, str(ROOT / "manage.py"), "flux_init", "--no-input", "--json"]
    running = [
        subprocess.Popen(command, env=one.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0, 0], said
    *others, made = sorted((json.loads(out) for out, _ in said), key=lambda made: made["migrations_applied"])
    assert (made["new"], made["mode"], made["migrations_applied"] > 0) == (True, "caller_extracts", True)
    assert {other["migrations_applied"] for other in others} == {0}
    assert _mode(one.folder) == 0o700
    assert _mode(one.folder / "keys" / "secret_key") == 0o600
    assert _mode(one.folder / "flux.db") == 0o600
    assert _mode(one.folder / "config.yaml") == 0o600
    assert "OPERATING_MODE: caller_extracts" in (one.folder / "config.yaml").read_text()
    again = json.loads(one.command("flux_init", "--no-input", "--json").stdout)
    assert (again["new"], again["migrations_applied"]) == (False, 0)
    two = instance("two").with_tables()
    two.command("flux_init", "--no-input")
    assert (one.folder / "keys" / "secret_key").read_text() != (two.folder / "keys" / "secret_key").read_text()


def test_every_question_has_a_flag(instance, tmp_path):
    one = instance().with_tables()
    key = b"0123456789abcdefghij"
    (tmp_path / "password").write_text("quiet river stone lamp\n")
    (tmp_path / "key").write_text(base64.b32encode(key).decode())
    token_file = tmp_path / "token"
    made = json.loads(
        one.command(
            "flux_init",
            "--no-input",
            "--json",
            "--mode",
            "flux_extracts",
            "--admin",
            "ada",
            "--password-file",
            str(tmp_path / "password"),
            "--totp-key-file",
            str(tmp_path / "key"),
            "--totp-code",
            code_for(key),
            "--token-file",
            str(token_file),
        ).stdout
    )
    assert made["mode"] == "flux_extracts"
    assert made["administrator"] == {"username": "ada", "second_factor": True}
    assert json.loads(one.command("flux_init", "--no-input", "--json").stdout)["mode"] == "flux_extracts"
    assert token_file.read_text().startswith("flux_")
    assert _mode(token_file) == 0o600


def test_a_wrong_first_code_makes_no_administrator(instance, tmp_path):
    one = instance().with_tables()
    (tmp_path / "password").write_text("quiet river stone lamp")
    (tmp_path / "key").write_text(base64.b32encode(b"0123456789abcdefghij").decode())
    refused = one.command(
        "flux_init",
        "--no-input",
        "--json",
        "--admin",
        "ada",
        "--password-file",
        str(tmp_path / "password"),
        "--totp-key-file",
        str(tmp_path / "key"),
        "--totp-code",
        "000000",
        check=False,
    )
    assert refused.returncode == 65
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "totp_code"
    status = json.loads(one.command("flux_status", "--json").stdout)
    assert any("no administrator" in warning for warning in status["warnings"])


def test_a_token_file_without_a_folder_is_refused_before_anything_is_made(instance, tmp_path):
    one = instance()
    (tmp_path / "password").write_text("quiet river stone lamp")
    given = ("--admin", "ada", "--password-file", str(tmp_path / "password"), "--no-totp")
    refused = one.command(
        "flux_init", "--no-input", "--json", *given, "--token-file", str(tmp_path / "none/token"), check=False
    )
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "token_file"
    assert not one.folder.exists()


def test_a_database_without_tables_is_told_so(made):
    one = made()
    (one.folder / "flux.db").unlink()
    refused = json.loads(one.command("flux_agent", "--json", check=False).stdout)["error"]
    assert refused["code"] == "not_ready" and "flux_init" in refused["message"]


def test_a_weak_password_is_refused(instance, tmp_path):
    (tmp_path / "password").write_text("short")
    given = ("--admin", "ada", "--password-file", str(tmp_path / "password"))
    refused = instance().with_tables().command("flux_init", "--no-input", "--json", *given, check=False)
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "password"


def test_a_broken_configuration_is_named_with_its_line(made):
    one = made()
    (one.folder / "config.yaml").write_text("TOP_K: 5\nREST_PROT: 1\n")
    refused = one.command("flux_init", "--no-input", check=False)
    assert refused.returncode == 78
    assert "line 2: unknown key 'REST_PROT'. Did you mean REST_PORT?" in refused.stderr


class Terminal:
    """A command with a terminal before it: what it shows can be waited for, answers can be typed."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.hand, other = pty.openpty()
        self.process = subprocess.Popen(
            command, env=environment, stdin=other, stdout=other, stderr=other, start_new_session=True
        )
        os.close(other)
        self.shown = ""
        self._read_to = 0

    def wait_for(self, text: str) -> str:
        """What was shown since the last wait, up to this text."""
        until = time.monotonic() + 90
        while (found := self.shown.find(text, self._read_to)) < 0:
            assert select.select([self.hand], [], [], max(0, until - time.monotonic()))[0], f"no {text!r}: {self.shown}"
            try:
                self.shown += os.read(self.hand, 65536).decode(errors="replace")
            except OSError:  # the other side is closed
                raise AssertionError(f"it ended without {text!r}: {self.shown}") from None
        before, self._read_to = self.shown[self._read_to : found], found + len(text)
        return before

    def type(self, text: str) -> None:
        os.write(self.hand, text.encode() + b"\n")


def test_at_a_terminal_it_asks_shows_a_picture_and_checks_the_first_code(instance):
    one = instance().with_tables()
    terminal = Terminal([sys.executable, str(ROOT / "manage.py"), "flux_init"], one.environment)
    try:
        terminal.wait_for("Operating mode, caller_extracts or flux_extracts [caller_extracts]: ")
        terminal.type("")
        terminal.wait_for("user name")
        terminal.type("ada")
        terminal.wait_for("Password (at least 12 characters): ")
        terminal.type("short")  # refused at once, asked again
        terminal.wait_for("Password (at least 12 characters): ")
        terminal.type("quiet river stone lamp")
        terminal.wait_for("Repeat the password: ")
        terminal.type("quiet river stone lamb")
        terminal.wait_for("The two passwords differ.")
        terminal.wait_for("Password (at least 12 characters): ")
        terminal.type("quiet river stone lamp")
        terminal.wait_for("Repeat the password: ")
        terminal.type("quiet river stone lamp")
        terminal.wait_for("second factor now? [Y/n]: ")
        terminal.type("")
        picture = terminal.wait_for("or type the key: ")
        assert sum(picture.count(block) for block in "█▀▄") > 200
        key = base64.b32decode(terminal.wait_for("\r\n"))
        terminal.wait_for("First code: ")
        right = code_for(key)
        terminal.type("000000" if right != "000000" else "111111")
        terminal.wait_for("does not match")
        terminal.wait_for("First code: ")
        terminal.type(right)
        terminal.wait_for("the instance test in")
        assert terminal.process.wait(timeout=60) == 0
    finally:
        terminal.process.kill()
        os.close(terminal.hand)
    assert "quiet river" not in terminal.shown  # passwords are not echoed
    assert "OPERATING_MODE: caller_extracts" in (one.folder / "config.yaml").read_text()
    status = json.loads(one.command("flux_status", "--json").stdout)
    assert not any("no administrator" in warning for warning in status["warnings"])
