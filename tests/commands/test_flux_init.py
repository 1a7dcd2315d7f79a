"""flux_init"""

from __future__ import annotations

import base64
import json
import stat
import time

from django_otp.oath import TOTP


def _mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_it_makes_a_private_home_with_a_key_of_its_own(instance):
    one = instance("one")
    made = json.loads(one.command("flux_init", "--no-input", "--json").stdout)
    assert (made["new"], made["mode"]) == (True, "caller_extracts")
    assert _mode(one.folder) == 0o700
    assert _mode(one.folder / "keys" / "secret_key") == 0o600
    assert _mode(one.folder / "flux.db") == 0o600
    assert _mode(one.folder / "config.yaml") == 0o600
    assert "OPERATING_MODE: caller_extracts" in (one.folder / "config.yaml").read_text()
    again = json.loads(one.command("flux_init", "--no-input", "--json").stdout)
    assert (again["new"], again["migrations_applied"]) == (False, 0)
    two = instance("two")
    two.command("flux_init", "--no-input")
    assert (one.folder / "keys" / "secret_key").read_text() != (two.folder / "keys" / "secret_key").read_text()


def test_every_question_has_a_flag(instance, tmp_path):
    one = instance()
    key = b"0123456789abcdefghij"
    (tmp_path / "password").write_text("quiet river stone lamp\n")
    (tmp_path / "key").write_text(base64.b32encode(key).decode())
    token_file = tmp_path / "token"
    made = json.loads(
        one.command(
            "flux_init", "--no-input", "--json", "--mode", "flux_extracts", "--admin", "ada",
            "--password-file", str(tmp_path / "password"), "--totp-key-file", str(tmp_path / "key"),
            "--totp-code", _code(key), "--token-file", str(token_file),
        ).stdout
    )  # fmt: skip
    assert made["mode"] == "flux_extracts"
    assert made["administrator"] == {"username": "ada", "second_factor": True}
    assert token_file.read_text().startswith("flux_")
    assert _mode(token_file) == 0o600


def test_a_wrong_first_code_makes_no_administrator(instance, tmp_path):
    one = instance()
    (tmp_path / "password").write_text("quiet river stone lamp")
    (tmp_path / "key").write_text(base64.b32encode(b"0123456789abcdefghij").decode())
    refused = one.command(
        "flux_init", "--no-input", "--json", "--admin", "ada", "--password-file", str(tmp_path / "password"),
        "--totp-key-file", str(tmp_path / "key"), "--totp-code", "000000", check=False,
    )  # fmt: skip
    assert refused.returncode == 65
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "totp_code"
    status = json.loads(one.command("flux_status", "--json").stdout)
    assert any("no administrator" in warning for warning in status["warnings"])


def test_a_weak_password_is_refused(instance, tmp_path):
    (tmp_path / "password").write_text("short")
    given = ("--admin", "ada", "--password-file", str(tmp_path / "password"))
    refused = instance().command("flux_init", "--no-input", "--json", *given, check=False)
    assert json.loads(refused.stdout)["error"]["details"]["field"] == "password"


def test_a_broken_configuration_is_named_with_its_line(instance):
    one = instance()
    one.command("flux_init", "--no-input")
    (one.folder / "config.yaml").write_text("TOP_K: 5\nREST_PROT: 1\n")
    refused = one.command("flux_status", check=False)
    assert refused.returncode == 78
    assert "line 2: unknown key 'REST_PROT'. Did you mean REST_PORT?" in refused.stderr


def _code(key: bytes) -> str:
    if time.time() % 30 > 27:
        time.sleep(3.5)  # the step is about to end; the command needs a moment
    return f"{TOTP(key).token():06d}"
