"""`flux admin` at a terminal: password and code, then a menu over the same verbs as everywhere"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fluxsite.run import running_state
from tests.dashboard.conftest import PASSWORD, code_for
from tests.instances import ROOT, Instance

KEY = b"a key of twenty byte"
MAKE = f"""
from accounts import people
from accounts.principals import shell
people.create_administrator(shell(), username="ada", password={PASSWORD!r}, totp_key={KEY.hex()!r}, spent_step=-1)
"""


class Terminal:
    """A person at a terminal: reads what is printed and types when asked."""

    def __init__(self, instance: Instance, *words: str, **environment: str) -> None:
        self._own, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "flux_admin", *words],
            env={**instance.environment, **environment},
            cwd=ROOT,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.said = ""

    def answer(self, prompt: str, text: str) -> str:
        """Wait for a prompt, type an answer; what was printed up to there."""
        while prompt not in self.said:
            self.said += os.read(self._own, 4096).decode()
        before, _, self.said = self.said.partition(prompt)
        os.write(self._own, f"{text}\n".encode())
        return before

    def end(self) -> str:
        try:
            while True:
                self.said += os.read(self._own, 4096).decode()
        except OSError:  # the terminal's other side is closed
            self.process.wait()
            os.close(self._own)
        return self.said

    def sign_in(self, password: str = PASSWORD) -> None:
        self.answer("User name [ada]: ", "")
        self.answer("Password: ", password)


@pytest.fixture
def one(made: Callable[..., Instance]) -> Iterator[Instance]:
    instance = made()
    instance.command("shell", "-v", "0", "-c", MAKE)
    return instance


def test_a_person_searches_purges_and_reads_the_audit(one: Instance, tmp_path: Path) -> None:
    stored = json.loads(one.command("flux_store", "Anna keeps bees.", "--json").stdout)["grain_id"]
    terminal = Terminal(one)
    terminal.sign_in()
    terminal.answer("authenticator app: ", code_for(KEY))
    assert "Search memories" in terminal.answer("main> ", "1")
    terminal.answer("Search for: ", "bees")
    assert stored in terminal.answer("main> ", "4")
    terminal.answer("Id of the memory: ", stored)
    terminal.answer(".json]: ", str(tmp_path / "grain.json"))
    assert "Written to" in terminal.answer("main> ", "3")
    terminal.answer("Id of the memory: ", stored)
    assert "already active" in terminal.answer("main> ", "2")
    terminal.answer("Id of the memory: ", stored)
    terminal.answer("Why: ", "no longer wanted")
    terminal.answer("to continue: ", stored)
    assert "Purged." in terminal.answer("main> ", "1")
    terminal.answer("Search for: ", "bees")
    assert "No memories found." in terminal.answer("main> ", "5")
    assert "grains.purge" in terminal.answer("main> ", "9")
    assert "from 0 to 7" in terminal.answer("main> ", "0")
    terminal.end()
    assert terminal.process.returncode == 0
    assert json.loads((tmp_path / "grain.json").read_text())["content"] == "Anna keeps bees."
    assert (tmp_path / "grain.json").stat().st_mode & 0o777 == 0o600


def test_a_person_changes_their_password(one: Instance) -> None:
    new, prompt = "four other words entirely", "(at least 12 characters): "
    terminal = Terminal(one)
    terminal.sign_in()
    terminal.answer("authenticator app: ", code_for(KEY))
    terminal.answer("main> ", "6")
    terminal.answer(prompt, "short")
    assert "invalid: " in terminal.answer("main> ", "6")
    terminal.answer(prompt, new)
    terminal.answer("Repeat the password: ", f"{new}!")
    assert "differ. The password was not changed" in " ".join(terminal.answer("main> ", "6").split())
    terminal.answer(prompt, new)
    shown = terminal.answer("Repeat the password: ", new)
    assert new not in shown and "Password changed." in terminal.answer("main> ", "0")
    terminal.end()
    earlier = Terminal(one)
    earlier.sign_in(PASSWORD)
    assert earlier.process.wait(timeout=60) == 77
    assert "sign_in_refused" in earlier.end()
    again = Terminal(one)
    again.sign_in(new)
    again.answer("authenticator app: ", "")  # it is right: a code is asked for, and that of this half minute is spent
    again.end()


def test_a_person_opens_the_dashboard(one: Instance, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{opened}"\n')
    browser.chmod(0o700)
    terminal = Terminal(one, BROWSER=f"{browser} %s")
    terminal.sign_in()
    terminal.answer("authenticator app: ", code_for(KEY))
    terminal.answer("main> ", "7")
    assert "manage.py flux_start" in terminal.answer("main> ", "") and not opened.exists()
    urls = {"people": "http://127.0.0.1:7999"}
    state = {"pid": os.getpid(), "born": running_state.process_start_time(os.getpid()), "urls": urls}
    (one.folder / "run" / "running.json").write_text(json.dumps(state))
    terminal.answer("main> ", "7")
    assert "http://127.0.0.1:7999/" in terminal.answer("main> ", "0")
    terminal.end()
    assert opened.read_text() == "http://127.0.0.1:7999/\n"


def test_a_wrong_password_gets_no_menu(one: Instance) -> None:
    terminal = Terminal(one)
    terminal.sign_in("not the password at all")
    assert "sign_in_refused" in terminal.end()
    assert terminal.process.returncode == 77


def test_without_a_terminal_it_lists_people(one: Instance) -> None:
    assert json.loads(one.command("flux_admin", "--json").stdout)["people"][0]["username"] == "ada"
