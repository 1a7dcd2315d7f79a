"""Chains against checkpoints: what holds, what does not, and how far anybody could tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from accounts import audit, signing
from accounts.checkpoints import lines
from accounts.checkpoints.book import outside
from accounts.checkpoints.lines import Log, Replacement
from accounts.checkpoints.patience import patiently
from accounts.models import Space
from accounts.signing import Home, Ring
from fluxcore import clock, config
from fluxcore.command_names import typed
from fluxcore.errors import FluxError, Invalid

# How long the outside log may be behind: its copy is made just after the line in the data home.
BEHIND = timedelta(minutes=2)


@dataclass
class Place:
    """A log of checkpoints, and what is wrong with it."""

    path: Path
    log: Log
    problem: str = ""
    believed: bool = True  # whether its word counts against a chain

    @property
    def newest(self) -> str | None:
        return self.log.lines[-1].at if self.log.lines else None


@dataclass(frozen=True)
class Report:
    """The verdict over every chain, against every checkpoint."""

    chains: list[audit.Verdict]
    places: list[Place]
    replaced: list[Replacement]
    checkpoints: dict[str, tuple[int, str]]  # the newest of each chain: entries, when

    @property
    def sound(self) -> bool:
        return all(verdict.sound for verdict in self.chains) and not any(place.problem for place in self.places)


@dataclass(frozen=True)
class Standing:
    """Where a chain stands now, and where it stood at its last checkpoint."""

    chain: str
    space: str | None
    entries: int
    head: str
    newest: str
    checkpoint_entries: int | None
    checkpoint_at: str | None


def verdicts(
    *, home: Home | None = None, chain: str | None = None, chains: Sequence[str] = (),
    kept: Sequence[Path] = (), public_keys: Path | None = None, on_progress: Callable[[int], None] | None = None,
) -> Report:  # fmt: skip
    """Verify all chains, or those named, against the checkpoints of both places and of files kept elsewhere.

    The keys in the data home are what the logs are judged by; `public_keys`, a copy kept elsewhere, is better.
    """
    # The logs first: the chains may grow meanwhile, and must not be shorter than what is read here.
    places = _places(home or settings.HOME, kept=kept, public_keys=public_keys)
    logs = _longest(places)
    known: dict[str, dict[int, str]] = {}
    for log in reversed(logs):  # what was kept elsewhere is believed before the data home's own
        for name, of in log.known().items():
            known.setdefault(name, {}).update(of)
    names = [chain] if chain else list(chains) or sorted({*audit.chains(), *known})
    found = [audit.verify(name, known=known.get(name), on_progress=on_progress) for name in names]
    return Report(found, places, logs[-1].replaced(), logs[-1].last())


def status(home: Home | None = None) -> list[Standing]:
    """Every chain at a glance. Nothing is verified here."""
    last = lines.read((home or settings.HOME).checkpoints, signatures=False).last()
    names = {space.uuid.hex: space.name for space in Space.objects.all()}
    return [
        Standing(chain, names.get(chain), head.seq, head.hash, head.at, *last.get(chain, (None, None)))
        for chain, head in audit.heads().items()
    ]


def known_chains(home: Home | None = None) -> list[str]:
    """The chains the home's own log speaks of, also those that are no longer there."""
    return sorted(lines.read((home or settings.HOME).checkpoints, signatures=False).known())


def warnings(home: Home | None = None) -> list[str]:
    """What an operator should look at. The signatures and chains themselves are `verdicts`' business."""
    home = home or settings.HOME
    found = [f"{place.path} {place.problem}" for place in _places(home, signatures=False) if place.problem]
    minutes = config.current().AUDIT_CHECKPOINT_MINUTES
    late = clock.now() - timedelta(minutes=2 * minutes + 5)
    waiting = [one for one in status(home) if one.entries != one.checkpoint_entries and clock.parse(one.newest) < late]
    if minutes and waiting:
        makes = typed("flux_audit checkpoint")
        found.append(f"{len(waiting)} audit chain(s) wait for a checkpoint: {makes} makes it or says why")
    return found


def _places(
    home: Home, *, kept: Sequence[Path] = (), public_keys: Path | None = None, signatures: bool = True
) -> list[Place]:
    """The home's log, the outside one if there is to be one, those kept elsewhere; each judged and compared."""
    other = outside(home)
    others = [_promised(other, signatures=signatures)] if other else []
    for path in kept:
        if not path.exists():
            raise Invalid(f"{path} is not there.", field="checkpoints")
        others.append(Place(path, lines.read(path, signatures=signatures)))
    # Last, because it is written first: while somebody adds a line it must not seem to lack what another holds.
    own, anchor = _own(home, signatures=signatures)
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


def _promised(path: Path, *, signatures: bool) -> Place:
    """The outside log, which may be out of reach."""
    try:
        there = patiently(path, path.parent.is_dir)
        log = patiently(path, lambda: lines.read(path, signatures=signatures)) if there else Log([])
        return Place(path, log, "" if there else "is out of reach: its folder is not there")
    except OSError as error:
        return Place(path, Log([]), f"is out of reach: {error.strerror}")


def _own(home: Home, *, signatures: bool) -> tuple[Place, list[str]]:
    """The home's log and the public keys beside it, read again if they change just now."""
    for again in (True, False):
        own = Place(home.checkpoints, lines.read(home.checkpoints, signatures=signatures))
        try:
            ring = Ring.of(home)
        except FluxError as error:
            own.problem = error.message
            return own, []
        own.problem = own.log.problem or ring.problem(own.log.keys)
        if not own.problem:
            break
        if again:
            time.sleep(0.1)
    return own, ring.public


def _foreign(log: Log, anchor: list[str], given: Path | None) -> str:
    shared = min(len(log.keys), len(anchor))
    if log.keys[:shared] == anchor[:shared]:
        return ""
    return f"was signed with other keys than those in {given or f'keys/{signing.PUBLIC_KEYS}'}"


def _compare(own: Place, other: Place, *, promised: bool) -> None:
    """Every copy must be the same log. One that a person kept may end earlier; the outside one must keep up."""
    ours, theirs = own.log.lines, other.log.lines
    same = next((at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    if same is not None:
        other.problem = other.problem or f"line {same + 1} is not the one in {own.path}"
    elif len(theirs) > len(ours):
        own.problem = own.problem or f"lacks line {len(ours) + 1} and what follows, which {other.path} holds"
    elif promised and len(theirs) < len(ours) and clock.now() - clock.parse(ours[len(theirs)].at) > BEHIND:
        other.problem = other.problem or f"lacks line {len(theirs) + 1} and what follows, which {own.path} holds"


def _longest(places: list[Place]) -> list[Log]:
    """The logs that are not just an earlier state of another one; the home's comes last where it is among them."""
    found: list[Log] = []
    for log in sorted((place.log for place in places if place.believed), key=lambda one: -len(one.lines)):
        if not any(other.lines[: len(log.lines)] == log.lines for other in found):
            found.append(log)
    return sorted(found, key=lambda one: one is places[0].log) or [Log([])]
