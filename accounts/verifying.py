"""The audit chains as a person may see them: their names, where they stand, and whether they hold."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime

from accounts import audit, checkpoints
from accounts.checkpoints import Report, Standing
from accounts.here import Here
from accounts.principals import INSTANCE_CHAIN
from fluxcore import clock, limit_messages
from fluxcore.errors import Busy

# Some seconds of work. Whoever has longer chains verifies them in the shell, where nobody else waits for it.
MOST_ENTRIES = 200_000

INSTANCE = "the instance"  # how its chain is called where spaces have their names

_turn = threading.Lock()


@dataclass(frozen=True)
class Known:
    """What the last look at a chain found, in this process."""

    verdict: audit.Verdict
    at: datetime


_known: dict[str, Known] = {}


def names(who: Here) -> dict[str, str]:
    """The chains somebody may read, with their names: the instance's for administrators, those of their spaces."""
    found = {INSTANCE_CHAIN: INSTANCE} if who.may("audit.read") else {}
    allowed = set(who.spaces_where("audit.read"))
    return found | {space.uuid.hex: space.name for space in who.spaces.values() if space.pk in allowed}


def standings(who: Here) -> list[Standing]:
    mine = names(who)
    return [one for one in checkpoints.status() if one.chain in mine or who.may("audit.read")]


def chains(who: Here) -> dict[str, str]:
    """What somebody may have walked through. For administrators also chains whose space is gone, or that are gone."""
    found = names(who)
    if who.may("audit.read"):
        known = {one.chain for one in checkpoints.status()} | set(checkpoints.known_chains())
        found |= {chain: chain[:8] for chain in sorted(known - set(found))}
    return found


def last_look(chain: str) -> Known | None:
    return _known.get(chain)


def broken() -> list[str]:
    """Chains that did not hold when somebody last looked."""
    return [chain for chain, found in _known.items() if not found.verdict.sound]


def verify(chains: list[str]) -> tuple[Report, float]:
    """Walk these chains against the checkpoints: what was found, and in how many seconds."""
    heads = audit.heads()
    entries = sum(heads[chain].seq for chain in chains if chain in heads)
    if entries > MOST_ENTRIES:
        raise limit_messages.too_large_for_a_page(
            f"A check on this page ({entries} entries are chosen)",
            limit=MOST_ENTRIES,
            unit="entries",
            command="flux_audit verify",
        )
    if not _turn.acquire(blocking=False):
        raise Busy("Somebody is verifying already. Try again in a moment.", retry_after=5)
    begun = time.monotonic()
    try:
        report = checkpoints.verdicts(chains=chains)
    finally:
        _turn.release()
    moment = clock.now()
    _known.update({verdict.chain: Known(verdict, moment) for verdict in report.chains})
    return report, time.monotonic() - begun
