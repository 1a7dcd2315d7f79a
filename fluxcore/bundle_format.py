"""File format of bundles: a tar of plain files inside zstd, which `tar --zstd -x` opens, with a digest at its end.

    manifest.json          first; names, sizes and SHA-256 of all other members, in their order
    member, member, ...    each in zstd frames of its own
    two empty blocks       the end of a tar
    digest                 SHA-256 of all bytes before it, in a zstd frame that other programs skip

The digest at the end covers what no member's own digest does: headers, padding, frames. A signature of the sender would
cover the bytes of manifest.json, which contain the digests of all members. Encryption would cover the whole file.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import tarfile
from dataclasses import dataclass
from typing import Any, Protocol

from fluxcore.errors import Invalid

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
MAGIC = b"\x28\xb5\x2f\xfd"  # the first bytes of every zstd frame
BLOCK = 512
END = bytes(2 * BLOCK)
CHUNK_BYTES = 256 * 1024

# Allowed names of members: folders and files of plain letters, none hidden, short enough for the oldest tar header.
NAME = re.compile(r"(?=.{1,100}$)[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SKIPPED = struct.pack("<II", 0x184D2A5E, 32)
TRAILER_BYTES = len(_SKIPPED) + 32


@dataclass(frozen=True)
class BundleLimits:
    """Limits for reading a bundle from an untrusted source, checked while it is read."""

    manifest_bytes: int = 16 * 1024 * 1024
    members: int = 100_000
    member_bytes: int = 2**40
    total_bytes: int = 2**42
    # Highest ratio of unpacked to packed bytes, checked above RATIO_FROM unpacked bytes. Zeros reach 32,000. None: any.
    ratio: int | None = 10_000
    # Most memory that unpacking may need. Our own bundles need 8 MB.
    window_bytes: int = 32 * 1024 * 1024


FOREIGN = BundleLimits()
RATIO_FROM = 64 * 1024 * 1024


class BundleSource(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Artifact:
    """Name, size and digest of a member, as listed in the manifest."""

    name: str
    size: int
    sha256: str
    kind: str = ""

    def shape(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"path_in_bundle": self.name, "size_bytes": self.size, "sha256": self.sha256}
        return {**shape, "kind": self.kind} if self.kind else shape


def header(name: str, size: int) -> bytes:
    """The only valid tar header of a member of that name and size: a regular file, mode 0600, no time and owner."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry.tobuf(tarfile.GNU_FORMAT)


def padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def trailer(digest: bytes) -> bytes:
    return _SKIPPED + digest


def seal(artifacts: list[Artifact]) -> str:
    """Seal of a manifest: one digest over the digests of all members in their order."""
    return hashlib.sha256("".join(artifact.sha256 for artifact in artifacts).encode()).hexdigest()


def manifest_of(raw: bytes, limits: BundleLimits) -> tuple[dict[str, Any], list[Artifact]]:
    """Parse and check a manifest: its fields and its members."""
    try:
        manifest = json.loads(raw, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise Invalid("manifest.json is not readable.") from None
    if not isinstance(manifest, dict) or manifest.get("manifest_version") != MANIFEST_VERSION:
        raise Invalid("manifest.json has a version that this release does not support.")
    shapes = manifest.get("artifacts")
    if not isinstance(shapes, list) or len(shapes) > limits.members:
        raise Invalid(f"manifest.json must list its members, at most {limits.members}.")
    artifacts = [_artifact(shape, limits) for shape in shapes]
    if len({artifact.name.lower() for artifact in artifacts} | {MANIFEST}) != len(artifacts) + 1:
        raise Invalid("manifest.json lists a member twice.")  # also if only the case of letters differs
    if sum(artifact.size for artifact in artifacts) > limits.total_bytes:
        raise Invalid(f"The members have more than {limits.total_bytes} bytes.")
    if manifest.get("bundle_sha256") != seal(artifacts):
        raise Invalid("manifest.json has an invalid seal.")
    return manifest, artifacts


def _artifact(shape: Any, limits: BundleLimits) -> Artifact:
    if not isinstance(shape, dict):
        raise Invalid("manifest.json lists a member that is not an object.")
    name, size, sha256 = (shape.get(key) for key in ("path_in_bundle", "size_bytes", "sha256"))
    kind = shape.get("kind", "")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"manifest.json lists {str(name)[:80]!r}, which is not a valid name of a member.")
    if type(size) is not int or not 0 <= size <= limits.member_bytes:
        raise Invalid(f"{name} is larger than {limits.member_bytes} bytes, or has no size.")
    if not isinstance(sha256, str) or not _DIGEST.fullmatch(sha256) or not isinstance(kind, str):
        raise Invalid(f"{name} has no digest.")
    return Artifact(name, size, sha256, kind)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found
