"""Verification of audit chains against checkpoints, and of the checkpoint logs themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from accounts import audit
from accounts.audit import signing
from accounts.audit.checkpoints import log_file
from accounts.audit.checkpoints.log_file import CheckpointLog, Replacement
from accounts.audit.checkpoints.timeout import call_with_timeout
from accounts.audit.checkpoints.writer import outside_log_path
from accounts.audit.signing import KeyHome, KeyRing
from accounts.models import Space
from fluxcore import clock, config
from fluxcore.command_names import typed_command
from fluxcore.errors import FluxError, Invalid

# How long a line may be missing in the outside log, which is copied just after the line is written.
BEHIND = timedelta(minutes=2)


@dataclass
class CheckedLog:
    """A log of checkpoints with its path and problem."""

    path: Path
    log: CheckpointLog
    problem: str = ""
    believed: bool = True  # whether chains are verified against it

    @property
    def newest(self) -> str | None:
        return self.log.lines[-1].at if self.log.lines else None


@dataclass(frozen=True)
class VerificationReport:
    """Result of a verification: verdicts of chains, and the logs they were verified against."""

    chains: list[audit.ChainVerdict]
    places: list[CheckedLog]
    replaced: list[Replacement]
    checkpoints: dict[str, tuple[int, str]]  # newest checkpoint of each chain: number of entries, time

    @property
    def sound(self) -> bool:
        return all(verdict.sound for verdict in self.chains) and not any(place.problem for place in self.places)


@dataclass(frozen=True)
class ChainStatus:
    """Length and head of a chain now, and its length at the last checkpoint."""

    chain: str
    space: str | None
    entries: int
    head: str
    newest: str
    checkpoint_entries: int | None
    checkpoint_at: str | None


def verify_chains(
    *,
    home: KeyHome | None = None,
    chain: str | None = None,
    chains: Sequence[str] = (),
    kept: Sequence[Path] = (),
    public_keys: Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> VerificationReport:
    """Verify all chains, or these, against the checkpoints in the data home, the outside folder and the files `kept`.

    The logs are checked with the public keys in the data home, or with `public_keys`, a safer copy kept elsewhere.
    """
    # The logs are read first: chains may grow meanwhile, but must not be shorter than the logs say.
    places = _checked_logs(home or settings.HOME, kept=kept, public_keys=public_keys)
    logs = _longest(places)
    known: dict[str, dict[int, str]] = {}
    for log in reversed(logs):  # the data home's log comes last in `logs`; the others take precedence
        for name, of in log.known().items():
            known.setdefault(name, {}).update(of)
    names = [chain] if chain else list(chains) or sorted({*audit.chains(), *known})
    found = [audit.verify(name, known=known.get(name), on_progress=on_progress) for name in names]
    return VerificationReport(found, places, logs[-1].replaced(), logs[-1].last())


def chain_statuses(home: KeyHome | None = None) -> list[ChainStatus]:
    """Status of every chain, without verification."""
    last = log_file.read_log((home or settings.HOME).checkpoints, signatures=False).last()
    names = {space.uuid.hex: space.name for space in Space.objects.all()}
    return [
        ChainStatus(chain, names.get(chain), head.seq, head.hash, head.at, *last.get(chain, (None, None)))
        for chain, head in audit.heads().items()
    ]


def known_chains(home: KeyHome | None = None) -> list[str]:
    """Chains in the data home's log, also those that no longer exist."""
    return sorted(log_file.read_log((home or settings.HOME).checkpoints, signatures=False).known())


def checkpoint_warnings(home: KeyHome | None = None) -> list[str]:
    """Warnings about checkpoints for operators. Signatures and chains are not verified here (`verify_chains`)."""
    home = home or settings.HOME
    found = [f"{place.path} {place.problem}" for place in _checked_logs(home, signatures=False) if place.problem]
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    late = clock.now() - timedelta(minutes=2 * minutes + 5)
    waiting = [
        status
        for status in chain_statuses(home)
        if status.entries != status.checkpoint_entries and clock.parse(status.newest) < late
    ]
    if minutes and waiting:
        command = typed_command("flux_audit checkpoint")
        found.append(
            f"{len(waiting)} audit chain(s) wait for a checkpoint. Run `{command}` to make it or see the error"
        )
    return found


def _checked_logs(
    home: KeyHome, *, kept: Sequence[Path] = (), public_keys: Path | None = None, signatures: bool = True
) -> list[CheckedLog]:
    """The data home's log, the outside one if configured, and kept files; each checked and compared."""
    outside = outside_log_path(home)
    others = [_outside_log(outside, signatures=signatures)] if outside else []
    for path in kept:
        if not path.exists():
            raise Invalid(f"{path} does not exist.", field="checkpoints")
        others.append(CheckedLog(path, log_file.read_log(path, signatures=signatures)))
    # Read last, because it is written first: otherwise it could seem to lack a line that is being added.
    own, anchor = _home_log(home, signatures=signatures)
    if public_keys is not None:
        anchor = signing.read_public_keys(public_keys)
    for checked in [own, *others]:
        foreign = _foreign(checked.log, anchor, public_keys)
        checked.problem = checked.problem or checked.log.problem or foreign
        # Without keys kept elsewhere, the data home itself may be the one that was replaced.
        checked.believed = not foreign if checked is own or public_keys else True
    for checked in others:
        _compare(own, checked, must_be_complete=checked.path == outside)
    return [own, *others]


def _outside_log(path: Path, *, signatures: bool) -> CheckedLog:
    """Read the outside log, which may not be accessible."""
    try:
        exists = call_with_timeout(path, path.parent.is_dir)
        log = (
            call_with_timeout(path, lambda: log_file.read_log(path, signatures=signatures))
            if exists
            else CheckpointLog([])
        )
        return CheckedLog(path, log, "" if exists else "cannot be read: its folder does not exist")
    except OSError as error:
        return CheckedLog(path, CheckpointLog([]), f"cannot be read: {error.strerror}")


def _home_log(home: KeyHome, *, signatures: bool) -> tuple[CheckedLog, list[str]]:
    """The data home's log and public keys, read twice if the first time they do not match."""
    for again in (True, False):
        own = CheckedLog(home.checkpoints, log_file.read_log(home.checkpoints, signatures=signatures))
        try:
            ring = KeyRing.of(home)
        except FluxError as error:
            own.problem = error.message
            return own, []
        own.problem = own.log.problem or ring.problem(own.log.keys)
        if not own.problem:
            break
        if again:
            time.sleep(0.1)
    return own, ring.public


def _foreign(log: CheckpointLog, anchor: list[str], given: Path | None) -> str:
    shared = min(len(log.keys), len(anchor))
    if log.keys[:shared] == anchor[:shared]:
        return ""
    return f"was signed with other keys than those in {given or f'keys/{signing.PUBLIC_KEYS}'}"


def _compare(own: CheckedLog, other: CheckedLog, *, must_be_complete: bool) -> None:
    """Compare a copy with the data home's log. A kept file may end earlier; the outside log must be complete."""
    own_lines, copied = own.log.lines, other.log.lines
    different = next((at for at, (a, b) in enumerate(zip(own_lines, copied, strict=False)) if a != b), None)
    if different is not None:
        other.problem = other.problem or f"line {different + 1} differs from {own.path}"
    elif len(copied) > len(own_lines):
        own.problem = own.problem or f"ends before line {len(own_lines) + 1}, which is in {other.path}"
    elif (
        must_be_complete
        and len(copied) < len(own_lines)
        and clock.now() - clock.parse(own_lines[len(copied)].at) > BEHIND
    ):
        other.problem = other.problem or f"ends before line {len(copied) + 1}, which is in {own.path}"


def _longest(places: list[CheckedLog]) -> list[CheckpointLog]:
    """The logs that are not an earlier state of another one; the data home's comes last if it is one of them."""
    found: list[CheckpointLog] = []
    for log in sorted((place.log for place in places if place.believed), key=lambda log: -len(log.lines)):
        if not any(other.lines[: len(log.lines)] == log.lines for other in found):
            found.append(log)
    return sorted(found, key=lambda log: log is places[0].log) or [CheckpointLog([])]
