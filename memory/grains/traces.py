"""Receipts of recalls: written behind the answer, small, kept for a while, readable by whoever asked."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import booth, clock, config, lanes, rows
from fluxcore.errors import NotFound
from memory.engine import question
from memory.grains.ask import Ask
from memory.grains.hits import Found, Hit, Step
from memory.grains.hydrate import Particulars
from memory.grains.models import Trace

_COLUMNS = ("uuid", "space", "actor", "label", "at", "query", "rung", "confidence", "hop_count", "body")
_TABLE = Trace._meta.db_table
SETTLED = timedelta(hours=1)
# Traces let go in one minute, so that a long silence does not end in one huge delete.
_AT_ONCE = 5_000
_FORGET = (
    f"DELETE FROM {_TABLE} WHERE id IN (SELECT id FROM {_TABLE} WHERE space_id = %s AND (at < %s OR at < %s "  # noqa: S608
    f"AND id <= COALESCE((SELECT id FROM {_TABLE} WHERE space_id = %s ORDER BY id DESC LIMIT 1 OFFSET %s), 0)) "
    "ORDER BY id LIMIT %s)"
)


@dataclass(frozen=True)
class Receipt:
    """A trace as the rest of the house sees it."""

    id: uuid.UUID
    space: int
    actor: str
    label: str
    at: datetime
    query: str
    rung: str
    confidence: float
    hop_count: int
    body: dict[str, Any]


def body(
    ask: Ask, asked: question.Query, found: Found, kept: list[Hit], grains: dict[int, Particulars]
) -> dict[str, Any]:
    """What the receipt keeps of the way: enough to explain each grain and to draw its path again, in about 2 kB."""
    terms = list(dict.fromkeys(asked.terms))
    return {
        "features": [*terms, *(mention.feature for mention in asked.mentions if mention.feature not in terms)],
        "terms": asked.terms,
        "k": ask.k,
        "bounds": ask.bounds(),
        "weights": found.weights,
        "caps": list(found.caps),
        "fallback": found.fallback,
        "grains": [
            {
                "id": grains[hit.id].uuid,
                "score": round(hit.score, 4),
                "source": hit.source,
                "parts": {name: round(part, 4) for name, part in hit.parts.items() if abs(part) >= 0.0005},
                "matched": [[place, round(part, 4)] for place, part in hit.matched],
                "path": [_step(step, grains) for step in hit.path],
                "same": len(hit.folded),
            }
            for hit in kept
        ],
    }


def _step(step: Step, grains: dict[int, Particulars]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "conduit": step.conduit, "relation": step.relation, "signal": round(step.signal, 4),
        "weight": round(step.weight, 4), "hop": step.hop,
    }  # fmt: skip
    if step.entry:
        said["from_entry"] = step.entry
    if step.start in grains:
        said["from_grain"] = grains[step.start].uuid
    if step.to in grains:
        said["to_grain"] = grains[step.to].uuid
    return said


def leave(receipt: Receipt) -> None:
    """Hand the receipt to the booth. The answer does not wait; a kill may lose those of the last moments."""
    row = (
        receipt.id, receipt.space, receipt.actor, receipt.label, receipt.at, receipt.query, receipt.rung,
        receipt.confidence, receipt.hop_count, orjson.dumps(receipt.body).decode(),
    )  # fmt: skip
    booth.post(lambda: rows.insert(Trace, _COLUMNS, [row]), lane=lanes.of(receipt.space))


def find(principal: Principal, trace: uuid.UUID) -> Receipt:
    """The caller's own receipt. Those of others in the space are for whoever manages its grains."""
    row = Trace.objects.filter(uuid=trace).first()
    if row is None or not principal.reaches(row.space_id):
        raise NotFound("There is no such trace.")
    if row.actor != principal.actor and not may(principal, "grains.manage"):
        raise NotFound("There is no such trace.")
    return Receipt(
        row.uuid, row.space_id, row.actor, row.label, row.at, row.query, row.rung, row.confidence, row.hop_count,
        json.loads(row.body),
    )  # fmt: skip


def forget_old() -> int:
    """The minute's chore: old traces go, and of a space that recalls a lot only the newest stay.

    The last hour always stays: somebody may still be about to say what was useful.
    """
    now, settings = clock.now(), config.current()
    old = rows.adapt_moment(now - timedelta(days=settings.TRACE_RETENTION_DAYS))
    settled = rows.adapt_moment(now - SETTLED)
    forgotten = 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT space_id FROM {_TABLE}")  # noqa: S608
        for (space,) in cursor.fetchall():
            cursor.execute(_FORGET, [space, old, settled, space, settings.TRACE_RETENTION_COUNT, _AT_ONCE])
            forgotten += cursor.rowcount
    return forgotten
