"""Audit chains on the admin pages: names, status and verification, limited to what a person may read."""

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

# Most entries verified on a page, which takes some seconds. Longer chains are verified in the shell.
MOST_ENTRIES = 200_000

INSTANCE = "the instance"  # name of its chain beside the names of spaces

_turn = threading.Lock()


@dataclass(frozen=True)
class LastVerification:
    """Result of the last verification of a chain in this process."""

    verdict: audit.ChainVerdict
    at: datetime


_verified: dict[str, LastVerification] = {}


def readable_chains(who: SignedIn) -> dict[str, str]:
    """Chains a person may read, with their names: those of their spaces, and for administrators the instance's."""
    found = {INSTANCE_CHAIN: INSTANCE} if who.may("audit.read") else {}
    allowed = set(who.spaces_where("audit.read"))
    return found | {space.uuid.hex: space.name for space in who.spaces.values() if space.pk in allowed}


def visible_statuses(who: SignedIn) -> list[ChainStatus]:
    mine = readable_chains(who)
    return [status for status in checkpoints.chain_statuses() if status.chain in mine or who.may("audit.read")]


def verifiable_chains(who: SignedIn) -> dict[str, str]:
    """Chains a person may verify; for administrators also chains without a space, and removed chains."""
    found = readable_chains(who)
    if who.may("audit.read"):
        known = {status.chain for status in checkpoints.chain_statuses()} | set(checkpoints.known_chains())
        found |= {chain: chain[:8] for chain in sorted(known - set(found))}
    return found


def last_verification(chain: str) -> LastVerification | None:
    return _verified.get(chain)


def broken_chains() -> list[str]:
    """Chains that failed their last verification in this process."""
    return [chain for chain, found in _verified.items() if not found.verdict.sound]


def verify(chains: list[str]) -> tuple[VerificationReport, float]:
    """Verify chains against the checkpoints; returns the report and the seconds it took."""
    heads = audit.heads()
    entries = sum(heads[chain].seq for chain in chains if chain in heads)
    if entries > MOST_ENTRIES:
        raise limit_messages.too_large_for_a_page(
            f"A verification on this page ({entries} entries are selected)",
            limit=MOST_ENTRIES,
            unit="entries",
            command="flux_audit verify",
        )
    if not _turn.acquire(blocking=False):
        raise Busy("Another verification is running. Try again in a moment.", retry_after=5)
    started = time.monotonic()
    try:
        report = checkpoints.verify_chains(chains=chains)
    finally:
        _turn.release()
    moment = clock.now()
    _verified.update({verdict.chain: LastVerification(verdict, moment) for verdict in report.chains})
    return report, time.monotonic() - started
