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

from accounts import audit, signing
from accounts.checkpoints import lines
from accounts.checkpoints.lines import Heads, Line
from accounts.checkpoints.patience import patiently
from accounts.signing import Home, Ring
from fluxcore.command_names import typed
from fluxcore.errors import Conflict, FluxError, StorageUnavailable
from fluxcore.faults import place

log = logging.getLogger(__name__)


@dataclass
class Made:
    """What a checkpoint says, and the chains it could not vouch for."""

    heads: Heads = field(default_factory=dict)
    broken: list[audit.Verdict] = field(default_factory=list)
    outside: str = ""  # why the outside log is not up to date


class Book:
    """The home's log, open for one writer, with the key to go on."""

    def __init__(self, home: Home, file: IO[bytes]) -> None:
        self.home, self._file = home, file
        self.log = lines.parse(file.read())
        ring = Ring.of(home)
        problem = self.log.problem or ring.problem(self.log.keys)
        if problem:
            raise Conflict(
                f"{home.checkpoints} {problem}. Nothing is added to it: {typed('flux_audit verify')} says more."
            )
        self._ring = ring.settle(self.log.keys) if self.log.keys else ring

    def add(self, kind: str, *, heads: Heads | None = None, next: str | None = None) -> None:
        if not self.log.lines:
            self._begin()
        own = self._ring.private(self.log.keys[-1])
        if own is None:
            raise Conflict(f"The key of {self.home.checkpoints} is gone.")
        self._write(lines.line(self.log, own, kind, heads=heads or {}, next=next))

    def _begin(self) -> None:
        """The first line of all: the key that everything after it is judged by."""
        own = self.home.make_secret(signing.SIGNING_KEY, signing.generate)
        lines.sync_folder(self.home.keys)
        self._write(lines.line(self.log, own, "key", heads={}, next=signing.public_half(own)))
        lines.sync_folder(self.home.checkpoints.parent)
        self._ring = Ring.of(self.home).settle(self.log.keys)

    def _write(self, line: Line) -> None:
        lines.append(self._file, self.log.size, line.text + b"\n")
        self.log.lines.append(line)

    def follow_with(self, private: str) -> None:
        """Another key is in force from here on."""
        self.home.keep_secret(signing.NEXT_KEY, private)
        lines.sync_folder(self.home.keys)
        self.add("key", next=signing.public_half(private))
        self._ring = Ring.of(self.home).settle(self.log.keys)

    def checkpoint(self) -> Made:
        """Sign where every chain stands that has moved since its last checkpoint, if its links hold."""
        made = self._moved()
        if made.heads:
            _wait_for_the_disk()
            self.add("checkpoint", heads=made.heads)
        for verdict in made.broken:
            log.critical("audit chain %s: entry %s %s", verdict.chain, verdict.broken_at, verdict.problem)
        return made

    def _moved(self) -> Made:
        made, known, now = Made(), self.log.known(), audit.heads()
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
def opened(home: Home) -> Iterator[Book]:
    try:
        with lines.held(home.checkpoints) as file:
            yield Book(home, file)
    except OSError as error:
        raise StorageUnavailable(f"{home.checkpoints} cannot be written: {error.strerror}.") from None


def make(home: Home | None = None) -> Made:
    """A checkpoint now, in both places."""
    home = home or settings.HOME
    with opened(home) as book:
        made = book.checkpoint()
    made.outside = carry(home)
    return made


def make_or_say(home: Home) -> None:
    """A checkpoint where something more important must not fail for the want of one."""
    try:
        make(home)
    except (FluxError, DatabaseError) as error:
        log.critical("no checkpoint was made: %s", error.message if isinstance(error, FluxError) else place(error))


def outside(home: Home) -> Path | None:
    """The other place: a file of the instance's name in the folder FLUX_CHECKPOINTS."""
    return settings.CHECKPOINTS / f"{home.name}.jsonl" if settings.CHECKPOINTS else None


def carry(home: Home) -> str:
    """Bring the outside log up to the home's; why not, if that is not possible. It never takes a line away."""
    target = outside(home)
    if target is None:
        return ""

    def add() -> None:
        # The folder is not made: where a disk is not mounted, its place must not fill up instead.
        with lines.held(target, wait=False) as file:
            theirs = lines.whole(file.read())
            if not ours.startswith(theirs):
                raise Conflict(
                    f"{target} holds other lines than {home.checkpoints}: {typed('flux_audit verify')} says more."
                )
            if len(ours) > len(theirs):
                lines.append(file, len(theirs), ours[len(theirs) :])

    try:
        ours = lines.whole(home.checkpoints.read_bytes() if home.checkpoints.exists() else b"")
        patiently(target, add)
    except BlockingIOError:
        return ""  # somebody else is at it
    except (OSError, Conflict) as error:
        reason = error.message if isinstance(error, Conflict) else f"{target}: {error.strerror}."
        log.critical("checkpoints are not kept outside: %s", reason)
        return reason
    return ""


def _wait_for_the_disk() -> None:
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
