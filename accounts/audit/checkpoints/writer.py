"""Writing checkpoints: one writer at a time in the data home, then a copy of its lines in the other place."""

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
    """What a checkpoint says, and the chains it could not vouch for."""

    heads: Heads = field(default_factory=dict)
    broken: list[audit.ChainVerdict] = field(default_factory=list)
    outside: str = ""  # why the outside log is not up to date


class CheckpointWriter:
    """The home's log, open for one writer, with the key to go on."""

    def __init__(self, home: KeyHome, file: IO[bytes]) -> None:
        self.home, self._file = home, file
        self.log = log_file.parse_log(file.read())
        ring = KeyRing.of(home)
        problem = self.log.problem or ring.problem(self.log.keys)
        if problem:
            raise Conflict(
                f"{home.checkpoints} {problem}. Nothing is added to it: {typed_command('flux_audit verify')} says more."
            )
        self._ring = ring.settle(self.log.keys) if self.log.keys else ring

    def add(self, kind: str, *, heads: Heads | None = None, next: str | None = None) -> None:
        if not self.log.lines:
            self._begin()
        own = self._ring.private(self.log.keys[-1])
        if own is None:
            raise Conflict(f"The key of {self.home.checkpoints} is gone.")
        self._write(log_file.sign_line(self.log, own, kind, heads=heads or {}, next=next))

    def _begin(self) -> None:
        """The first line of all: the key that everything after it is judged by."""
        own = self.home.make_secret(signing.SIGNING_KEY, signing.generate)
        self._write(log_file.sign_line(self.log, own, "key", heads={}, next=signing.public_half(own)))
        files.sync_folder(self.home.checkpoints.parent)
        self._ring = KeyRing.of(self.home).settle(self.log.keys)

    def _write(self, line: CheckpointLine) -> None:
        log_file.append_lines(self._file, self.log.size, line.text + b"\n")
        self.log.lines.append(line)

    def follow_with(self, private: str) -> None:
        """Another key is in force from here on."""
        self.home.keep_secret(signing.NEXT_KEY, private)
        self.add("key", next=signing.public_half(private))
        self._ring = KeyRing.of(self.home).settle(self.log.keys)

    def checkpoint(self) -> NewCheckpoint:
        """Sign where every chain stands that has moved since its last checkpoint, if its links hold."""
        made = self._moved()
        if made.heads:
            _sync_database()
            self.add("checkpoint", heads=made.heads)
        for verdict in made.broken:
            log.critical("audit chain %s: entry %s %s", verdict.chain, verdict.broken_at, verdict.problem)
        return made

    def _moved(self) -> NewCheckpoint:
        made, known, now = NewCheckpoint(), self.log.known(), audit.heads()
        for chain in sorted({*known, *now}):
            count = max(known.get(chain, ()), default=0)
            before = (count, known[chain][count] if count else audit.GENESIS)
            head = now.get(chain)
            if head is not None and (head.seq, head.hash) == before:
                continue
            if head is None or head.seq <= count:
                verdict = audit.verify(chain, known=known[chain])
            else:
                verdict = audit.verify(chain, after=before)  # what came before was looked at then
            if verdict.sound:
                made.heads[chain] = (verdict.entries, verdict.head)
            else:
                made.broken.append(verdict)
        return made


@contextmanager
def open_writer(home: KeyHome) -> Iterator[CheckpointWriter]:
    try:
        with log_file.locked_file(home.checkpoints) as file:
            yield CheckpointWriter(home, file)
    except OSError as error:
        raise StorageUnavailable(f"{home.checkpoints} cannot be written: {error.strerror}.") from None


def make_checkpoint(home: KeyHome | None = None) -> NewCheckpoint:
    """A checkpoint now, in both places."""
    home = home or settings.HOME
    with open_writer(home) as book:
        made = book.checkpoint()
    made.outside = copy_outside(home)
    return made


def try_checkpoint(home: KeyHome) -> None:
    """A checkpoint where something more important must not fail for the want of one."""
    try:
        make_checkpoint(home)
    except (FluxError, DatabaseError) as error:
        log.critical(
            "no checkpoint was made: %s", error.message if isinstance(error, FluxError) else error_place(error)
        )


def outside_log_path(home: KeyHome) -> Path | None:
    """The other place: a file of the instance's name in the folder FLUX_CHECKPOINTS."""
    return settings.CHECKPOINTS / f"{home.name}.jsonl" if settings.CHECKPOINTS else None


def copy_outside(home: KeyHome) -> str:
    """Bring the outside log up to the home's; why not, if that is not possible. It never takes a line away."""
    target = outside_log_path(home)
    if target is None:
        return ""

    def add() -> None:
        # The folder is not made: where a disk is not mounted, its place must not fill up instead.
        with log_file.locked_file(target, wait=False) as file:
            theirs = log_file.complete_lines(file.read())
            if not ours.startswith(theirs):
                raise Conflict(
                    f"{target} differs from {home.checkpoints}. See what differs: {typed_command('flux_audit verify')}"
                )
            if len(ours) > len(theirs):
                log_file.append_lines(file, len(theirs), ours[len(theirs) :])

    try:
        ours = log_file.complete_lines(home.checkpoints.read_bytes() if home.checkpoints.exists() else b"")
        call_with_timeout(target, add)
    except BlockingIOError:
        return ""  # somebody else is at it
    except (OSError, Conflict) as error:
        reason = error.message if isinstance(error, Conflict) else f"{target}: {error.strerror}."
        log.critical("checkpoints are not kept outside: %s", reason)
        return reason
    return ""


def _sync_database() -> None:
    """With durability `normal` a power loss could take entries that a checkpoint on the disk already knows."""
    if settings.DURABILITY != "normal":
        return
    if connection.vendor == "sqlite":
        wal = Path(f"{connection.settings_dict['NAME']}-wal")
        if wal.exists():
            with wal.open("rb") as file:
                os.fsync(file.fileno())
        return
    with transaction.atomic(), connection.cursor() as cursor:
        # A commit that waits takes everything before it to the disk; the message is only there to be committed.
        cursor.execute("SET LOCAL synchronous_commit TO on")
        cursor.execute("SELECT pg_logical_emit_message(true, 'flux', 'checkpoint')")
