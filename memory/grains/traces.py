"""Receipts of recalls: written behind the answer, small, kept for a while, readable by whoever asked."""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import connection

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import booth, clock, config, lanes, rows
from fluxcore.errors import NotFound
from memory.grains.models import Trace
from memory.grains.receipt import Receipt, packed, unpacked

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


def leave(receipt: Receipt) -> None:
    """Hand the receipt to the booth. The answer does not wait; a kill may lose those of the last moments."""
    row = (
        receipt.id, receipt.space, receipt.actor, receipt.label, receipt.at, receipt.query, receipt.rung,
        receipt.confidence, receipt.hop_count, packed(receipt.body),
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
        unpacked(row.body),
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
