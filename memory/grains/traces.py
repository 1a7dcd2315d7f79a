"""Receipts of recalls: written behind the answer, small, kept for a while, readable by whoever asked."""

from __future__ import annotations

import uuid

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import booth, lanes, rows
from fluxcore.errors import NotFound
from memory.grains.models import Trace
from memory.grains.receipt import Receipt, packed, unpacked

_COLUMNS = ("uuid", "space", "actor", "label", "at", "query", "rung", "confidence", "hop_count", "body")


def leave(receipt: Receipt) -> None:
    """Hand the receipt to the booth. The answer does not wait; a kill may lose those of the last moments."""
    row = (
        receipt.id, receipt.space, receipt.actor, receipt.label, receipt.at, receipt.query, receipt.rung,
        receipt.confidence, receipt.hop_count, packed(receipt.body),
    )  # fmt: skip
    booth.post(lambda: rows.insert(Trace, _COLUMNS, [row]), lane=lanes.FREE)


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
