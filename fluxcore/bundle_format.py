"""The container of bundles: a tar of plain files inside zstd, which `tar --zstd -x` opens, with a digest at its end.

    manifest.json          first; names, sizes and SHA-256 of all other members, in their order
    member, member, ...    each in zstd frames of its own
    two empty blocks       the end of a tar
    digest                 SHA-256 of all bytes before it, in a zstd frame that other programs skip

The digest covers what no member's own does: headers, padding, frames. A signature of where a bundle comes from has its
place beside this: over the bytes of manifest.json, which name everything else. Encryption goes around the whole file.
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
MAGIC = b"\x28\xb5\x2f\xfd"  # of every zstd frame
BLOCK = 512
END = bytes(2 * BLOCK)
CHUNK_BYTES = 256 * 1024

# A name we choose: folders and files of plain letters, none hidden, short enough for the oldest tar header.
NAME = re.compile(r"(?=.{1,100}$)[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SKIPPED = struct.pack("<II", 0x184D2A5E, 32)
TRAILER_BYTES = len(_SKIPPED) + 32


@dataclass(frozen=True)
class BundleLimits:
    """What a reader takes at most of a bundle somebody hands over, checked while it reads."""

    manifest_bytes: int = 16 * 1024 * 1024
    members: int = 100_000
    member_bytes: int = 2**40
    total_bytes: int = 2**42
    # Unpacked bytes for each packed one, once more than RATIO_FROM were unpacked. Zeros reach 32,000. None: any.
    ratio: int | None = 10_000
    # Memory that unpacking may ask for. Our own bundles need 8 MB.
    window_bytes: int = 32 * 1024 * 1024


FOREIGN = BundleLimits()
RATIO_FROM = 64 * 1024 * 1024


class BundleSource(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Artifact:
    """A member as the manifest has it."""

    name: str
    size: int
    sha256: str
    kind: str = ""

    def shape(self) -> dict[str, Any]:
        shape: dict[str, Any] = {"path_in_bundle": self.name, "size_bytes": self.size, "sha256": self.sha256}
        return {**shape, "kind": self.kind} if self.kind else shape


def header(name: str, size: int) -> bytes:
    """The one header that a member of that name and size has: a regular file, mode 0600, of no time and nobody."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    return entry.tobuf(tarfile.GNU_FORMAT)


def padding(size: int) -> bytes:
    return bytes(-size % BLOCK)


def trailer(digest: bytes) -> bytes:
    return _SKIPPED + digest


def seal(artifacts: list[Artifact]) -> str:
    """One digest over all members: of their digests in the order of the manifest."""
    return hashlib.sha256("".join(artifact.sha256 for artifact in artifacts).encode()).hexdigest()


def manifest_of(raw: bytes, limits: BundleLimits) -> tuple[dict[str, Any], list[Artifact]]:
    """The manifest and its members, if it is one that can be relied on."""
    try:
        manifest = json.loads(raw, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise Invalid("manifest.json is not readable.") from None
    if not isinstance(manifest, dict) or manifest.get("manifest_version") != MANIFEST_VERSION:
        raise Invalid("manifest.json is of a version this release does not know.")
    shapes = manifest.get("artifacts")
    if not isinstance(shapes, list) or len(shapes) > limits.members:
        raise Invalid(f"manifest.json names no members, or more than {limits.members}.")
    artifacts = [_artifact(shape, limits) for shape in shapes]
    if len({artifact.name.lower() for artifact in artifacts} | {MANIFEST}) != len(artifacts) + 1:
        raise Invalid("manifest.json names a member twice.")  # also where only the case of letters differs
    if sum(artifact.size for artifact in artifacts) > limits.total_bytes:
        raise Invalid(f"Its members have more than {limits.total_bytes} bytes.")
    if manifest.get("bundle_sha256") != seal(artifacts):
        raise Invalid("manifest.json does not bear its seal.")
    return manifest, artifacts


def _artifact(shape: Any, limits: BundleLimits) -> Artifact:
    if not isinstance(shape, dict):
        raise Invalid("manifest.json names a member that is none.")
    name, size, sha256 = (shape.get(key) for key in ("path_in_bundle", "size_bytes", "sha256"))
    kind = shape.get("kind", "")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Invalid(f"It names {str(name)[:80]!r}, which is no name of a member.")
    if type(size) is not int or not 0 <= size <= limits.member_bytes:
        raise Invalid(f"{name} is larger than {limits.member_bytes} bytes, or of no size.")
    if not isinstance(sha256, str) or not _DIGEST.fullmatch(sha256) or not isinstance(kind, str):
        raise Invalid(f"{name} has no digest.")
    return Artifact(name, size, sha256, kind)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found
