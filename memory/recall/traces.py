"""Receipts of recalls: written behind the answer, small, kept for a while, readable by whoever asked."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import events, raw_sql
from fluxcore.errors import NotFound
from fluxcore.writes import booth, write_locks
from memory.clusters import context_shift
from memory.grains.models import Trace
from memory.recall import grain_recalls, pending_feedback, trace_budget
from memory.recall.trace_record import TraceRecord, pack_trace, reduce_trace, unpack_trace

log = logging.getLogger(__name__)

# Receipts are gathered this long and then written together: a commit for each would cost more than the recall.
BEHIND_SECONDS = 0.05

_COLUMNS = ("uuid", "space", "actor", "label", "at", "query", "rung", "confidence", "hop_count", "body", "rated")
_waiting: dict[uuid.UUID, TraceRecord] = {}
_going: dict[uuid.UUID, TraceRecord] = {}  # handed to the booth and not committed yet
_lock = threading.Lock()
_keeping = threading.Lock()  # one write of receipts at a time
_bell = threading.Event()
_writer: threading.Thread | None = None
_TOGETHER = 500  # receipts in one statement: databases count the values of one
RECALLED = "grains.recalled"


def _begin_anew() -> None:
    """A forked process has the locks as they were and nobody to open them; what waits is the other one's to write."""
    global _lock, _keeping
    _lock, _keeping = threading.Lock(), threading.Lock()
    _waiting.clear()
    _going.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def queue_trace(receipt: TraceRecord) -> None:
    """Keep the receipt soon. The answer does not wait; a kill may lose those of the last moments."""
    if settings.BOOTH == "inline":
        row = _row(receipt)
        booth.post(lambda: _insert([receipt], [row]), lane=write_locks.NO_LOCK)
        _count([receipt])
        return
    with _lock:
        first = not _waiting
        _waiting[receipt.id] = receipt
    if first:
        _ring()


def _ring() -> None:
    """Have it written soon, by a thread that waits for this; a forked process needs one of its own."""
    global _writer
    if _writer is None or not _writer.is_alive():
        with _lock:
            if _writer is None or not _writer.is_alive():
                _writer = threading.Thread(target=_write_on, name="receipts", daemon=True)
                _writer.start()
    _bell.set()


def _write_on() -> None:
    while True:
        _bell.wait()
        time.sleep(BEHIND_SECONDS)
        _bell.clear()
        flush()


def write_queued(wanted: Iterable[uuid.UUID]) -> None:
    """Keep these now, if they wait here: what is said about an answer must never be durable before the answer is."""
    if any(_held(one) for one in wanted):
        _keep()


def flush() -> None:
    """Write what waits, all of it at once."""
    try:
        _keep()
    except Exception as error:
        log.warning("traces could not be stored: %s", type(error).__name__)


def _keep() -> None:
    """Return when everything is kept that was left here before, also what somebody else is just writing."""
    with _keeping:
        gathered = _gathered()
        if gathered:
            try:
                kept = [_row(receipt) for receipt in gathered]  # here, so that no writer waits for it
                booth.write(lambda: _insert(gathered, kept), lane=write_locks.NO_LOCK)
            finally:
                _going.clear()
            _count(gathered)


def _count(receipts: list[TraceRecord]) -> None:
    """Those that looked wider are counted: after so many it ends."""
    wider = [one.space for one in receipts if one.exploring]
    if wider:
        context_shift.count_wide_recalls(wider)


@atexit.register
def _at_the_end() -> None:
    """A process that ends by itself waits for its last ones: the booth ends with it and would leave them behind."""
    flush()


def _gathered() -> list[TraceRecord]:
    with _lock:
        found = list(_waiting.values())
        _going.update(_waiting)  # first: a receipt is never in neither
        _waiting.clear()
    return found


def _held(trace: uuid.UUID) -> TraceRecord | None:
    """One that waits here, or is being written and cannot be read yet."""
    return _waiting.get(trace) or _going.get(trace)


def _insert(receipts: list[TraceRecord], kept: list[tuple[Any, ...]]) -> None:
    """The receipts as rows, for each grain that it was recalled, and the news of it."""
    for begin in range(0, len(receipts), _TOGETHER):
        part = receipts[begin : begin + _TOGETHER]
        found = raw_sql.upsert(Trace, _COLUMNS, kept[begin : begin + _TOGETHER], "RETURNING uuid, id")
        numbers = {
            outside if isinstance(outside, uuid.UUID) else uuid.UUID(outside): number for outside, number in found
        }
        grain_recalls.record_recalls([(one.space, numbers[one.id], one.grains) for one in part])
        pending_feedback.refresh_pending((one.space, one.actor) for one in part)
        _notice((one.space, numbers[one.id], one.actor) for one in part)
    _tell(receipts)


def _notice(asked: Iterable[tuple[int, int, str]]) -> None:
    from memory.learning import inferred_votes  # which reads traces itself

    inferred_votes.notice_recalls(asked)


def _tell(receipts: list[TraceRecord]) -> None:
    """One event for all recalls of a space. What was asked is not in it: that is looked up by who may."""
    spaces: dict[int, list[TraceRecord]] = {}
    for one in receipts:
        spaces.setdefault(one.space, []).append(one)
    for space, told in spaces.items():
        actors = {one.actor for one in told}
        events.append(
            RECALLED,
            space=space,
            actor=actors.pop() if len(actors) == 1 else "",
            subject=str(told[0].id) if len(told) == 1 else "",
            data={"recalls": [_news(one) for one in told]},
        )


def _news(receipt: TraceRecord) -> dict[str, Any]:
    return {
        "trace": str(receipt.id),
        "actor": receipt.actor,
        "confidence": round(receipt.confidence, 4),
        "hops": receipt.hop_count,
        "fallback": bool(receipt.body["fallback"]),
        "grains": len(receipt.body["grains"]),
        "rung": receipt.rung,
        **({"label": receipt.label} if receipt.label else {}),
    }


def _row(receipt: TraceRecord) -> tuple[Any, ...]:
    query, body = receipt.query, pack_trace(receipt.body)
    if not trace_budget.spend_bytes(receipt.space, receipt.actor, len(query) + len(body)):
        query, less = reduce_trace(query, receipt.body)
        body = pack_trace(less)
    return (
        receipt.id,
        receipt.space,
        receipt.actor,
        receipt.label,
        receipt.at,
        query,
        receipt.rung,
        receipt.confidence,
        receipt.hop_count,
        body,
        not receipt.grains,
    )


def find_trace(principal: Principal, trace: uuid.UUID) -> TraceRecord:
    """The caller's own receipt. Those of others in the space are for whoever manages its grains."""
    found = _read(trace)
    if found is None or not principal.reaches(found.space):
        raise NotFound("There is no trace with this id.")
    if found.actor != principal.actor and not may(principal, "grains.manage"):
        raise NotFound("There is no trace with this id.")
    return found


def _read(trace: uuid.UUID) -> TraceRecord | None:
    return load_traces([trace]).get(trace)


def load_traces(wanted: Sequence[uuid.UUID]) -> dict[uuid.UUID, TraceRecord]:
    """From where they wait, or from where they are kept; another process may be about to write them."""
    found: dict[uuid.UUID, TraceRecord] = {}
    for patience in (2 * BEHIND_SECONDS, 0.0):
        found |= {one: held for one in wanted if (held := _held(one)) is not None}
        left = [one for one in wanted if one not in found]
        found |= {row.uuid: _receipt(row) for row in Trace.objects.filter(uuid__in=left)} if left else {}
        if len(found) == len(set(wanted)) or settings.BOOTH == "inline":
            break
        time.sleep(patience)
    return found


def _receipt(row: Trace) -> TraceRecord:
    return TraceRecord(
        row.uuid,
        row.space_id,
        row.actor,
        row.label,
        row.at,
        row.query,
        row.rung,
        row.confidence,
        row.hop_count,
        unpack_trace(row.body),
    )
