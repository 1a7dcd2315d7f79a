"""The audit chains as a person may see them: their names, where they stand, and whether they hold."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import datetime

from accounts import audit
from accounts.audit import checkpoints
from accounts.audit.checkpoints import ChainStatus, VerificationReport
from accounts.principals import INSTANCE_CHAIN
from accounts.visitor import SignedIn
from fluxcore import clock
from fluxcore.errors import Busy
from fluxcore.writes import limit_messages

# Some seconds of work. Whoever has longer chains verifies them in the shell, where nobody else waits for it.
MOST_ENTRIES = 200_000

INSTANCE = "the instance"  # how its chain is called where spaces have their names

_turn = threading.Lock()


@dataclass(frozen=True)
class LastVerification:
    """What the last look at a chain found, in this process."""

    verdict: audit.ChainVerdict
    at: datetime


_verified: dict[str, LastVerification] = {}


def readable_chains(who: SignedIn) -> dict[str, str]:
    """The chains somebody may read, with their names: the instance's for administrators, those of their spaces."""
    found = {INSTANCE_CHAIN: INSTANCE} if who.may("audit.read") else {}
    allowed = set(who.spaces_where("audit.read"))
    return found | {space.uuid.hex: space.name for space in who.spaces.values() if space.pk in allowed}


def visible_statuses(who: SignedIn) -> list[ChainStatus]:
    mine = readable_chains(who)
    return [one for one in checkpoints.chain_statuses() if one.chain in mine or who.may("audit.read")]


def verifiable_chains(who: SignedIn) -> dict[str, str]:
    """What somebody may have walked through. For administrators also chains whose space is gone, or that are gone."""
    found = readable_chains(who)
    if who.may("audit.read"):
        known = {one.chain for one in checkpoints.chain_statuses()} | set(checkpoints.known_chains())
        found |= {chain: chain[:8] for chain in sorted(known - set(found))}
    return found


def last_verification(chain: str) -> LastVerification | None:
    return _verified.get(chain)


def broken_chains() -> list[str]:
    """Chains that did not hold when somebody last looked."""
    return [chain for chain, found in _verified.items() if not found.verdict.sound]


def verify(chains: list[str]) -> tuple[VerificationReport, float]:
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
        raise Busy("Another verification is running. Try again in a moment.", retry_after=5)
    begun = time.monotonic()
    try:
        report = checkpoints.verify_chains(chains=chains)
    finally:
        _turn.release()
    moment = clock.now()
    _verified.update({verdict.chain: LastVerification(verdict, moment) for verdict in report.chains})
    return report, time.monotonic() - begun
