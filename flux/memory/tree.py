"""flyte's layout of a store as a folder: names of its files, and what is in them.

    messages.json                               the transcript
    notes/plan.md                               files, by their paths
    meta/<encoded path>.json                    facts of each file
    audit/log.jsonl                             writes, one a line
    versions/<encoded path>/<time>_<sha>.txt    contents that were written

Local stores, and import and export on the server, use it.
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from flux.paths import encoded, writable_path
from fluxcore.errors import FluxError, InvalidPath, ReservedPath

AUDIT_LOG, META, VERSIONS = "audit/log.jsonl", "meta", "versions"  # the transcript is flux.paths.MESSAGES
MAX_FILE_NAME = 255  # bytes that file systems allow in one name
_VERSION = re.compile(r"(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d)([+-]\d\d)-(\d\d)_([0-9a-f]{64})(?:_[0-9a-f]{8})?\.txt")


@dataclass(frozen=True)
class MemoryMeta:
    """Facts of a file: its digest, and by whom, when and why it was written."""

    path: str
    sha256: str
    updated_at: str  # UTC, ISO 8601 to the second
    updated_by: str
    reason: str
    bytes: int

    @classmethod
    def of_json(cls, data: builtins.bytes) -> MemoryMeta:
        """The facts of a sidecar. ValueError if it has others."""
        value = json.loads(data)
        kinds = {name: int if name == "bytes" else str for name in cls.__dataclass_fields__}
        if not isinstance(value, dict) or {name: type(fact) for name, fact in value.items()} != kinds:
            raise ValueError(f"it must be an object with {', '.join(kinds)}")
        return cls(**value)

    def as_json(self) -> builtins.bytes:
        return json.dumps(asdict(self), indent=2).encode()


def stamp(at: datetime) -> str:
    """A time as flyte writes it."""
    return at.astimezone(UTC).isoformat(timespec="seconds")


def meta_file(path: str) -> str:
    return f"{META}/{encoded(path)}.json"


def path_of_meta(name: str) -> str:
    """The path whose facts a sidecar of that name has; empty if the name is not that of a sidecar."""
    path = unquote(name.removesuffix(".json"))
    return path if meta_file(path) == f"{META}/{name}" else ""


def fits_file_names(path: str) -> bool:
    """Whether all names that a folder needs for a file are short enough for file systems."""
    return max(len(name.encode()) for name in (f"{encoded(path)}.json", *path.split("/"))) <= MAX_FILE_NAME


def parse_version_name(name: str) -> tuple[datetime, str] | None:
    """Time and digest in the name of a version; None if it is not such a name."""
    found = _VERSION.fullmatch(name)
    if found is None:
        return None
    day, hour, minute, second, zone, zone_minute, sha = found.groups()
    try:
        return datetime.fromisoformat(f"{day}{hour}:{minute}:{second}{zone}:{zone_minute}"), sha
    except ValueError:
        return None


def path_of_version(name: str) -> str:
    """The path whose version has that name, `versions/<encoded path>/<time>_<sha>.txt`; empty if it is none."""
    folder, _, last = name.removeprefix(f"{VERSIONS}/").partition("/")
    path = unquote(folder)
    is_version = name == f"{VERSIONS}/{encoded(path)}/{last}" and parse_version_name(last) is not None
    return path if is_version and is_file_path(path) else ""


def has_link(root: Path, name: str) -> bool:
    """Whether a file below a folder, or one of the folders above it, is a symbolic link."""
    parts = name.split("/")
    # os.path, because names can be too long for file systems: such a file does not exist.
    return any(os.path.islink(root.joinpath(*parts[: at + 1])) for at in range(len(parts)))  # noqa: PTH114


def event_line(event: dict[str, Any]) -> bytes:
    """A line of the audit log."""
    return json.dumps(event, sort_keys=True, default=str).encode() + b"\n"


def parse_events(data: bytes) -> list[dict[str, Any]]:
    """The entries of an audit log; lines that are broken are passed over."""
    found = []
    for line in data.decode("utf-8", "replace").split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def messages_json(messages: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(messages, default=str, indent=2).encode()


def parse_messages(data: bytes) -> list[dict[str, Any]]:
    """The messages of a transcript. ValueError if they are not a list of objects."""
    try:
        value = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise ValueError("it must be a list of objects")
    return value


def is_reserved(path: str) -> bool:
    """Whether a store keeps the path for itself, so that it is no file of the store."""
    try:
        writable_path(path)
    except ReservedPath:
        return True
    except InvalidPath:
        return False  # no file may have it, but not for this reason
    return False


def is_file_path(path: str) -> bool:
    """Whether a file of a store may have the path. A folder may have other names from elsewhere."""
    try:
        writable_path(path)
    except FluxError:
        return False
    return True


def sha_of_file(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
