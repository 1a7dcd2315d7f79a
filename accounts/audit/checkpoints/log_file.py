"""Log of checkpoints: a file of signed lines, each with the hash of the line before it.

A line is canonical JSON whose signature covers everything else in it. Its kinds:

- `key`: later lines are signed with `next`; the first line introduces the instance's first key;
- `checkpoint`: `heads` has, for every chain with new entries, the number of its entries and the hash of the last one;
- `reset`, `restore`: an operator replaced the chains. Earlier checkpoints no longer apply.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from accounts.audit import signing
from fluxcore import canonical_json, clock
from fluxcore.errors import Invalid

try:
    import fcntl
except ImportError:  # Windows: only one process may make checkpoints there
    fcntl = None  # type: ignore[assignment]

FIRST_PREV = "0" * 64
REPLACING = ("reset", "restore")
_HEX = re.compile(r"[0-9a-f]{64}")
Heads = dict[str, tuple[int, str]]  # by chain: number of entries, hash of the last one
_FIELDS = {"kind", "at", "key", "prev", "heads", "signature"}


class _BrokenLine(ValueError):
    """A line of the log is invalid; the text says why."""


@dataclass(frozen=True)
class CheckpointLine:
    text: bytes
    kind: str
    at: str
    key: str
    heads: Heads
    next: str | None

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()


@dataclass(frozen=True)
class Replacement:
    """Replacement of the chains by an operator: when, how, and the known number of entries of each."""

    at: str
    kind: str
    entries: dict[str, int]


@dataclass
class CheckpointLog:
    """Valid lines of a checkpoint log, up to the first invalid one, and what is wrong with that."""

    lines: list[CheckpointLine]
    problem: str = ""

    @property
    def size(self) -> int:
        return sum(len(line.text) + 1 for line in self.lines)

    @property
    def keys(self) -> list[str]:
        """The public keys the log was signed with, oldest first."""
        return [line.next for line in self.lines if line.next is not None]

    @property
    def prev(self) -> str:
        return self.lines[-1].digest if self.lines else FIRST_PREV

    def _summary(self) -> tuple[dict[str, dict[int, str]], dict[str, tuple[int, str]], list[Replacement]]:
        known: dict[str, dict[int, str]] = {}
        last: dict[str, tuple[int, str]] = {}
        replaced = []
        for line in self.lines:
            if line.kind in REPLACING:
                replaced.append(Replacement(line.at, line.kind, {chain: max(of) for chain, of in known.items()}))
                known, last = {}, {}
            for chain, (count, head) in line.heads.items():
                known.setdefault(chain, {})[count] = head
                last[chain] = (count, line.at)
        return known, last, replaced

    def known(self) -> dict[str, dict[int, str]]:
        """Signed hashes of each chain by position, since the last replacement."""
        return self._summary()[0]

    def last(self) -> dict[str, tuple[int, str]]:
        """The newest checkpoint of each chain: number of entries, time."""
        return self._summary()[1]

    def replaced(self) -> list[Replacement]:
        """Replacements of the chains by an operator, oldest first."""
        return self._summary()[2]


def read_log(path: Path, *, signatures: bool = True) -> CheckpointLog:
    """Read a log file; empty if it does not exist. An incomplete last line, left by a kill, is ignored."""
    try:
        return parse_log(path.read_bytes()) if signatures else _skimmed(path, *_stamp(path))
    except FileNotFoundError:
        return CheckpointLog([])
    except OSError as error:
        return CheckpointLog([], f"cannot be read: {error.strerror}")


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=8)
def _skimmed(path: Path, *stamp: int) -> CheckpointLog:
    """The log without verified signatures, for status pages; cached until the file changes."""
    return parse_log(path.read_bytes(), signatures=False)


def parse_log(raw: bytes, *, signatures: bool = True) -> CheckpointLog:
    log, key, prev = CheckpointLog([]), None, FIRST_PREV
    for number, text in enumerate(raw.split(b"\n")[:-1], 1):
        try:
            line = _checked(text, key, prev, signatures=signatures)
        except _BrokenLine as broken:
            log.problem = f"line {number} {broken}"
            break
        log.lines.append(line)
        key, prev = line.next or key, line.digest
    return log


def _checked(text: bytes, key: str | None, prev: str, *, signatures: bool) -> CheckpointLine:
    try:
        fields = json.loads(text)
        same = canonical_json.dumps(fields).encode() == text
    except (ValueError, RecursionError):
        raise _BrokenLine("is not JSON") from None
    wanted = _FIELDS | {"next"} if isinstance(fields, dict) and fields.get("kind") == "key" else _FIELDS
    if not same or not isinstance(fields, dict) or set(fields) != wanted or not _well_formed(fields):
        raise _BrokenLine("is not a line of a checkpoint log")
    if fields["prev"] != prev:
        raise _BrokenLine("does not follow the line before it")
    if fields["key"] != (key or fields.get("next")):  # the first line is signed by the key it introduces
        raise _BrokenLine("was signed with a key that was not valid at that time")
    if signatures:
        signature = fields.pop("signature")
        if not signing.is_valid_signature(fields["key"], signature, canonical_json.dumps(fields).encode()):
            raise _BrokenLine("has an invalid signature")
    heads = {chain: (count, head) for chain, (count, head) in fields["heads"].items()}
    return CheckpointLine(text, fields["kind"], fields["at"], fields["key"], heads, fields.get("next"))


def _well_formed(fields: dict[str, Any]) -> bool:
    heads = fields["heads"]
    return (
        fields["kind"] in ("key", "checkpoint", *REPLACING)
        and all(isinstance(fields[name], str) for name in _FIELDS - {"heads"})
        and _is_time(fields["at"])
        and all(_HEX.fullmatch(fields[name]) for name in ("key", "prev"))
        and (fields["kind"] != "key" or (isinstance(fields["next"], str) and bool(_HEX.fullmatch(fields["next"]))))
        and isinstance(heads, dict)
        and all(
            isinstance(of, list) and len(of) == 2 and type(of[0]) is int and of[0] > 0 and isinstance(of[1], str)
            for of in heads.values()
        )
    )


def _is_time(text: str) -> bool:
    try:
        clock.parse(text)
    except Invalid:
        return False
    return True


def sign_line(log: CheckpointLog, private: str, kind: str, *, heads: Heads, next: str | None = None) -> CheckpointLine:
    """Create the next line of a log, signed."""
    fields: dict[str, Any] = {
        "kind": kind,
        "at": clock.rfc3339(clock.now()),
        "key": signing.public_half(private),
        "prev": log.prev,
        "heads": {chain: list(of) for chain, of in heads.items()},
    }
    if next is not None:
        fields["next"] = next
    fields["signature"] = signing.sign(private, canonical_json.dumps(fields).encode())
    return _checked(
        canonical_json.dumps(fields).encode(), log.keys[-1] if log.keys else None, log.prev, signatures=False
    )


def complete_lines(raw: bytes) -> bytes:
    """The complete lines, without an incomplete one that a kill may have left at the end."""
    return raw[: raw.rfind(b"\n") + 1]


@contextmanager
def locked_file(path: Path, *, wait: bool = True) -> Iterator[IO[bytes]]:
    """Open a log file with an exclusive lock, which a kill releases. The file is created if it does not exist."""
    with open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise
            except OSError:
                pass  # some network file systems have no locks; writing without one is better than not writing
        file.seek(0)
        yield file


def append_lines(file: IO[bytes], size: int, text: bytes) -> None:
    """Append complete lines after the first `size` bytes and sync. An incomplete line there is overwritten."""
    file.truncate(size)
    file.write(text)
    file.flush()
    os.fsync(file.fileno())
