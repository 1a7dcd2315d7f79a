"""Bundles: many files in one that can be checked, moved and stored. Written and read as streams.

A reader never creates files by the names inside a bundle: it returns bytes, and its caller stores them. Links, devices,
invalid names and more bytes than the manifest lists are refused as soon as they are read.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import zstandard

from fluxcore.bundle_format import (
    BLOCK,
    CHUNK_BYTES,
    END,
    FOREIGN,
    MAGIC,
    MANIFEST,
    MANIFEST_VERSION,
    NAME,
    RATIO_FROM,
    TRAILER_BYTES,
    Artifact,
    BundleLimits,
    BundleSource,
    header,
    manifest_of,
    padding,
    seal,
    trailer,
)
from fluxcore.errors import Invalid


class BundleWriter:
    """Collects members, then writes the bundle. Compressed members are in a nameless file, which a kill removes."""

    def __init__(self, target: IO[bytes], *, staging: Path, level: int = 3) -> None:
        self._target, self._level = target, level
        self._members: list[tuple[Artifact, int]] = []  # with the compressed bytes of each
        self._staged = tempfile.TemporaryFile(dir=staging)  # noqa: SIM115  closed by `close`
        self._digest = hashlib.sha256()

    def add(self, name: str, chunks: Iterable[bytes], *, kind: str = "") -> Artifact:
        if not NAME.fullmatch(name) or name.lower() in {
            MANIFEST,
            *(member.name.lower() for member, _ in self._members),
        }:
            raise Invalid(f"{name[:80]!r} is not a valid name of a member, or is used already.", field="name")
        began, seen, size = self._staged.tell(), hashlib.sha256(), 0
        with self._frame() as frame:
            for chunk in chunks:
                seen.update(chunk)
                size += len(chunk)
                frame.write(chunk)
            frame.write(padding(size))
        artifact = Artifact(name, size, seen.hexdigest(), kind)
        self._members.append((artifact, self._staged.tell() - began))
        return artifact

    def _frame(self) -> Any:
        compressor = zstandard.ZstdCompressor(level=self._level, write_checksum=True)
        return compressor.stream_writer(self._staged, closefd=False)

    def finish(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Write the bundle with these fields in its manifest; returns the whole manifest."""
        artifacts = [artifact for artifact, _ in self._members]
        whole = {
            "manifest_version": MANIFEST_VERSION,
            **manifest,
            "artifacts": [artifact.shape() for artifact in artifacts],
            "bundle_sha256": seal(artifacts),
        }
        raw = json.dumps(whole, ensure_ascii=False, indent=1).encode()
        self._write(_packed(header(MANIFEST, len(raw)) + raw + padding(len(raw))))
        self._staged.seek(0)
        for artifact, compressed in self._members:
            self._write(_packed(header(artifact.name, artifact.size)))
            for chunk in _exactly(self._staged, compressed):
                self._write(chunk)
        self._write(_packed(END))
        self._target.write(trailer(self._digest.digest()))
        self.close()
        return whole

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._target.write(data)

    def close(self) -> None:
        self._staged.close()

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _packed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def _exactly(file: BundleSource, size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = file.read(min(size, CHUNK_BYTES))
        if not chunk:
            raise Invalid("The bundle ends too early.")
        size -= len(chunk)
        yield chunk


@dataclass
class BundleReport:
    """Result of reading a bundle to its end."""

    whole: bool = True  # whether the digest at the end is right
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return self.whole and not (self.damaged or self.missing or self.extra)

    def problem(self) -> str:
        """The first problem as a sentence; empty if there is none."""
        if self.damaged:
            return f"{self.damaged[0]} is damaged."
        if self.missing or self.extra:
            what = f"{self.missing[0]} is missing" if self.missing else f"{self.extra[0]} is not in its manifest"
            return f"The members do not match the manifest: {what}."
        return "" if self.whole else "The bundle was changed or cut off after it was written."


class BundleMember:
    """One member while the stream is read. Bytes its reader does not read are skipped."""

    def __init__(self, artifact: Artifact, source: BundleSource) -> None:
        self.artifact, self._source = artifact, source
        self._left, self._seen = artifact.size, hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in _exactly(self._source, self._left):
            self._left -= len(chunk)
            self._seen.update(chunk)
            yield chunk
        if not self._left and self._seen.hexdigest() != self.artifact.sha256:
            raise Invalid(f"{self.artifact.name} is damaged.")

    def is_sound(self) -> bool:
        """Read the rest of the member; whether its bytes have the digest in the manifest."""
        try:
            for _ in self:
                pass
        except Invalid:
            if self._left:
                raise
        return self._seen.hexdigest() == self.artifact.sha256


class BundleReader:
    """Reads a bundle as a stream: the manifest when it is created, then each member in turn."""

    def __init__(self, source: BundleSource, limits: BundleLimits = FOREIGN) -> None:
        self._packed = _Packed(source)
        self._limits = limits
        stream: Any = self._packed  # the library's stubs want a whole file, but it only calls `read`
        unpacked = zstandard.ZstdDecompressor(max_window_size=limits.window_bytes).stream_reader(
            stream, read_across_frames=True
        )
        self._stream = _Unpacked(unpacked, self._packed, limits.ratio)
        self.manifest_bytes = self._first_member()
        self.manifest, self.artifacts = manifest_of(self.manifest_bytes, limits)

    def _first_member(self) -> bytes:
        entry = _entry(self._stream.block())
        if entry is None or entry.name != MANIFEST or entry.size > self._limits.manifest_bytes:
            raise Invalid(
                f"The bundle does not begin with a manifest.json of at most {self._limits.manifest_bytes} bytes."
            )
        raw = b"".join(_exactly(self._stream, entry.size))
        self._pass_padding(entry.size)
        return raw

    def __iter__(self) -> Iterator[BundleMember]:
        """The members that the manifest lists. Others are skipped and listed in `report`."""
        self.report = BundleReport()
        missing = {artifact.name: artifact for artifact in self.artifacts}
        while (entry := _entry(self._stream.block())) is not None:
            artifact = missing.pop(entry.name, None)
            if artifact is None or artifact.size != entry.size:
                (self.report.extra if artifact is None else self.report.damaged).append(entry.name)
                self._pass_over(entry)
                continue
            member = BundleMember(artifact, self._stream)
            yield member
            if not member.is_sound():
                self.report.damaged.append(artifact.name)
            self._pass_padding(artifact.size)
        self.report.missing = list(missing)
        self._end()

    def _pass_over(self, entry: tarfile.TarInfo) -> None:
        """Skip a member that is not as listed, up to a limit, so that the report has the other problems too."""
        if entry.size > self._limits.manifest_bytes or len(self.report.extra) > 1000:
            raise Invalid(self.report.problem())
        for _ in _exactly(self._stream, entry.size + len(padding(entry.size))):
            pass

    def _pass_padding(self, size: int) -> None:
        if any(b"".join(_exactly(self._stream, len(padding(size))))):
            raise Invalid("The bundle has bytes between its members.")

    def _end(self) -> None:
        if any(self._stream.block()) or self._stream.read(1):
            raise Invalid("The bundle has data after its end.")
        self.report.whole = self._packed.is_whole()


def verify(source: BundleSource, limits: BundleLimits = FOREIGN) -> tuple[dict[str, Any], BundleReport]:
    """Read a bundle to its end: its manifest and a report. Raises Invalid if it is not a bundle."""
    reader = BundleReader(source, limits)
    for _ in reader:
        pass
    return reader.manifest, reader.report


def _entry(block: bytes) -> tarfile.TarInfo | None:
    """The member of a tar header, which must be exactly as we write it; None at the end."""
    if not any(block):
        return None
    try:
        entry = tarfile.TarInfo.frombuf(block, "ascii", "strict")
    except (tarfile.TarError, ValueError):
        raise Invalid("The bundle is not a tar of plain files.") from None
    if not NAME.fullmatch(entry.name) or entry.size < 0 or header(entry.name, entry.size) != block:
        # A link, a device, a name with `..`, a header of a tar extension: a bundle has none of these.
        raise Invalid(f"The bundle has the member {entry.name[:80]!r}, which is not a plain file with a valid name.")
    return entry


class _Packed:
    """The packed bytes without the digest at their end, which is kept for `is_whole`."""

    def __init__(self, source: BundleSource) -> None:
        self._source, self._tail, self._digest, self.size = source, b"", hashlib.sha256(), 0
        while len(self._tail) < TRAILER_BYTES and (chunk := source.read(TRAILER_BYTES - len(self._tail))):
            self._tail += chunk
        if not self._tail.startswith(MAGIC):
            raise Invalid("The file is not a bundle.")

    def read(self, size: int, /) -> bytes:
        size = max(min(size, CHUNK_BYTES), 1)
        while chunk := self._source.read(size):
            data = self._tail + chunk
            found, self._tail = data[:-TRAILER_BYTES], data[-TRAILER_BYTES:]
            if found:
                self.size += len(found)
                self._digest.update(found)
                return found
        return b""

    def is_whole(self) -> bool:
        while self.read(CHUNK_BYTES):
            pass
        return self._tail == trailer(self._digest.digest())


class _Unpacked:
    """The unpacked bytes, at most as many as the ratio allows."""

    def __init__(self, stream: Any, packed: _Packed, ratio: int | None) -> None:
        self._stream, self._packed, self._ratio, self._size = stream, packed, ratio, 0

    def read(self, size: int, /) -> bytes:
        try:
            data: bytes = self._stream.read(min(size, CHUNK_BYTES))
        except zstandard.ZstdError:
            raise Invalid("The bundle cannot be unpacked: it is damaged or needs too much memory.") from None
        self._size += len(data)
        if self._ratio is not None and self._size > RATIO_FROM and self._size > self._ratio * self._packed.size:
            raise Invalid(f"The bundle unpacks to more than {self._ratio} times its size.")
        return data

    def block(self) -> bytes:
        return b"".join(_exactly(self, BLOCK))
