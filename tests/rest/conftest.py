"""Fixtures of the REST tests: clients, changed configuration, and a running instance for tests over raw sockets."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator

import pytest

from tests.concurrency.databases import database_with_tables
from tests.instances import Instance

_MAKE_AGENTS = """
import json
from accounts import agents, tokens
from accounts.models import Space
from accounts.principals import shell
wanted = json.loads({wanted!r})
made = {{}}
for space, name, capabilities in wanted:
    if not Space.objects.filter(name=space).exists():
        agents.create_space(shell(), name=space)
    agents.apply_agent(shell(), space=space, name=name, capabilities=capabilities)
    made[space + "/" + name] = tokens.mint(shell(), space=space, agent=name, ceiling="user_stated")["token"]
print("made" + json.dumps(made))
"""


class RestInstance(Instance):
    """A running instance, with requests sent as raw bytes."""

    def make_agents(self, *wanted: tuple[str, str, list[str]]) -> dict[str, str]:
        """Agents as (space, name, capabilities); their tokens by `space/name`."""
        said = self.command("shell", "--verbosity", "0", "-c", _MAKE_AGENTS.format(wanted=json.dumps(wanted))).stdout
        return dict(json.loads(said.partition("made")[2]))

    def send(self, data: bytes, *, hang_up: bool = False, seconds: float = 15) -> bytes:
        """Everything the server sends in answer to these bytes, until it closes the connection."""
        with socket.create_connection(("127.0.0.1", self.state["ports"]["rest"]), timeout=seconds) as line:
            try:
                line.sendall(data)
                if hang_up:
                    line.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has answered and closed before it took everything
            said = b""
            try:
                while chunk := line.recv(65536):
                    said += chunk
            except ConnectionResetError:
                pass
            return said

    def logged(self) -> str:
        """The instance's log files."""
        return (self.folder / "flux.log").read_text(errors="replace") + self.output.read_text(errors="replace")


@pytest.fixture(scope="session")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestInstance]:
    """One instance for all tests over raw sockets, without rate limits and with its own agents."""
    environment = {}
    if "FLUX_TESTS_POSTGRES" in os.environ:  # the pass on PostgreSQL speaks to a door on PostgreSQL
        environment["DATABASE_URL"] = database_with_tables(os.environ["FLUX_TESTS_POSTGRES"])
    one = RestInstance(tmp_path_factory.mktemp("door"), "wire", **environment)
    try:
        one.with_tables().start()
        file = one.folder / "config.yaml"
        text, changed = re.subn(
            r"(?m)^#?\s*MAX_GRAINS_PER_MINUTE:.*$", "MAX_GRAINS_PER_MINUTE: 1000000", file.read_text()
        )
        assert changed == 1
        file.write_text(text)
        yield one
    finally:
        if one.process is not None and one.process.poll() is None:
            one.kill()
