"""Readers of backups: today's bundles, and the zip files that releases up to 0.6 made.

Manifests of both kinds have the same fields: format, version, instance, database, created_at, migrations, members.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from fluxcore import bundles
from fluxcore.bundle_format import CHUNK_BYTES, MAGIC, BundleLimits
from fluxcore.errors import Invalid

FORMAT, ZIP_FORMAT = 2, 1
BUNDLE_FORMAT = f"flux-backup-v{FORMAT}"
MAX_MANIFEST = 1 << 20
# A database may be compressed by any factor, so the ratio is not limited; the manifest limits the sizes.
LIMITS = BundleLimits(manifest_bytes=MAX_MANIFEST, members=2000, ratio=None)
MEMBER = re.compile(
    r"config\.yaml|checkpoints\.jsonl|database\.db|(?:keys|tables)/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}|blobs/[0-9a-f]{2}"
)


class OpenBackup(Protocol):
    manifest: dict[str, Any]

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Names and chunks of the members; each must be read before the next. Raises Invalid for a damaged one."""
        ...

    def problem(self) -> str:
        """What is wrong with the backup as a whole, known once all members were read; empty if nothing is."""
        ...


class BundleBackup:
    def __init__(self, file: IO[bytes]) -> None:
        self._reader = bundles.BundleReader(file, LIMITS)
        members = {artifact.name: artifact.sha256 for artifact in self._reader.artifacts}
        inner = ("manifest_version", "bundle_format", "artifacts", "bundle_sha256")
        fields = {name: value for name, value in self._reader.manifest.items() if name not in inner}
        if self._reader.manifest.get("bundle_format") != BUNDLE_FORMAT:
            raise Invalid("The file is not a backup of a format this release can read.")
        self.manifest = _checked({**fields, "members": members}, FORMAT)

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        for member in self._reader:
            yield member.artifact.name, member

    def problem(self) -> str:
        return self._reader.report.problem()


class ZipBackup:
    """Reader of zip backups, made by releases up to 0.6. Its last member is the manifest with all digests."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)
        with self._zip.open("manifest.json") as member:
            raw = member.read(MAX_MANIFEST + 1)  # limited while reading, since the header's size may be wrong
        self.manifest = _checked(json.loads(raw) if len(raw) <= MAX_MANIFEST else None, ZIP_FORMAT)
        names = [info.filename for info in self._zip.infolist() if info.filename != "manifest.json"]
        if sorted(names) != sorted(self.manifest["members"]):
            raise Invalid("The backup's members are not those of its manifest. The file is damaged or incomplete.")

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        for name, digest in self.manifest["members"].items():
            with self._zip.open(name) as member:
                chunks = _checked_chunks(name, member, digest)
                yield name, chunks
                for _ in chunks:
                    pass

    def problem(self) -> str:
        return ""


def _checked_chunks(name: str, member: IO[bytes], digest: str) -> Iterator[bytes]:
    seen = hashlib.sha256()
    while chunk := member.read(CHUNK_BYTES):
        seen.update(chunk)
        yield chunk
    if seen.hexdigest() != digest:
        raise Invalid(f"{name} in the backup is damaged: its SHA-256 is not that of the manifest.")


# Exceptions of zipfile and json for damaged or other files; the last two for encrypted and unsupported members.
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


@contextmanager
def opened(path: Path) -> Iterator[OpenBackup]:
    """Open a backup of either kind for reading. Problems are raised as Invalid, with the file's name."""
    try:
        with path.open("rb") as file:
            kind = BundleBackup if file.read(len(MAGIC)) == MAGIC else ZipBackup
            file.seek(0)
            yield kind(file)
    except Invalid as refusal:
        raise Invalid(f"{path.name}: {refusal.message[0].lower()}{refusal.message[1:]}") from None


def verify(path: Path) -> dict[str, Any]:
    """Check a backup completely and return its manifest; raises Invalid if anything is wrong."""
    try:
        with opened(path) as backup:
            for _, chunks in backup.members():
                for _ in chunks:
                    pass
            if backup.problem():
                raise Invalid(backup.problem())
            return backup.manifest
    except Invalid:
        raise
    except _UNREADABLE as error:
        raise Invalid(
            f"{path} cannot be read as a backup ({type(error).__name__}). The file is damaged, or not a backup."
        ) from None


def _checked(manifest: Any, required_format: int) -> dict[str, Any]:
    """The manifest, after a check that it has all fields a restore needs."""
    if not isinstance(manifest, dict) or manifest.get("format") != required_format:
        raise Invalid("The file is not a backup of a format this release can read.")
    members, vendor = manifest.get("members"), manifest.get("database")
    texts = [manifest.get(key) for key in ("version", "instance", "created_at")]
    migrations = manifest.get("migrations")
    if (
        not isinstance(members, dict)
        or not isinstance(migrations, list)
        or not all(isinstance(text, str) for text in (*texts, *migrations, *members.values()))
    ):
        raise Invalid("The backup's manifest is incomplete. The file is damaged.")
    foreign = [member for member in members if not MEMBER.fullmatch(member)]
    if foreign:
        raise Invalid(f"The backup contains {foreign[0][:80]!r}, which is not part of an instance.")
    required = {"sqlite": "database.db", "postgresql": "tables/django_migrations"}.get(str(vendor))
    if required not in members:
        raise Invalid("The backup contains no database.")
    return manifest
