"""flux_start: set up an instance if it is new, upgrade it if it is old, and run its servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, run_checks
from django.core.checks.registry import registry
from django.core.management.base import CommandParser
from django.db import connections
from rich.text import Text

from accounts.models import Agent
from accounts.principals import shell
from accounts.signin import links
from fluxcore import config, files
from fluxcore.command_names import runnable_command, typed_command
from fluxcore.errors import Conflict, Invalid, NotStarted, StorageUnavailable
from fluxsite import setup
from fluxsite.run import running_state
from fluxsite.run.supervisor import ListenAddress, Supervisor, reserve
from fluxsite.startup import rerun_command
from memory.api import loopback
from memory.artifacts import upkeep
from memory.embedding import active_encoder
from memory.keyvalue import ephemeral
from memory.management.base import FluxCommand
from memory.management.welcome import lan_addresses, lan_names, welcome


class Command(FluxCommand):
    help = "Start an instance."
    needs_instance = False
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--broadcast", action="store_true", help="make the dashboard reachable from the local network"
        )
        parser.add_argument("--processes", type=int, default=1, help="number of REST processes (default 1)")
        parser.add_argument(
            "--detach", action="store_true", help="run in the background; return when the servers answer"
        )
        parser.add_argument(
            "--ready-file", type=Path, help="write ports and process ids to this file as JSON when ready"
        )
        parser.add_argument(
            "--rest-port", type=port_number, help="port of the REST server instead of REST_PORT; 0 picks a free one"
        )
        parser.add_argument(
            "--dashboard-port",
            "--people-port",
            dest="people_port",
            type=port_number,
            help="port of the dashboard instead of DASHBOARD_PORT; 0 picks a free one",
        )
        parser.add_argument(
            "--mcp-port", type=port_number, help="port of the MCP server instead of MCP_PORT; 0 picks a free one"
        )
        parser.add_argument("--quiet", action="store_true", help="print only problems")
        parser.add_argument("--once", action="store_true", help="test a temporary instance end to end, then exit")

    def run(self, options: dict[str, Any]) -> None:
        os.umask(0o077)
        if options["once"]:
            from memory.management.self_test import run_self_test

            run_self_test(self)
            return
        self.refuse_bad_configuration()
        ready = options["ready_file"]
        if ready is not None and not os.access(ready.absolute().parent, os.W_OK):
            raise Invalid(
                f"The ready file {ready} cannot be written. Check its folder and permissions.", field="ready_file"
            )
        found = running_state.read_state(settings.HOME)
        if found is not None:
            self._already_running(found)
        if options["detach"]:
            # The child process prints these too, into its log.
            self._show_warnings(run_checks(tags=["configuration"]))
            self._detach(options)
            return
        with running_state.hold_instance(settings.HOME):
            self._serve(options)

    def _already_running(self, found: dict[str, Any]) -> None:
        urls = found["urls"]
        says = (
            f"Already running at {urls['people']} (pid {found['pid']}), REST at {urls['rest']}, MCP at {urls['mcp']}. "
            f"Stop it with `{typed_command('flux_stop')}`."
        )
        if self.as_json:
            raise Conflict(says, pid=found["pid"], urls=urls)
        self.notes.print(says)
        sys.exit(Conflict.exit_status)

    def _serve(self, options: dict[str, Any]) -> None:
        supervisor = self._supervisor(options)
        with self._showing("Preparing the database ...", options):
            upgrade = setup.bring_up_to_date(settings.HOME)
            ephemeral.clear_ephemeral()
            upkeep.delete_ephemeral()
            self._refuse_unsound()
        self.say_upgrade(upgrade.backup)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, supervisor.request_stop)
        if options["broadcast"]:
            names = [*settings.ALLOWED_HOSTS, *lan_addresses(), *lan_names()]
            os.environ["FLUX_ALLOWED_HOSTS"] = ",".join(dict.fromkeys(names))
            os.environ.pop("FLUX_ALLOWED_HOSTS_FILE", None)
        try:
            with self._showing("Starting the dashboard, REST and MCP servers ...", options):
                supervisor.start()
                supervisor.wait_until_ready()
            if not supervisor.stop_requested:
                self._open(supervisor, options, upgrade)
            dead = supervisor.watch()
            if dead is None:
                self._say(options, "Stopping after running requests have finished ...")
        finally:
            supervisor.stop()
            running_state.delete_state(settings.HOME)
        if dead is not None:
            raise StorageUnavailable(
                f"The {dead} process ended unexpectedly, so the instance was stopped. See {settings.HOME.log}."
            )
        self._say(options, "Stopped.")

    @contextmanager
    def _showing(self, text: str, options: dict[str, Any]) -> Iterator[None]:
        """Show a step while it runs: with a spinner on a terminal, as a line elsewhere."""
        if self.as_json or options["quiet"]:
            yield
        elif self.notes.is_terminal:
            with self.notes.status(text):
                yield
        else:
            self.notes.print(text)
            yield

    def _say(self, options: dict[str, Any], text: str) -> None:
        if not self.as_json and not options["quiet"]:
            self.console.print(text)
            self.stdout.flush()

    def _open(self, supervisor: Supervisor, options: dict[str, Any], upgrade: setup.Upgrade) -> None:
        """Print addresses, token and enrolment link. Token and link are created only when they are printed."""
        state = supervisor.state()
        running_state.write_state(
            settings.HOME, {**state, "durability": settings.DURABILITY, "bound": config.bound(settings.FLUX)}
        )
        token = setup.mint_first_token()
        agent = setup.find_example_agent()
        link = None if setup.has_administrator() else links.issue_enrolment(shell())["secret"]
        for warning in loopback.loopback_warnings():
            self.notes.print(Text(f"! {warning}", "yellow"))
        connections.close_all()
        shown = {
            **state,
            "token": token,
            "mint": _mint(agent) if agent else None,
            "encoder": active_encoder.state().problem,
            "enrolment": f"{state['urls']['people']}/enrol/{link}" if link else None,
            "backup": str(upgrade.backup) if upgrade.backup else None,
        }
        self._welcome(shown, options)
        if options["ready_file"]:
            files.replace_file(options["ready_file"], json.dumps(shown))

    def _welcome(self, shown: dict[str, Any], options: dict[str, Any]) -> None:
        if self.as_json:
            self.stdout.write(json.dumps({"ready": True, **shown}))
            self.stdout.flush()
        elif not options["quiet"]:
            welcome(self.console, shown, broadcast=options["broadcast"])
            self.stdout.flush()

    def _refuse_unsound(self) -> None:
        """Run the system checks, including those of the database, before a server starts.

        Not those of the pages, which are about our code alone and would load the whole dashboard: tests run them.
        """
        tags = sorted(registry.tags_available() - {Tags.admin, Tags.urls})
        found = [message for message in run_checks(tags=tags, databases=["default"]) if not message.is_silenced()]
        self._show_warnings(found)
        if any(message.is_serious() for message in found):
            raise Conflict("The instance was not started: the system checks above failed.")
        connections.close_all()

    def _show_warnings(self, found: Iterable[CheckMessage]) -> None:
        for message in found:
            self.notes.print(Text(f"{message.id}: {message.msg} {message.hint or ''}", "yellow"))

    def _supervisor(self, options: dict[str, Any]) -> Supervisor:
        wanted = settings.FLUX
        everywhere = "0.0.0.0"  # noqa: S104  --broadcast asks for exactly this, for the people's door alone

        def port(option: str, default: int) -> int:
            return default if options[option] is None else int(options[option])

        people_host = everywhere if options["broadcast"] else wanted.DASHBOARD_HOST
        return Supervisor(
            home=settings.HOME,
            people=reserve(
                ListenAddress("dashboard", people_host, port("people_port", wanted.DASHBOARD_PORT), "DASHBOARD_PORT")
            ),
            mcp=reserve(ListenAddress("MCP server", wanted.MCP_HOST, port("mcp_port", wanted.MCP_PORT), "MCP_PORT")),
            rest=reserve(
                ListenAddress("REST server", wanted.REST_HOST, port("rest_port", wanted.REST_PORT), "REST_PORT")
            ),
            processes=max(1, options["processes"]),
        )

    def _detach(self, options: dict[str, Any]) -> None:
        """Start the same command as a separate process and wait for its ready file."""
        with tempfile.TemporaryDirectory() as folder:
            ready = Path(folder) / "ready.json"
            arguments = [argument for argument in sys.argv[1:] if argument not in ("--detach", "--json")]
            with (settings.HOME.path / "start.log").open("wb") as output:
                child = subprocess.Popen(
                    [*rerun_command(), *arguments, "--quiet", "--ready-file", str(ready)],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            with self._showing("Starting the servers in the background ...", options):
                while not ready.exists():
                    if child.poll() is not None:
                        lines = (settings.HOME.path / "start.log").read_text(errors="replace").strip()
                        raise NotStarted(lines.splitlines()[-1] if lines else "The instance did not start.")
                    time.sleep(0.05)
            state = json.loads(ready.read_text())
        self.say_upgrade(state["backup"])
        if options["ready_file"]:
            files.replace_file(options["ready_file"], json.dumps(state))
        self._welcome(state, options)


def _mint(agent: Agent) -> str:
    """Command that mints a token of an agent, as the user types it."""
    space = "" if agent.space.name == setup.FIRST_SPACE else f" --space {agent.space.name}"
    return runnable_command(f"flux_token mint {agent.name}{space}")


def port_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise ArgumentTypeError(f"{text!r} is not a port: use 0 to 65535")
    return int(text)
