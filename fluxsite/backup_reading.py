"""Reading backups: today's bundles, and the zip files that releases up to 0.6 made.

A manifest of either kind is shown in one shape: format, version, instance, database, created_at, migrations, members.
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
# A database may shrink by any factor, so of these no ratio is asked: what is unpacked is what the manifest says.
LIMITS = BundleLimits(manifest_bytes=MAX_MANIFEST, members=2000, ratio=None)
MEMBER = re.compile(r"config\.yaml|checkpoints\.jsonl|database\.db|(?:keys|tables)/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


class OpenBackup(Protocol):
    manifest: dict[str, Any]

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Each member once, in turn, to be read before the next. Raises Invalid where one is damaged."""
        ...

    def problem(self) -> str:
        """What is wrong with the whole, once all members were read; empty if nothing is."""
        ...


class BundleBackup:
    def __init__(self, file: IO[bytes]) -> None:
        self._reader = bundles.BundleReader(file, LIMITS)
        members = {artifact.name: artifact.sha256 for artifact in self._reader.artifacts}
        inner = ("manifest_version", "bundle_format", "artifacts", "bundle_sha256")
        fields = {name: value for name, value in self._reader.manifest.items() if name not in inner}
        if self._reader.manifest.get("bundle_format") != BUNDLE_FORMAT:
            raise Invalid("It is not a backup of a format this release knows.")
        self.manifest = _checked({**fields, "members": members}, FORMAT)

    def members(self) -> Iterator[tuple[str, Iterable[bytes]]]:
        for member in self._reader:
            yield member.artifact.name, member

    def problem(self) -> str:
        return self._reader.report.problem()


class ZipBackup:
    """As releases up to 0.6 wrote them: the manifest is the last member and names the digests of the others."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file)
        with self._zip.open("manifest.json") as member:
            raw = member.read(MAX_MANIFEST + 1)  # enforced while reading: a header can lie about its size
        self.manifest = _checked(json.loads(raw) if len(raw) <= MAX_MANIFEST else None, ZIP_FORMAT)
        found = [info.filename for info in self._zip.infolist() if info.filename != "manifest.json"]
        if sorted(found) != sorted(self.manifest["members"]):
            raise Invalid("Its members are not those of its manifest.")

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
        raise Invalid(f"{name} is damaged.")


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


@contextmanager
def opened(path: Path) -> Iterator[OpenBackup]:
    """A backup to read from, of either kind. Whatever is wrong with it is an Invalid that names the file."""
    try:
        with path.open("rb") as file:
            kind = BundleBackup if file.read(len(MAGIC)) == MAGIC else ZipBackup
            file.seek(0)
            yield kind(file)
    except Invalid as refusal:
        raise Invalid(f"{path.name}: {refusal.message[0].lower()}{refusal.message[1:]}") from None


def verify(path: Path) -> dict[str, Any]:
    """The manifest of a sound backup; a clear refusal of anything else."""
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
        raise Invalid(f"{path} is not a readable backup ({type(error).__name__}).") from None


def _checked(manifest: Any, wanted_format: int) -> dict[str, Any]:
    """A manifest that says everything a restore relies on."""
    if not isinstance(manifest, dict) or manifest.get("format") != wanted_format:
        raise Invalid("It is not a backup of a format this release knows.")
    members, vendor = manifest.get("members"), manifest.get("database")
    texts = [manifest.get(key) for key in ("version", "instance", "created_at")]
    migrations = manifest.get("migrations")
    if (
        not isinstance(members, dict)
        or not isinstance(migrations, list)
        or not all(isinstance(text, str) for text in (*texts, *migrations, *members.values()))
    ):
        raise Invalid("Its manifest is not complete.")
    strange = [member for member in members if not MEMBER.fullmatch(member)]
    if strange:
        raise Invalid(f"It holds {strange[0][:80]!r}, which is no part of an instance.")
    wanted = {"sqlite": "database.db", "postgresql": "tables/django_migrations"}.get(str(vendor))
    if wanted not in members:
        raise Invalid("It holds no database.")
    return manifest
