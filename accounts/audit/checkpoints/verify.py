"""Chains against checkpoints: what holds, what does not, and how far anybody could tell."""

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

# How long the outside log may be behind: its copy is made just after the line in the data home.
BEHIND = timedelta(minutes=2)


@dataclass
class CheckedLog:
    """A log of checkpoints, and what is wrong with it."""

    path: Path
    log: CheckpointLog
    problem: str = ""
    believed: bool = True  # whether its word counts against a chain

    @property
    def newest(self) -> str | None:
        return self.log.lines[-1].at if self.log.lines else None


@dataclass(frozen=True)
class VerificationReport:
    """The verdict over every chain, against every checkpoint."""

    chains: list[audit.ChainVerdict]
    places: list[CheckedLog]
    replaced: list[Replacement]
    checkpoints: dict[str, tuple[int, str]]  # the newest of each chain: entries, when

    @property
    def sound(self) -> bool:
        return all(verdict.sound for verdict in self.chains) and not any(place.problem for place in self.places)


@dataclass(frozen=True)
class ChainStatus:
    """Where a chain stands now, and where it stood at its last checkpoint."""

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
    """Verify all chains, or those named, against the checkpoints of both places and of files kept elsewhere.

    The keys in the data home are what the logs are judged by; `public_keys`, a copy kept elsewhere, is better.
    """
    # The logs first: the chains may grow meanwhile, and must not be shorter than what is read here.
    places = _checked_logs(home or settings.HOME, kept=kept, public_keys=public_keys)
    logs = _longest(places)
    known: dict[str, dict[int, str]] = {}
    for log in reversed(logs):  # what was kept elsewhere is believed before the data home's own
        for name, of in log.known().items():
            known.setdefault(name, {}).update(of)
    names = [chain] if chain else list(chains) or sorted({*audit.chains(), *known})
    found = [audit.verify(name, known=known.get(name), on_progress=on_progress) for name in names]
    return VerificationReport(found, places, logs[-1].replaced(), logs[-1].last())


def chain_statuses(home: KeyHome | None = None) -> list[ChainStatus]:
    """Every chain at a glance. Nothing is verified here."""
    last = log_file.read_log((home or settings.HOME).checkpoints, signatures=False).last()
    names = {space.uuid.hex: space.name for space in Space.objects.all()}
    return [
        ChainStatus(chain, names.get(chain), head.seq, head.hash, head.at, *last.get(chain, (None, None)))
        for chain, head in audit.heads().items()
    ]


def known_chains(home: KeyHome | None = None) -> list[str]:
    """The chains the home's own log speaks of, also those that are no longer there."""
    return sorted(log_file.read_log((home or settings.HOME).checkpoints, signatures=False).known())


def checkpoint_warnings(home: KeyHome | None = None) -> list[str]:
    """What an operator should look at. The signatures and chains themselves are `verdicts`' business."""
    home = home or settings.HOME
    found = [f"{place.path} {place.problem}" for place in _checked_logs(home, signatures=False) if place.problem]
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    late = clock.now() - timedelta(minutes=2 * minutes + 5)
    waiting = [
        one for one in chain_statuses(home) if one.entries != one.checkpoint_entries and clock.parse(one.newest) < late
    ]
    if minutes and waiting:
        makes = typed_command("flux_audit checkpoint")
        found.append(f"{len(waiting)} audit chain(s) wait for a checkpoint: {makes} makes it or says why")
    return found


def _checked_logs(
    home: KeyHome, *, kept: Sequence[Path] = (), public_keys: Path | None = None, signatures: bool = True
) -> list[CheckedLog]:
    """The home's log, the outside one if there is to be one, those kept elsewhere; each judged and compared."""
    other = outside_log_path(home)
    others = [_outside_log(other, signatures=signatures)] if other else []
    for path in kept:
        if not path.exists():
            raise Invalid(f"{path} is not there.", field="checkpoints")
        others.append(CheckedLog(path, log_file.read_log(path, signatures=signatures)))
    # Last, because it is written first: while somebody adds a line it must not seem to lack what another holds.
    own, anchor = _home_log(home, signatures=signatures)
    if public_keys is not None:
        anchor = signing.read_public_keys(public_keys)
    for one in [own, *others]:
        foreign = _foreign(one.log, anchor, public_keys)
        one.problem = one.problem or one.log.problem or foreign
        # Without a key kept elsewhere, the home itself may be the one that was put in another's place.
        one.believed = not foreign if one is own or public_keys else True
    for one in others:
        _compare(own, one, promised=one.path == other)
    return [own, *others]


def _outside_log(path: Path, *, signatures: bool) -> CheckedLog:
    """The outside log, which may be out of reach."""
    try:
        there = call_with_timeout(path, path.parent.is_dir)
        log = (
            call_with_timeout(path, lambda: log_file.read_log(path, signatures=signatures))
            if there
            else CheckpointLog([])
        )
        return CheckedLog(path, log, "" if there else "is out of reach: its folder is not there")
    except OSError as error:
        return CheckedLog(path, CheckpointLog([]), f"is out of reach: {error.strerror}")


def _home_log(home: KeyHome, *, signatures: bool) -> tuple[CheckedLog, list[str]]:
    """The home's log and the public keys beside it, read again if they change just now."""
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


def _compare(own: CheckedLog, other: CheckedLog, *, promised: bool) -> None:
    """Every copy must be the same log. One that a person kept may end earlier; the outside one must keep up."""
    ours, theirs = own.log.lines, other.log.lines
    same = next((at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    if same is not None:
        other.problem = other.problem or f"line {same + 1} is not the one in {own.path}"
    elif len(theirs) > len(ours):
        own.problem = own.problem or f"lacks line {len(ours) + 1} and what follows, which {other.path} holds"
    elif promised and len(theirs) < len(ours) and clock.now() - clock.parse(ours[len(theirs)].at) > BEHIND:
        other.problem = other.problem or f"lacks line {len(theirs) + 1} and what follows, which {own.path} holds"


def _longest(places: list[CheckedLog]) -> list[CheckpointLog]:
    """The logs that are not just an earlier state of another one; the home's comes last where it is among them."""
    found: list[CheckpointLog] = []
    for log in sorted((place.log for place in places if place.believed), key=lambda one: -len(one.lines)):
        if not any(other.lines[: len(log.lines)] == log.lines for other in found):
            found.append(log)
    return sorted(found, key=lambda one: one is places[0].log) or [CheckpointLog([])]
