"""Traces of recalls: queued with the answer, written in the background in batches, readable by their caller."""

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

# Traces are collected this long and then written together: a commit for each would cost more than the recall.
BEHIND_SECONDS = 0.05

_COLUMNS = ("uuid", "space", "actor", "label", "at", "query", "rung", "confidence", "hop_count", "body", "rated")
_queue: dict[uuid.UUID, TraceRecord] = {}
_in_flight: dict[uuid.UUID, TraceRecord] = {}  # passed to the booth and not committed yet
_lock = threading.Lock()
_writing = threading.Lock()  # one write of traces at a time
_wakeup = threading.Event()
_writer: threading.Thread | None = None
_TOGETHER = 500  # traces in one statement: databases limit its parameters
RECALLED = "grains.recalled"


def _reset_after_fork() -> None:
    """New locks and empty queues in a forked process; queued traces are written by its parent."""
    global _lock, _writing
    _lock, _writing = threading.Lock(), threading.Lock()
    _queue.clear()
    _in_flight.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def queue_trace(trace: TraceRecord) -> None:
    """Queue a trace to be written soon. The answer does not wait; a kill may lose the latest traces."""
    if settings.BOOTH == "inline":
        row = _to_row(trace)
        booth.post(lambda: _insert([trace], [row]), lock=write_locks.NO_LOCK)
        _count_exploring([trace])
        return
    with _lock:
        first = not _queue
        _queue[trace.id] = trace
    if first:
        _wake_writer()


def _wake_writer() -> None:
    """Wake the writer thread, started if it does not run; a forked process needs its own."""
    global _writer
    if _writer is None or not _writer.is_alive():
        with _lock:
            if _writer is None or not _writer.is_alive():
                _writer = threading.Thread(target=_writer_loop, name="traces", daemon=True)
                _writer.start()
    _wakeup.set()


def _writer_loop() -> None:
    while True:
        _wakeup.wait()
        time.sleep(BEHIND_SECONDS)
        _wakeup.clear()
        flush()


def write_queued(wanted: Iterable[uuid.UUID]) -> None:
    """Write these traces now if they are queued: feedback must not be durable before its trace is."""
    if any(_pending(one) for one in wanted):
        _write_all()


def flush() -> None:
    """Write all queued traces."""
    try:
        _write_all()
    except Exception as error:
        log.warning("traces could not be stored: %s", type(error).__name__)


def _write_all() -> None:
    """Write the queue; returns when all earlier traces are written, also those another thread is writing."""
    with _writing:
        queued = _take_queue()
        if queued:
            try:
                rows = [_to_row(trace) for trace in queued]  # packed here, so that the booth does not wait for it
                booth.write(lambda: _insert(queued, rows), lock=write_locks.NO_LOCK)
            finally:
                _in_flight.clear()
            _count_exploring(queued)


def _count_exploring(traces: list[TraceRecord]) -> None:
    """Count recalls in exploration, which ends after a number of them."""
    spaces = [trace.space for trace in traces if trace.exploring]
    if spaces:
        context_shift.count_wide_recalls(spaces)


@atexit.register
def _flush_at_exit() -> None:
    """Write the last traces at process exit, before the booth ends."""
    flush()


def _take_queue() -> list[TraceRecord]:
    with _lock:
        found = list(_queue.values())
        _in_flight.update(_queue)  # before the clear: a trace is always in one of the two
        _queue.clear()
    return found


def _pending(trace: uuid.UUID) -> TraceRecord | None:
    """A trace that is queued, or is being written and cannot be read from the database yet."""
    return _queue.get(trace) or _in_flight.get(trace)


def _insert(traces: list[TraceRecord], rows: list[tuple[Any, ...]]) -> None:
    """Insert traces, note the recall of each grain, and append the events."""
    for begin in range(0, len(traces), _TOGETHER):
        part = traces[begin : begin + _TOGETHER]
        found = raw_sql.upsert(Trace, _COLUMNS, rows[begin : begin + _TOGETHER], "RETURNING uuid, id")
        numbers = {
            identifier if isinstance(identifier, uuid.UUID) else uuid.UUID(identifier): number
            for identifier, number in found
        }
        grain_recalls.record_recalls([(trace.space, numbers[trace.id], trace.grains) for trace in part])
        pending_feedback.refresh_pending((trace.space, trace.actor) for trace in part)
        _infer_votes((trace.space, numbers[trace.id], trace.actor) for trace in part)
    _append_events(traces)


def _infer_votes(asked: Iterable[tuple[int, int, str]]) -> None:
    from memory.learning import inferred_votes  # which reads traces itself

    inferred_votes.notice_recalls(asked)


def _append_events(traces: list[TraceRecord]) -> None:
    """One event per space for all its recalls, without queries: those need the right to read the trace."""
    spaces: dict[int, list[TraceRecord]] = {}
    for trace in traces:
        spaces.setdefault(trace.space, []).append(trace)
    for space, space_traces in spaces.items():
        actors = {trace.actor for trace in space_traces}
        events.append(
            RECALLED,
            space=space,
            actor=actors.pop() if len(actors) == 1 else "",
            subject=str(space_traces[0].id) if len(space_traces) == 1 else "",
            data={"recalls": [_event_data(trace) for trace in space_traces]},
        )


def _event_data(trace: TraceRecord) -> dict[str, Any]:
    return {
        "trace": str(trace.id),
        "actor": trace.actor,
        "confidence": round(trace.confidence, 4),
        "hops": trace.hop_count,
        "fallback": bool(trace.body["fallback"]),
        "grains": len(trace.body["grains"]),
        "rung": trace.rung,
        **({"label": trace.label} if trace.label else {}),
    }


def _to_row(trace: TraceRecord) -> tuple[Any, ...]:
    query, body = trace.query, pack_trace(trace.body)
    if not trace_budget.spend_bytes(trace.space, trace.actor, len(query.encode()) + len(body.encode())):
        query, less = reduce_trace(query, trace.body)
        body = pack_trace(less)
    return (
        trace.id,
        trace.space,
        trace.actor,
        trace.label,
        trace.at,
        query,
        trace.rung,
        trace.confidence,
        trace.hop_count,
        body,
        not trace.grains,
    )


def find_trace(principal: Principal, trace: uuid.UUID) -> TraceRecord:
    """A trace of the caller; traces of others need the capability grains.manage. Raises NotFound."""
    record = _read(trace)
    if record is None or not principal.reaches(record.space):
        raise NotFound("There is no trace with this id.")
    if record.actor != principal.actor and not may(principal, "grains.manage"):
        raise NotFound("There is no trace with this id.")
    return record


def _read(trace: uuid.UUID) -> TraceRecord | None:
    return load_traces([trace]).get(trace)


def load_traces(wanted: Sequence[uuid.UUID]) -> dict[uuid.UUID, TraceRecord]:
    """Traces from the queue or the database; waits briefly, as another process may be about to write them."""
    found: dict[uuid.UUID, TraceRecord] = {}
    for patience in (2 * BEHIND_SECONDS, 0.0):
        found |= {one: held for one in wanted if (held := _pending(one)) is not None}
        left = [one for one in wanted if one not in found]
        found |= {row.uuid: _from_row(row) for row in Trace.objects.filter(uuid__in=left)} if left else {}
        if len(found) == len(set(wanted)) or settings.BOOTH == "inline":
            break
        time.sleep(patience)
    return found


def _from_row(row: Trace) -> TraceRecord:
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
