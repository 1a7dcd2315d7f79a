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
from fluxcore import booth, events, lanes, rows
from fluxcore.errors import NotFound
from memory.grains import history, trace_budget
from memory.grains.clusters import shift
from memory.grains.learning import due
from memory.grains.models import Trace
from memory.grains.receipt import Receipt, packed, reduced, unpacked

log = logging.getLogger(__name__)

# Receipts are gathered this long and then written together: a commit for each would cost more than the recall.
BEHIND_SECONDS = 0.05

_COLUMNS = ("uuid", "space", "actor", "label", "at", "query", "rung", "confidence", "hop_count", "body", "rated")
_waiting: dict[uuid.UUID, Receipt] = {}
_going: dict[uuid.UUID, Receipt] = {}  # handed to the booth and not committed yet
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


def leave(receipt: Receipt) -> None:
    """Keep the receipt soon. The answer does not wait; a kill may lose those of the last moments."""
    if settings.BOOTH == "inline":
        row = _row(receipt)
        booth.post(lambda: _insert([receipt], [row]), lane=lanes.FREE)
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


def settle(wanted: Iterable[uuid.UUID]) -> None:
    """Keep these now, if they wait here: what is said about an answer must never be durable before the answer is."""
    if any(_held(one) for one in wanted):
        _keep()


def flush() -> None:
    """Write what waits, all of it at once."""
    try:
        _keep()
    except Exception as error:
        log.warning("receipts could not be kept: %s", type(error).__name__)


def _keep() -> None:
    """Return when everything is kept that was left here before, also what somebody else is just writing."""
    with _keeping:
        gathered = _gathered()
        if gathered:
            try:
                kept = [_row(receipt) for receipt in gathered]  # here, so that no writer waits for it
                booth.write(lambda: _insert(gathered, kept), lane=lanes.FREE)
            finally:
                _going.clear()
            _count(gathered)


def _count(receipts: list[Receipt]) -> None:
    """Those that looked wider are counted: after so many it ends."""
    wider = [one.space for one in receipts if one.exploring]
    if wider:
        shift.spend(wider)


@atexit.register
def _at_the_end() -> None:
    """A process that ends by itself waits for its last ones: the booth ends with it and would leave them behind."""
    flush()


def _gathered() -> list[Receipt]:
    with _lock:
        found = list(_waiting.values())
        _going.update(_waiting)  # first: a receipt is never in neither
        _waiting.clear()
    return found


def _held(trace: uuid.UUID) -> Receipt | None:
    """One that waits here, or is being written and cannot be read yet."""
    return _waiting.get(trace) or _going.get(trace)


def _insert(receipts: list[Receipt], kept: list[tuple[Any, ...]]) -> None:
    """The receipts as rows, for each grain that it was recalled, and the news of it."""
    for begin in range(0, len(receipts), _TOGETHER):
        part = receipts[begin : begin + _TOGETHER]
        found = rows.upsert(Trace, _COLUMNS, kept[begin : begin + _TOGETHER], "RETURNING uuid, id")
        numbers = {
            outside if isinstance(outside, uuid.UUID) else uuid.UUID(outside): number for outside, number in found
        }
        history.note([(one.space, numbers[one.id], one.grains) for one in part])
        due.look((one.space, one.actor) for one in part)
        _notice((one.space, numbers[one.id], one.actor) for one in part)
    _tell(receipts)


def _notice(asked: Iterable[tuple[int, int, str]]) -> None:
    from memory.grains.learning import implied  # which reads traces itself

    implied.noticed(asked)


def _tell(receipts: list[Receipt]) -> None:
    """One event for all recalls of a space. What was asked is not in it: that is looked up by who may."""
    spaces: dict[int, list[Receipt]] = {}
    for one in receipts:
        spaces.setdefault(one.space, []).append(one)
    for space, told in spaces.items():
        actors = {one.actor for one in told}
        events.append(
            RECALLED, space=space, actor=actors.pop() if len(actors) == 1 else "",
            subject=str(told[0].id) if len(told) == 1 else "", data={"recalls": [_news(one) for one in told]},
        )  # fmt: skip


def _news(receipt: Receipt) -> dict[str, Any]:
    return {
        "trace": str(receipt.id), "actor": receipt.actor, "confidence": round(receipt.confidence, 4),
        "hops": receipt.hop_count, "fallback": bool(receipt.body["fallback"]), "grains": len(receipt.body["grains"]),
        "rung": receipt.rung, **({"label": receipt.label} if receipt.label else {}),
    }  # fmt: skip


def _row(receipt: Receipt) -> tuple[Any, ...]:
    query, body = receipt.query, packed(receipt.body)
    if not trace_budget.spend(receipt.space, receipt.actor, len(query) + len(body)):
        query, less = reduced(query, receipt.body)
        body = packed(less)
    return (
        receipt.id, receipt.space, receipt.actor, receipt.label, receipt.at, query, receipt.rung,
        receipt.confidence, receipt.hop_count, body, not receipt.grains,
    )  # fmt: skip


def find(principal: Principal, trace: uuid.UUID) -> Receipt:
    """The caller's own receipt. Those of others in the space are for whoever manages its grains."""
    found = _read(trace)
    if found is None or not principal.reaches(found.space):
        raise NotFound("There is no such trace.")
    if found.actor != principal.actor and not may(principal, "grains.manage"):
        raise NotFound("There is no such trace.")
    return found


def _read(trace: uuid.UUID) -> Receipt | None:
    return several([trace]).get(trace)


def several(wanted: Sequence[uuid.UUID]) -> dict[uuid.UUID, Receipt]:
    """From where they wait, or from where they are kept; another process may be about to write them."""
    found: dict[uuid.UUID, Receipt] = {}
    for patience in (2 * BEHIND_SECONDS, 0.0):
        found |= {one: held for one in wanted if (held := _held(one)) is not None}
        left = [one for one in wanted if one not in found]
        found |= {row.uuid: _receipt(row) for row in Trace.objects.filter(uuid__in=left)} if left else {}
        if len(found) == len(set(wanted)) or settings.BOOTH == "inline":
            break
        time.sleep(patience)
    return found


def _receipt(row: Trace) -> Receipt:
    return Receipt(
        row.uuid, row.space_id, row.actor, row.label, row.at, row.query, row.rung, row.confidence, row.hop_count,
        unpacked(row.body),
    )  # fmt: skip
