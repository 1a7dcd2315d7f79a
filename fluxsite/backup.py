"""A whole instance in one file: database, keys and configuration, each with its SHA-256.

The file holds the instance's secrets and memories in clear; it is readable by its owner alone.
Nothing is ever unpacked by the names inside: members are read by names we know and written to names
we choose. A restore is checked completely before it changes anything.
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import connection

from accounts.audit import checkpoints
from fluxcore import clock, files
from fluxcore.bundles import BundleWriter
from fluxcore.errors import Conflict, DiskFull, Invalid
from fluxcore.version import VERSION
from fluxsite import backup_database
from fluxsite.backup_reading import BUNDLE_FORMAT, FORMAT, MEMBER, opened
from fluxsite.backup_reading import verify as verify
from fluxsite.home import DataHome

ENDINGS = ("*.tar.zst", "*.zip")  # of backups in the data home; releases up to 0.6 made zip files


def create(home: DataHome, *, label: str = "backup", to: Path | None = None) -> Path:
    """Write a backup of the instance as it is at this moment, also while it runs."""
    moment = clock.now().strftime("%Y%m%d-%H%M%S-%f")
    target = to or home.backups / f"{home.name}-{label}-{moment}.tar.zst"
    if target.exists():
        raise Conflict(f"{target} exists already.")
    try:
        with files.replacing_file(target) as file, BundleWriter(file, staging=target.parent) as bundle:
            for name, source in _small_files(home):
                bundle.add(name, backup_database.file_chunks(source))
            backup_database.dump(home, bundle)
            bundle.finish(
                {
                    "bundle_format": BUNDLE_FORMAT,
                    "format": FORMAT,
                    "version": VERSION,
                    "instance": home.name,
                    "database": connection.vendor,
                    "created_at": clock.rfc3339(clock.now()),
                    "migrations": backup_database.migrations(),
                }
            )
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise DiskFull(f"The disk of {target} is full. No backup was made.") from None
        raise Invalid(f"{target} cannot be written: {error.strerror}.") from None
    return target


def _small_files(home: DataHome) -> Iterator[tuple[str, Path]]:
    if home.config.exists():
        yield "config.yaml", home.config
    if home.checkpoints.exists():
        yield "checkpoints.jsonl", home.checkpoints
    for key in sorted(home.keys.glob("*")) if home.keys.is_dir() else ():
        name = f"keys/{key.name}"
        # A key that is just being made has a dot in front, an editor's copy something behind.
        if key.is_file() and not key.name.startswith(".") and MEMBER.fullmatch(name):
            yield name, key


def restore(home: DataHome, path: Path) -> Path | None:
    """Put the instance back to a backup. What was there is set aside, not deleted; its place is returned."""
    from fluxsite.run.running_state import hold_instance

    with hold_instance(home):
        return _restore(home, path)


def _restore(home: DataHome, path: Path) -> Path | None:
    manifest = verify(path)
    _refuse_unfit(manifest)
    fresh = home.path.with_name(f".{home.name}.restoring")
    if home.checkpoints.exists():
        checkpoints.try_checkpoint(home)  # a last look at the chains that are about to go
    try:
        _unpack(path, manifest, DataHome(home.name, fresh))
        checkpoints.hand_over(home, DataHome(home.name, fresh))
        connection.close()
        return _change_places(home, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _refuse_unfit(manifest: dict[str, Any]) -> None:
    """A backup of another kind of database, or of a release whose tables differ."""
    if manifest["database"] != connection.vendor:
        raise Invalid(f"This backup holds a {manifest['database']} database; the instance uses {connection.vendor}.")
    unknown = sorted(set(manifest["migrations"]) - backup_database.known_migrations())
    if unknown:
        raise Conflict(
            f"This backup was made by a newer release ({manifest['version']}): it has {', '.join(unknown)}, which this "
            "code does not know. Restore it with that release."
        )
    if connection.vendor != "sqlite" and not backup_database.migrations():
        call_command("migrate", verbosity=0, interactive=False)  # an empty database gets this release's tables first
    if connection.vendor != "sqlite" and manifest["migrations"] != backup_database.migrations():
        # A SQLite backup brings its tables along; here the rows go into the tables that are there.
        raise Conflict(
            f"This backup was made by release {manifest['version']}, whose tables differ from those of this database. "
            "Restore it with that release, then upgrade."
        )


def _unpack(path: Path, manifest: dict[str, Any], new: DataHome) -> None:
    """The files into a new home beside the old one, the tables into the database. Checked once more on the way."""
    shutil.rmtree(new.path, ignore_errors=True)
    new.make()
    tables = [name.removeprefix("tables/") for name in manifest["members"] if name.startswith("tables/")]
    rows = backup_database.loading(tables) if connection.vendor != "sqlite" else nullcontext()
    with opened(path) as backup, rows as load:
        for name, chunks in backup.members():
            kind, _, own = name.rpartition("/")
            if kind != "tables":
                _write(new.keys / own if kind == "keys" else _FILES[own](new), chunks)
            elif load is not None:
                load(own, chunks)
        if backup.manifest != manifest or backup.problem():
            raise Invalid("It was changed while it was restored. Nothing was changed here.")


_FILES = {
    "config.yaml": lambda home: home.config,
    "checkpoints.jsonl": lambda home: home.checkpoints,
    "database.db": lambda home: home.database,
}


def _write(target: Path, chunks: Iterable[bytes]) -> None:
    with files.new_file(target) as file:
        for chunk in chunks:
            file.write(chunk)


def _change_places(home: DataHome, fresh: Path) -> Path | None:
    """The new home becomes the instance's; where the old one went."""
    moment = f"{clock.now():%Y%m%d-%H%M%S-%f}"
    aside = None
    if home.path.exists():
        for kept in ("backups", "integrations"):
            if (home.path / kept).is_dir():
                shutil.copytree(home.path / kept, fresh / kept, dirs_exist_ok=True)
        aside = home.path.with_name(f"{home.name}.before-restore-{moment}")
        home.path.rename(aside)
    fresh.rename(home.path)
    if connection.vendor == "sqlite":
        live = Path(str(connection.settings_dict["NAME"]))
        if live.absolute() != home.database.absolute():  # DATABASE_URL names a place outside the data home
            for suffix in ("", "-wal", "-shm", "-journal"):
                old = live.with_name(live.name + suffix)
                if old.exists():
                    old.rename(live.with_name(f"{live.name}.before-restore-{moment}{suffix}"))
            shutil.move(home.database, live)
    return aside
