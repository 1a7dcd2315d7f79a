"""A whole instance in one file: database, keys and configuration, each with its SHA-256.

The file holds the instance's secrets and memories in clear; it is readable by its owner alone.
Nothing is ever unpacked by the names inside: members are read by names we know and written to names
we choose. A restore is checked completely before it changes anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from accounts.audit import checkpoints
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid
from fluxcore.models import Event
from fluxcore.version import VERSION
from fluxsite.home import DataHome

FORMAT = 1
MAX_MANIFEST = 1 << 20
_MEMBER = re.compile(r"config\.yaml|checkpoints\.jsonl|database\.db|(?:keys|tables)/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
_CHUNK = 1 << 20


def create(home: DataHome, *, label: str = "backup", to: Path | None = None) -> Path:
    """Write a backup of the instance as it is at this moment, also while it runs."""
    moment = clock.now().strftime("%Y%m%d-%H%M%S-%f")
    target = to or home.backups / f"{home.name}-{label}-{moment}.zip"
    if target.exists():
        raise Conflict(f"{target} already exists. Choose another file.")
    temporary = target.with_name(f".{target.name}.part")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise Invalid(f"{target} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
                digests: dict[str, str] = {}
                for name, source in _small_files(home):
                    digests[name] = _add(bundle, name, source)
                _dump_database(home, bundle, digests)
                manifest = {
                    "format": FORMAT,
                    "version": VERSION,
                    "instance": home.name,
                    "database": connection.vendor,
                    "created_at": clock.rfc3339(clock.now()),
                    "migrations": _migrations(),
                    "members": digests,
                }
                bundle.writestr("manifest.json", json.dumps(manifest, indent=1))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)  # half a backup never has the final name
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _small_files(home: DataHome) -> Iterator[tuple[str, Path]]:
    if home.config.exists():
        yield "config.yaml", home.config
    if home.checkpoints.exists():
        yield "checkpoints.jsonl", home.checkpoints
    for key in sorted(home.keys.glob("*")) if home.keys.is_dir() else ():
        name = f"keys/{key.name}"
        # A key that is just being made has a dot in front, an editor's copy something behind.
        if key.is_file() and not key.name.startswith(".") and _MEMBER.fullmatch(name):
            yield name, key


def _add(bundle: zipfile.ZipFile, name: str, source: Path) -> str:
    with source.open("rb") as file:
        return _copy(file, bundle, name)


def _copy(file: Any, bundle: zipfile.ZipFile, name: str) -> str:
    seen = hashlib.sha256()
    with bundle.open(name, "w", force_zip64=True) as member:
        while chunk := file.read(_CHUNK):
            seen.update(chunk)
            member.write(chunk)
    return seen.hexdigest()


def _tables() -> list[str]:
    names = [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    return sorted({*names, "django_migrations"})


def _dump_database(home: DataHome, bundle: zipfile.ZipFile, digests: dict[str, str]) -> None:
    if connection.vendor == "sqlite":
        import sqlite3

        copy = home.run / f"backup-{os.getpid()}.db"
        home.run.mkdir(parents=True, exist_ok=True)
        try:
            connection.ensure_connection()
            with closing(sqlite3.connect(copy)) as target:
                connection.connection.backup(target)
                target.execute("PRAGMA journal_mode=DELETE")
            digests["database.db"] = _add(bundle, "database.db", copy)
        finally:
            copy.unlink(missing_ok=True)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in _existing(cursor):
            seen = hashlib.sha256()
            with (
                cursor.cursor.copy(f"COPY {connection.ops.quote_name(table)} TO STDOUT") as rows,
                bundle.open(f"tables/{table}", "w", force_zip64=True) as member,
            ):
                for chunk in rows:
                    seen.update(chunk)
                    member.write(chunk)
            digests[f"tables/{table}"] = seen.hexdigest()


def _migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _known_migrations() -> set[str]:
    return {f"{app}.{name}" for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations or ()}


def _existing(cursor: Any) -> list[str]:
    present = set(connection.introspection.table_names(cursor))
    return [table for table in _tables() if table in present]


# What zipfile and json raise on damaged or foreign files; the last two for encrypted and exotic members.
_UNREADABLE = (
    OSError,
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    EOFError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
)


def _checked(manifest: Any, name: str) -> dict[str, Any]:
    """A manifest that says everything a restore relies on."""
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise Invalid(f"{name}: not a backup of a format this release knows.")
    members, vendor = manifest.get("members"), manifest.get("database")
    texts = [manifest.get(key) for key in ("version", "instance", "created_at")]
    migrations = manifest.get("migrations")
    if (
        not isinstance(members, dict)
        or not isinstance(migrations, list)
        or not all(isinstance(text, str) for text in (*texts, *migrations, *members.values()))
    ):
        raise Invalid(f"{name}: its manifest is not complete.")
    strange = [member for member in members if not _MEMBER.fullmatch(member)]
    if strange:
        raise Invalid(f"{name}: it contains {strange[0][:80]!r}, which does not belong to an instance.")
    wanted = {"sqlite": "database.db", "postgresql": "tables/django_migrations"}.get(str(vendor))
    if wanted not in members:
        raise Invalid(f"{name}: it contains no database.")
    return manifest


def verify(path: Path) -> dict[str, Any]:
    """The manifest of a sound backup; a clear refusal of anything else."""
    try:
        with zipfile.ZipFile(path) as bundle:
            with bundle.open("manifest.json") as file:
                raw = file.read(MAX_MANIFEST + 1)  # enforced while reading: a header can lie about its size
            manifest = _checked(json.loads(raw) if len(raw) <= MAX_MANIFEST else None, path.name)
            found = [info.filename for info in bundle.infolist() if info.filename != "manifest.json"]
            if sorted(found) != sorted(manifest["members"]):
                raise Invalid(f"{path.name}: its files differ from its manifest.")
            for name, expected in manifest["members"].items():
                with bundle.open(name) as member:
                    if _digest(member) != expected:
                        raise Invalid(f"{path.name}: {name} is damaged.")
    except _UNREADABLE as error:
        raise Invalid(f"{path} is not a readable backup ({type(error).__name__}).") from None
    return manifest


def _digest(file: IO[bytes]) -> str:
    seen = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        seen.update(chunk)
    return seen.hexdigest()


def restore(home: DataHome, path: Path) -> Path | None:
    """Put the instance back to a backup. What was there is set aside, not deleted; its place is returned."""
    from fluxsite.run.running_state import hold_instance

    with hold_instance(home):
        return _restore(home, path)


def _restore(home: DataHome, path: Path) -> Path | None:
    manifest = verify(path)
    if manifest["database"] != connection.vendor:
        raise Invalid(f"This backup contains a {manifest['database']} database; the instance uses {connection.vendor}.")
    unknown = sorted(set(manifest["migrations"]) - _known_migrations())
    if unknown:
        raise Conflict(
            f"This backup was made by a newer release ({manifest['version']}): it has {', '.join(unknown)}, which this "
            "code does not know. Restore it with that release."
        )
    if connection.vendor != "sqlite" and not _migrations():
        call_command("migrate", verbosity=0, interactive=False)  # an empty database gets this release's tables first
    if connection.vendor != "sqlite" and manifest["migrations"] != _migrations():
        # A SQLite backup brings its tables along; here the rows go into the tables that are there.
        raise Conflict(
            f"This backup was made by release {manifest['version']}, whose tables differ from those of this database. "
            "Restore it with that release, then upgrade."
        )
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


def _unpack(path: Path, manifest: dict[str, Any], new: DataHome) -> None:
    """The files into a new home beside the old one, the tables into the database."""
    shutil.rmtree(new.path, ignore_errors=True)
    new.make()
    with zipfile.ZipFile(path) as bundle:
        for name in manifest["members"]:
            if name == "config.yaml":
                _take(bundle, name, new.config)
            elif name == "checkpoints.jsonl":
                _take(bundle, name, new.checkpoints)
            elif name.startswith("keys/"):
                _take(bundle, name, new.keys / Path(name).name)
            elif name == "database.db":
                _take(bundle, name, new.database)
        if connection.vendor != "sqlite":
            _load_tables(bundle, [name for name in manifest["members"] if name.startswith("tables/")])


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


def _take(bundle: zipfile.ZipFile, name: str, target: Path) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with bundle.open(name) as member, os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(member, file, _CHUNK)
        file.flush()
        os.fsync(file.fileno())


def _load_tables(bundle: zipfile.ZipFile, members: list[str]) -> None:
    """All tables in one transaction: the database is the old one or the restored one, never between."""
    known = set(_tables())
    tables = [name.removeprefix("tables/") for name in members]
    if not set(tables) <= known:
        raise Invalid("The backup contains tables that this release does not know.")
    with transaction.atomic(), connection.cursor() as cursor:
        quoted = ", ".join(connection.ops.quote_name(table) for table in tables)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(f"TRUNCATE {quoted} RESTART IDENTITY CASCADE")
        # Django makes its foreign keys deferrable, so the order of the tables does not matter.
        for table in sorted(tables):
            with (
                bundle.open(f"tables/{table}") as member,
                cursor.cursor.copy(f"COPY {connection.ops.quote_name(table)} FROM STDIN") as rows,
            ):
                while chunk := member.read(_CHUNK):
                    rows.write(chunk)
        counted: list[type[Model]] = [*apps.get_models(include_auto_created=True), MigrationRecorder.Migration]
        for statement in connection.ops.sequence_reset_sql(no_style(), counted):
            cursor.execute(statement)
        # Transaction numbers mean nothing in another server: at 0 the old events keep their order, lie below
        # every watermark and come before whatever is written from here on.
        cursor.execute(f"UPDATE {Event._meta.db_table} SET xid = 0")  # noqa: S608
