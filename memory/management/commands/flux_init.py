"""flux_init: create an instance with data home, keys, configuration, database and, if wanted, an administrator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts import people
from accounts.principals import shell
from fluxcore import files
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Invalid
from fluxsite import setup
from fluxsite.home import make_home
from fluxsite.run import running_state
from mcp_bridge.clients import snippets
from memory.management import person_prompts
from memory.management.base import FluxCommand

MODES = ("caller_extracts", "flux_extracts")


class Command(FluxCommand):
    help = "Create an instance. Every question has an option; --no-input asks no questions."
    needs_instance = False
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--mode",
            choices=MODES,
            help="who extracts facts from texts: the calling agent or a local model (default caller_extracts)",
        )
        parser.add_argument("--admin", help="create an administrator with this user name")
        parser.add_argument("--password-file", type=Path, help="file with the administrator's password")
        parser.add_argument("--totp", action="store_true", default=None, help="set up a second factor now")
        parser.add_argument("--no-totp", action="store_false", dest="totp", help="set up the second factor later")
        parser.add_argument("--totp-key-file", type=Path, help="file with the base32 key of the second factor")
        parser.add_argument("--totp-code", help="the first code, to check the key")
        parser.add_argument("--token-file", type=Path, help="create the first agent and write its token to this file")
        parser.add_argument(
            "--no-input", action="store_true", help="ask no questions; use defaults for options that are not given"
        )

    def run(self, options: dict[str, Any]) -> None:
        self.refuse_bad_configuration()
        self.asks = sys.stdin.isatty() and not options["no_input"]
        if options["token_file"] and not options["token_file"].absolute().parent.is_dir():
            raise Invalid(f"The folder of {options['token_file']} does not exist. Create it first.", field="token_file")
        home = settings.HOME
        new = not home.initialised
        mode = options["mode"] or (self._ask_mode() if new and self.asks else settings.FLUX.OPERATING_MODE)
        if not new and mode != settings.FLUX.OPERATING_MODE:
            raise Conflict(
                f"The instance exists already, so --mode has no effect. Change OPERATING_MODE in {home.config} instead."
            )
        with running_state.wait_and_hold_instance(home):
            make_home(home, mode=mode)
            upgrade = setup.bring_up_to_date(home)
        self.say_upgrade(upgrade.backup)
        setup.create_first_agent()
        ceiling = "user_stated"
        way = snippets.connection_method(home, space=setup.FIRST_SPACE, agent=setup.FIRST_AGENT, ceiling=ceiling)
        snippets.write_snippets(home.integrations, way, ceiling)
        administrator = self._administrator(options)
        token = setup.mint_first_token() if options["token_file"] else None
        if token is not None:
            files.replace_file(options["token_file"], token + "\n")
        self.answer(
            {
                "name": home.name,
                "home": str(home.path),
                "new": new,
                "mode": mode,
                "administrator": administrator,
                "migrations_applied": len(upgrade.applied),
                "token_written": bool(token),
                "backup": str(upgrade.backup) if upgrade.backup else None,
            },
            says=f"[bold green]{'Created' if new else 'Checked'}[/] the instance {home.name} in {home.path}.\n"
            f"Next: {typed_command('flux_start')}\nConnect an agent: "
            f"{typed_command('flux_mcp_config --install CLIENT')}",
        )

    def _ask_mode(self) -> str:
        answer = input(f"Operating mode, {' or '.join(MODES)} [caller_extracts]: ").strip() or "caller_extracts"
        if answer not in MODES:
            raise Invalid(f"Unknown operating mode. Allowed: {', '.join(MODES)}.", field="mode")
        return answer

    def _administrator(self, options: dict[str, Any]) -> dict[str, Any] | None:
        username = options["admin"]
        if username is None and self.asks and not setup.has_administrator():
            username = input(
                f"Administrator's user name (empty: enrol later with the link that {typed_command('flux_start')} "
                "prints): "
            ).strip()
        if not username:
            return None
        people.check_username(username)
        password = person_prompts.ask_password(self, username, options["password_file"], asks=self.asks)
        wants = options["totp"]
        if wants is None:
            wants = options["totp_key_file"] is not None or (
                self.asks and input("Set up a second factor now? [Y/n]: ").strip().lower() in ("", "y", "yes")
            )
        key, step = None, -1
        if wants:
            key, step = person_prompts.ask_second_factor(
                self, username, options["totp_key_file"], options["totp_code"], asks=self.asks
            )
        administrator = people.create_administrator(
            shell(),
            username=username,
            password=password,
            totp_key=key.hex() if key else None,
            spent_step=step,
            reason="flux_init",
        )
        return dict(administrator)
