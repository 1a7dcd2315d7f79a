"""flux_backup: back up a whole instance into one file, verify a backup, restore one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.audit import checkpoints
from accounts.instance_verbs import note_restore
from accounts.principals import shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxsite import backup, setup
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = (
        "Back up or restore a whole instance. A backup contains the instance's secrets: protect it like the data home."
    )
    needs_instance = False
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="create", choices=["create", "list", "verify", "restore"])
        parser.add_argument("file", nargs="?", type=Path, help="the backup to verify, restore or create")
        parser.add_argument("--confirm", metavar="NAME", help="restore: name of the instance, to skip the question")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] in ("verify", "restore") and options["file"] is None:
            raise Invalid(
                f"The backup file is missing: {typed_command('flux_backup ' + options['action'] + ' FILE')}.",
                field="file",
            )
        getattr(self, options["action"])(options["file"], options)

    def create(self, file: Path | None, options: dict[str, Any]) -> None:
        if not settings.HOME.initialised:
            raise Invalid(f"There is no instance {settings.HOME.name!r} to back up.")
        with self.notes.status("Backing up ..."):
            created = backup.create(settings.HOME, to=file.absolute() if file else None)
        self.answer({"file": str(created), "bytes": created.stat().st_size}, says=f"Backed up to {created}")

    def list(self, file: Path | None, options: dict[str, Any]) -> None:
        found = sorted(path for ending in backup.ENDINGS for path in settings.HOME.backups.glob(ending))
        if self.as_json:
            self.answer({"backups": [{"file": str(path), "bytes": path.stat().st_size} for path in found]})
            return
        self.table(("file", "size"), [(path, f"{path.stat().st_size:,}") for path in found], empty="No backups yet.")

    def verify(self, file: Path, options: dict[str, Any]) -> None:
        manifest = backup.verify(file)
        self.answer(
            {"sound": True, **manifest},
            says=f"[green]Intact[/]: {manifest['instance']} of {manifest['created_at']}, {manifest['database']}, "
            f"release {manifest['version']}",
        )

    def restore(self, file: Path, options: dict[str, Any]) -> None:
        name = settings.HOME.name
        self.confirm(
            options["confirm"], name, what=f"This replaces everything in the instance {name!r} with {file.name}."
        )
        with self.notes.status("Checking and restoring ..."):
            manifest = backup.verify(file)
            earlier_data = backup.restore(settings.HOME, file.absolute())
            setup.bring_up_to_date(settings.HOME)
            note_restore(shell(), backup=file.name, created_at=manifest["created_at"], reason="flux_backup restore")
            checkpoints.try_checkpoint(settings.HOME)
        self.answer(
            {"restored": True, "set_aside": str(earlier_data) if earlier_data else None},
            says=f"Restored {name}." + (f" The earlier data is in {earlier_data}" if earlier_data else ""),
        )
