"""Audit chain: who did what, as tamper-evident hash chains.

One chain per space and one for the instance. The hash of an entry covers its fields and the previous hash, as canonical
JSON, so that field boundaries cannot be shifted. Content is never in the chain, only its digest. The booth writes the
entries of a batch just before its commit, so that there is no write without its entry.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from accounts.models import AuditEntry
from accounts.principals import Principal
from fluxcore import clock, raw_sql
from fluxcore.canonical_json import dumps
from fluxcore.writes import booth, limits, write_locks

GENESIS = "0" * 64
MAX_REFUSALS_PER_MINUTE = 600
_COLUMNS = ("chain", "seq", "at", "actor", "action", "object", "outcome", "reason", "details", "prev", "hash")
# A constant that separates our advisory locks from anybody else's in the same PostgreSQL database.
_LOCK_SPACE = 0x464C5558


def record(
    principal: Principal,
    action: str,
    object: str,
    *,
    outcome: str = "done",
    reason: str = "",
    details: dict[str, Any] | None = None,
    chain: str | None = None,
) -> None:
    """Add an audit entry to the outbox of the running write."""
    found = dict(details or {})
    if principal.label:
        found["label"] = principal.label
    booth.outbox().add(
        "audit",
        (
            chain or principal.chain,
            clock.now(),
            principal.actor,
            action,
            readable(object, 200),
            outcome,
            readable(reason, 500),
            readable(dumps(found)),
        ),
    )


# Control characters, and characters that hide or reorder text.
_UNREADABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def readable(text: str, length: int | None = None) -> str:
    """Escape control characters in callers' text, which could fake a line of a report or control a terminal."""
    if text.isprintable():
        return text[:length]
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)[:length]


def refuse(principal: Principal, action: str, object: str, *, details: dict[str, Any]) -> None:
    """Record a refused request of a known principal, in a separate write.

    Entries are kept for ever, so their number is limited: above the limit the caller gets a 429 instead.
    """
    ticket = None
    who = f"{principal.agent}" if principal.agent is not None else f"user:{principal.user}" if principal.user else ""
    if who:
        ticket = limits.ask(f"refusals:{who}", cost=1, limit=MAX_REFUSALS_PER_MINUTE)

    def write_link() -> None:
        if ticket is not None:
            ticket.take()
        record(principal, action, object, outcome="refused", details=details)

    booth.write(write_link, lock=write_locks.lock_name(principal.space), agent=principal.actor)


def hash_of(
    chain: str,
    seq: int,
    at: datetime,
    actor: str,
    action: str,
    object: str,
    outcome: str,
    reason: str,
    details: str,
    prev: str,
) -> str:
    fields = [chain, seq, clock.rfc3339(at), actor, action, object, outcome, reason, details, prev]
    return hashlib.sha256(dumps(fields).encode()).hexdigest()


def write(entries: list[tuple[str, datetime, str, str, str, str, str, str]]) -> None:
    """Batch writer of the audit log: number, hash and insert the entries of a batch."""
    by_chain: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for entry in entries:
        by_chain[entry[0]].append(entry)
    new: list[tuple[Any, ...]] = []
    # All processes use the order of the locks, so that two batches cannot deadlock.
    for chain in sorted(by_chain, key=write_locks.lock_key):
        seq, prev = _head_for_writing(chain)
        for _, at, actor, action, object, outcome, reason, details in by_chain[chain]:
            seq += 1
            fields = (chain, seq, at, actor, action, object, outcome, reason, details, prev)
            prev = hash_of(*fields)
            new.append((*fields, prev))
    raw_sql.insert(AuditEntry, _COLUMNS, new)


def _head_for_writing(chain: str) -> tuple[int, str]:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_SPACE, write_locks.lock_key(chain)])
        cursor.execute(
            f"SELECT seq, hash FROM {AuditEntry._meta.db_table} WHERE chain = %s ORDER BY seq DESC LIMIT 1",  # noqa: S608
            [chain],
        )
        row = cursor.fetchone()
    return row or (0, GENESIS)


@dataclass(frozen=True)
class ChainVerdict:
    """What verification found in one chain."""

    chain: str
    entries: int
    head: str
    broken_at: int | None = None  # position of the first invalid entry
    problem: str = ""

    @property
    def sound(self) -> bool:
        return self.broken_at is None


# One index lookup per chain, however long the chains are; SELECT DISTINCT would read all entries.
_HEADS = f"""
    WITH RECURSIVE name(chain) AS (
        SELECT MIN(chain) FROM {AuditEntry._meta.db_table}
        UNION ALL
        SELECT (SELECT MIN(chain) FROM {AuditEntry._meta.db_table} WHERE chain > name.chain)
        FROM name WHERE name.chain IS NOT NULL
    )
    SELECT entry.chain, entry.seq, entry.hash, entry.at FROM name JOIN {AuditEntry._meta.db_table} entry
    ON entry.chain = name.chain
    AND entry.seq = (SELECT MAX(seq) FROM {AuditEntry._meta.db_table} WHERE chain = name.chain)
"""  # noqa: S608


@dataclass(frozen=True)
class ChainHead:
    """The newest entry of a chain."""

    seq: int
    hash: str
    at: str


def heads() -> dict[str, ChainHead]:
    """The newest entry of every chain, read in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_HEADS)
        found = {chain: ChainHead(seq, hash, clock.rfc3339(at) or "") for chain, seq, hash, at in cursor.fetchall()}
    return dict(sorted(found.items()))


def chains() -> list[str]:
    return list(heads())


def verify(
    chain: str,
    *,
    on_progress: Callable[[int], None] | None = None,
    known: Mapping[int, str] | None = None,
    after: tuple[int, str] = (0, GENESIS),
) -> ChainVerdict:
    """Verify a chain; the verdict names the first entry that was edited, removed, inserted or moved.

    A chain alone does not show that its end was cut off or rewritten: for that, `known` has the hashes signed by
    checkpoints, by position. `after` starts the verification after an entry that is known to be valid.
    """
    expected, prev, signed = after[0] + 1, after[1], after[0]
    earlier = prev  # the hash before prev
    known = known or {}
    for entry in _walk(chain, after[0] or None):
        if entry["seq"] != expected:
            return ChainVerdict(chain, expected - 1, prev, expected, f"entry {expected} is missing")
        if hash_of(*(entry[name] for name in _COLUMNS[:-1])) != entry["hash"]:
            return ChainVerdict(chain, expected - 1, prev, expected, "was changed after it was written")
        if entry["prev"] != prev and expected - 1 > signed:
            # This entry is unchanged but has another previous hash: the entry before it was changed and got a new hash.
            return ChainVerdict(
                chain, expected - 2, earlier, expected - 1, "is not the one the next entry was chained to"
            )
        if entry["prev"] != prev:
            return ChainVerdict(chain, expected - 1, prev, expected, "does not follow the entry before it")
        if expected in known:
            if entry["hash"] != known[expected]:
                problem = f"differs from the entry a checkpoint signed: the chain was rewritten after entry {signed}"
                return ChainVerdict(chain, expected - 1, prev, expected, problem)
            signed = expected
        earlier, prev = prev, entry["hash"]
        expected += 1
        if on_progress is not None:
            on_progress(1)
    last_signed = max(known, default=0)
    if expected <= last_signed:
        problem = f"entry {expected} is missing: a checkpoint signed {last_signed} entries"
        return ChainVerdict(chain, expected - 1, prev, expected, problem)
    return ChainVerdict(chain, expected - 1, prev)


def _walk(chain: str, after: int | None = None) -> Iterator[dict[str, Any]]:
    found = AuditEntry.objects.filter(chain=chain)
    if after is not None:  # without it, invalid positions of 0 and below must be read too
        found = found.filter(seq__gt=after)
    yield from found.order_by("seq").values(*_COLUMNS).iterator(chunk_size=2000)


def export(chain: str, *, after: int | None = None) -> Iterator[dict[str, Any]]:
    """The entries as they are hashed, for independent verification; all, or those after a position."""
    for entry in _walk(chain, after):
        yield {**entry, "at": clock.rfc3339(entry["at"])}


def tail(*, chain: str | None = None, actor: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
    found = AuditEntry.objects.order_by("-id")
    if chain:
        found = found.filter(chain=chain)
    if actor:
        found = found.filter(actor=actor)
    return [{**entry, "at": clock.rfc3339(entry["at"])} for entry in found.values(*_COLUMNS)[:limit]]
