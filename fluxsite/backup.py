"""Backup and restore of a whole instance in one file: database, blobs, keys and configuration, with their SHA-256.

The file contains the instance's secrets and memories unencrypted; only its owner can read it. Names inside a backup are
never used as paths: members are read by known names and written to paths of our own. A restore checks everything before
it changes anything.
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
from fluxcore import clock, config, files
from fluxcore.bundles import BundleWriter
from fluxcore.errors import Conflict, DiskFull, Invalid
from fluxcore.version import VERSION
from fluxsite import backup_blobs, backup_database
from fluxsite.backup_reading import BUNDLE_FORMAT, FORMAT, MEMBER, opened
from fluxsite.backup_reading import verify as verify
from fluxsite.home import DataHome

ENDINGS = ("*.tar.zst", "*.zip")  # file names of backups; releases up to 0.6 made zip files


def create(home: DataHome, *, label: str = "backup", to: Path | None = None) -> Path:
    """Write a backup of the instance; it may be running."""
    moment = clock.now().strftime("%Y%m%d-%H%M%S-%f")
    target = to or home.backups / f"{home.name}-{label}-{moment}.tar.zst"
    if target.exists():
        raise Conflict(f"{target} exists already. Choose another file, or delete it first.")
    try:
        with files.replacing_file(target) as file, BundleWriter(file, staging=target.parent) as bundle:
            for name, source in _small_files(home):
                bundle.add(name, backup_database.file_chunks(source))
            backup_database.dump(home, bundle)
            if not config.current().BLOBS_URL:  # another place has its own backup
                backup_blobs.dump(home.blobs, bundle)
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
        # Skips keys that are being written (their names begin with a dot) and copies of editors (other endings).
        if key.is_file() and not key.name.startswith(".") and MEMBER.fullmatch(name):
            yield name, key


def restore(home: DataHome, path: Path) -> Path | None:
    """Restore the instance from a backup. The old data home is renamed, not deleted; its new path is returned."""
    from fluxsite.run.running_state import hold_instance

    with hold_instance(home):
        return _restore(home, path)


def _restore(home: DataHome, path: Path) -> Path | None:
    manifest = verify(path)
    _refuse_incompatible(manifest)
    fresh = home.path.with_name(f".{home.name}.restoring")
    if home.checkpoints.exists():
        checkpoints.try_checkpoint(home)  # record the state of the audit chains that are replaced
    try:
        _unpack(path, manifest, DataHome(home.name, fresh))
        checkpoints.hand_over(home, DataHome(home.name, fresh))
        connection.close()
        return _swap_homes(home, fresh)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _refuse_incompatible(manifest: dict[str, Any]) -> None:
    """Refuse a backup of another kind of database, or of a release with other tables."""
    if manifest["database"] != connection.vendor:
        raise Invalid(
            f"This backup is of a {manifest['database']} database; the instance uses {connection.vendor}. Restore it "
            f"into an instance with {manifest['database']}."
        )
    unknown = sorted(set(manifest["migrations"]) - backup_database.known_migrations())
    if unknown:
        raise Conflict(
            f"This backup was made by a newer release ({manifest['version']}): it has {', '.join(unknown)}, which this "
            "release does not have. Restore it with that release."
        )
    if connection.vendor != "sqlite" and not backup_database.migrations():
        call_command("migrate", verbosity=0, interactive=False)  # create this release's tables in an empty database
    if connection.vendor != "sqlite" and manifest["migrations"] != backup_database.migrations():
        # A SQLite backup contains its tables; for PostgreSQL only rows are loaded, into existing tables.
        raise Conflict(
            f"This backup was made by release {manifest['version']}, whose tables differ from those of this database. "
            "Restore it with that release, then upgrade."
        )


def _unpack(path: Path, manifest: dict[str, Any], new: DataHome) -> None:
    """Write the files to a new data home beside the old one, and the rows to the database, and check them again."""
    shutil.rmtree(new.path, ignore_errors=True)
    new.make()
    tables = [name.removeprefix("tables/") for name in manifest["members"] if name.startswith("tables/")]
    rows = backup_database.loading(tables) if connection.vendor != "sqlite" else nullcontext()
    with opened(path) as backup, rows as load:
        for name, chunks in backup.members():
            kind, _, own = name.rpartition("/")
            if kind == "blobs":
                backup_blobs.unpack(chunks, new.blobs)
            elif kind != "tables":
                _write(new.keys / own if kind == "keys" else _FILES[own](new), chunks)
            elif load is not None:
                load(own, chunks)
        if backup.manifest != manifest or backup.problem():
            raise Invalid("The backup file was changed during the restore. The instance is unchanged; try again.")


_FILES = {
    "config.yaml": lambda home: home.config,
    "checkpoints.jsonl": lambda home: home.checkpoints,
    "database.db": lambda home: home.database,
}


def _write(target: Path, chunks: Iterable[bytes]) -> None:
    with files.new_file(target) as file:
        for chunk in chunks:
            file.write(chunk)


def _swap_homes(home: DataHome, fresh: Path) -> Path | None:
    """Replace the data home by the restored one; returns the path to which the old one was renamed."""
    moment = f"{clock.now():%Y%m%d-%H%M%S-%f}"
    old_home = None
    if home.path.exists():
        for subfolder in ("backups", "integrations"):
            if (home.path / subfolder).is_dir():
                shutil.copytree(home.path / subfolder, fresh / subfolder, dirs_exist_ok=True)
        old_home = home.path.with_name(f"{home.name}.before-restore-{moment}")
        home.path.rename(old_home)
    fresh.rename(home.path)
    if connection.vendor == "sqlite":
        live = Path(str(connection.settings_dict["NAME"]))
        if live.absolute() != home.database.absolute():  # DATABASE_URL names a file outside the data home
            for suffix in ("", "-wal", "-shm", "-journal"):
                old = live.with_name(live.name + suffix)
                if old.exists():
                    old.rename(live.with_name(f"{live.name}.before-restore-{moment}{suffix}"))
            shutil.move(home.database, live)
    return old_home
