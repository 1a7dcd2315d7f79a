"""Writer of checkpoints: one at a time in the data home, then a copy of its lines in the outside folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from accounts import audit
from accounts.audit import signing
from accounts.audit.checkpoints import log_file
from accounts.audit.checkpoints.log_file import CheckpointLine, Heads
from accounts.audit.checkpoints.timeout import call_with_timeout
from accounts.audit.signing import KeyHome, KeyRing
from fluxcore import files
from fluxcore.command_names import typed_command
from fluxcore.db_errors import error_place
from fluxcore.errors import Conflict, FluxError, StorageUnavailable

log = logging.getLogger(__name__)


@dataclass
class NewCheckpoint:
    """A new checkpoint: the signed heads, and the chains that are broken and were not signed."""

    heads: Heads = field(default_factory=dict)
    broken: list[audit.ChainVerdict] = field(default_factory=list)
    outside: str = ""  # why the outside log is not up to date


class CheckpointWriter:
    """The data home's log, open for one writer, with its signing key."""

    def __init__(self, home: KeyHome, file: IO[bytes]) -> None:
        self.home, self._file = home, file
        self.log = log_file.parse_log(file.read())
        ring = KeyRing.of(home)
        problem = self.log.problem or ring.problem(self.log.keys)
        if problem:
            raise Conflict(
                f"{home.checkpoints} {problem}. Nothing was added to it. For details run: "
                f"{typed_command('flux_audit verify')}."
            )
        self._ring = ring.settle(self.log.keys) if self.log.keys else ring

    def add(self, kind: str, *, heads: Heads | None = None, next: str | None = None) -> None:
        if not self.log.lines:
            self._begin()
        own = self._ring.private(self.log.keys[-1])
        if own is None:
            raise Conflict(f"The signing key of {self.home.checkpoints} is missing. Restore it from a backup.")
        self._write(log_file.sign_line(self.log, own, kind, heads=heads or {}, next=next))

    def _begin(self) -> None:
        """Write the first line of the log, which introduces the signing key."""
        own = self.home.make_secret(signing.SIGNING_KEY, signing.generate)
        self._write(log_file.sign_line(self.log, own, "key", heads={}, next=signing.public_half(own)))
        files.sync_folder(self.home.checkpoints.parent)
        self._ring = KeyRing.of(self.home).settle(self.log.keys)

    def _write(self, line: CheckpointLine) -> None:
        log_file.append_lines(self._file, self.log.size, line.text + b"\n")
        self.log.lines.append(line)

    def follow_with(self, private: str) -> None:
        """Sign further lines with a new key, introduced by a line that the old key signs."""
        self.home.keep_secret(signing.NEXT_KEY, private)
        self.add("key", next=signing.public_half(private))
        self._ring = KeyRing.of(self.home).settle(self.log.keys)

    def checkpoint(self) -> NewCheckpoint:
        """Verify and sign every chain with new entries since its last checkpoint."""
        checkpoint = self._verify_changed()
        if checkpoint.heads:
            _sync_database()
            self.add("checkpoint", heads=checkpoint.heads)
        for verdict in checkpoint.broken:
            log.critical("audit chain %s: entry %s %s", verdict.chain, verdict.broken_at, verdict.problem)
        return checkpoint

    def _verify_changed(self) -> NewCheckpoint:
        checkpoint, known, heads = NewCheckpoint(), self.log.known(), audit.heads()
        for chain in sorted({*known, *heads}):
            count = max(known.get(chain, ()), default=0)
            last = (count, known[chain][count] if count else audit.GENESIS)
            head = heads.get(chain)
            if head is not None and (head.seq, head.hash) == last:
                continue
            if head is None or head.seq <= count:
                verdict = audit.verify(chain, known=known[chain])
            else:
                verdict = audit.verify(chain, after=last)  # earlier entries were verified by earlier checkpoints
            if verdict.sound:
                checkpoint.heads[chain] = (verdict.entries, verdict.head)
            else:
                checkpoint.broken.append(verdict)
        return checkpoint


@contextmanager
def open_writer(home: KeyHome) -> Iterator[CheckpointWriter]:
    try:
        with log_file.locked_file(home.checkpoints) as file:
            yield CheckpointWriter(home, file)
    except OSError as error:
        raise StorageUnavailable(f"{home.checkpoints} cannot be written: {error.strerror}.") from None


def make_checkpoint(home: KeyHome | None = None) -> NewCheckpoint:
    """Make a checkpoint now, in the data home and the outside folder."""
    home = home or settings.HOME
    with open_writer(home) as writer:
        checkpoint = writer.checkpoint()
    checkpoint.outside = copy_outside(home)
    return checkpoint


def try_checkpoint(home: KeyHome) -> None:
    """Make a checkpoint; errors are only logged, so that the caller's operation continues."""
    try:
        make_checkpoint(home)
    except (FluxError, DatabaseError) as error:
        log.critical(
            "no checkpoint was made: %s", error.message if isinstance(error, FluxError) else error_place(error)
        )


def outside_log_path(home: KeyHome) -> Path | None:
    """Path of the outside log: a file named after the instance in the folder FLUX_CHECKPOINTS."""
    return settings.CHECKPOINTS / f"{home.name}.jsonl" if settings.CHECKPOINTS else None


def copy_outside(home: KeyHome) -> str:
    """Append missing lines to the outside log; returns the reason if that fails. Lines are never removed."""
    target = outside_log_path(home)
    if target is None:
        return ""

    def add() -> None:
        # The folder is not created: if its disk is not mounted, the file would be written to the wrong disk.
        with log_file.locked_file(target, wait=False) as file:
            copied = log_file.complete_lines(file.read())
            if not own_lines.startswith(copied):
                raise Conflict(
                    f"{target} differs from {home.checkpoints}. See what differs: {typed_command('flux_audit verify')}"
                )
            if len(own_lines) > len(copied):
                log_file.append_lines(file, len(copied), own_lines[len(copied) :])

    try:
        own_lines = log_file.complete_lines(home.checkpoints.read_bytes() if home.checkpoints.exists() else b"")
        call_with_timeout(target, add)
    except BlockingIOError:
        return ""  # another process is copying
    except (OSError, Conflict) as error:
        reason = error.message if isinstance(error, Conflict) else f"{target}: {error.strerror}."
        log.critical("checkpoints could not be copied to the outside folder: %s", reason)
        return reason
    return ""


def _sync_database() -> None:
    """Sync the database with durability `normal`, so that a power loss does not remove entries a checkpoint has."""
    if settings.DURABILITY != "normal":
        return
    if connection.vendor == "sqlite":
        wal = Path(f"{connection.settings_dict['NAME']}-wal")
        if wal.exists():
            with wal.open("rb") as file:
                os.fsync(file.fileno())
        return
    with transaction.atomic(), connection.cursor() as cursor:
        # A synchronous commit also syncs all earlier ones; the message only gives it something to commit.
        cursor.execute("SET LOCAL synchronous_commit TO on")
        cursor.execute("SELECT pg_logical_emit_message(true, 'flux', 'checkpoint')")
