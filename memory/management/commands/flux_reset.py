"""flux_reset: delete everything in an instance, after a backup and a confirmation."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandParser
from django.db import connection

from accounts import audit
from accounts.audit import checkpoints
from accounts.instance_verbs import note_reset
from accounts.principals import shell
from fluxsite import backup, setup
from fluxsite.home import DataHome
from fluxsite.run import running_state
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Delete everything in an instance. A backup is made first."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--confirm", metavar="NAME", help="name of the instance, to skip the question")
        parser.add_argument("--no-backup", action="store_true", help="make no backup: nothing can be restored")

    def run(self, options: dict[str, Any]) -> None:
        home = settings.HOME
        self.confirm(options["confirm"], home.name, what=f"This deletes everything in the instance {home.name!r}.")
        with running_state.hold_instance(home):
            self._reset(home, options)

    def _reset(self, home: DataHome, options: dict[str, Any]) -> None:
        heads = {chain: audit.verify(chain).head for chain in audit.chains()}
        saved = None if options["no_backup"] else backup.create(home, label="before-reset")
        checkpoints.start_over(home, "reset")
        if connection.vendor == "sqlite":
            connection.close()
            live = Path(str(connection.settings_dict["NAME"]))  # DATABASE_URL may place it outside the home
            for suffix in ("", "-wal", "-shm", "-journal"):
                live.with_name(live.name + suffix).unlink(missing_ok=True)
        else:
            call_command("flush", verbosity=0, interactive=False)
        shutil.rmtree(home.queue, ignore_errors=True)
        shutil.rmtree(home.arenas, ignore_errors=True)  # they contain vectors and terms of the deleted grains
        home.make()
        setup.bring_up_to_date(home)
        note_reset(shell(), heads=heads, reason="flux_reset")
        checkpoints.try_checkpoint(home)
        self.answer(
            {"reset": True, "backup": str(saved) if saved else None},
            says=f"The instance {home.name} is empty." + (f" Backup: {saved}" if saved else ""),
        )
