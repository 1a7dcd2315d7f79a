"""Pending feedback: answers their caller has not judged yet, and the reminder of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config, raw_sql, uptime
from fluxcore.errors import FeedbackDue
from memory.grains.hydrate import dashed_uuid
from memory.grains.models import Trace
from memory.recall import trace_record

LISTED = 50
HINTED = 3
_TABLE = Trace._meta.db_table
_WHERE = "WHERE space_id = %s AND actor = %s AND NOT rated AND at >= %s AND at <= %s ORDER BY id DESC LIMIT %s"
_LOOK = f"SELECT uuid, at FROM {_TABLE} {_WHERE}"  # noqa: S608
_LIST = f"SELECT uuid, query, at, body FROM {_TABLE} {_WHERE}"  # noqa: S608
_FORGIVE = f"UPDATE {_TABLE} SET rated = %s WHERE NOT rated AND at < %s"  # noqa: S608


@selector("grains.pending_feedback", needs="grains.feedback")
def list_pending(principal: Principal) -> dict[str, Any]:
    """The caller's own answers of the last day without feedback, newest first."""
    found = _rows(_LIST, principal, LISTED + 1) if principal.space is not None else []
    return {
        "pending": [
            {
                "trace_id": _dashed(outside),
                "query": query,
                "asked_at": clock.rfc3339(at),
                "grain_ids": [grain["id"] for grain in trace_record.unpack_trace(body)["grains"]],
            }
            for outside, query, at, body in found[:LISTED]
        ],
        "more": len(found) > LISTED,
    }


def feedback_hint(principal: Principal) -> dict[str, Any] | None:
    """Reminder of pending feedback in an agent's answer; None if none is due, or reminders are switched off.

    As of the last write of traces of that agent by this process, because an answer must not wait for a reminder. So it
    may name a trace that was judged through another process a moment ago.
    """
    if principal.kind != "agent" or not config.current().FEEDBACK_ENFORCEMENT_ENABLED:
        return None
    seen = _seen.get((principal.space, principal.actor))
    if not seen or not may(principal, "grains.feedback"):
        return None
    since, until = (moment.isoformat() for moment in _window())
    found = [trace for trace, at in seen.items() if since <= at <= until]
    return {"trace_ids": found[:HINTED], "more": len(found) > HINTED} if found else None


def require_feedback(principal: Principal) -> None:
    """Refuse a recall of an agent that must give feedback while its own earlier answers have none."""
    if not principal.must_rate or not may(principal, "grains.feedback"):
        return
    waiting = list_pending(principal)
    if waiting["pending"]:
        raise FeedbackDue(**waiting)


def refresh_pending(askers: Iterable[tuple[int, str]]) -> None:
    """Update the pending feedback of these callers after their traces were written."""
    since, until = (raw_sql.adapt_moment(moment) for moment in (_window()[0], clock.now()))
    with connection.cursor() as cursor:
        for space, actor in sorted({one for one in askers if one[1].startswith("agent:")})[:_AT_ONCE]:
            cursor.execute(_LOOK, [space, actor, since, until, _KEPT])
            if len(_seen) > _MOST_SEEN:
                _seen.clear()
            _seen[space, actor] = {_dashed(trace): _moment(at) for trace, at in cursor.fetchall()}


def mark_judged(space: int, actor: str, traces: Iterable[str]) -> None:
    """Remove judged traces from the pending feedback of a caller."""
    for trace in traces:
        _seen.get((space, actor), {}).pop(trace, None)


_seen: dict[
    tuple[int | None, str], dict[str, str]
] = {}  # by caller: traces without feedback, newest first, and their times
_KEPT, _AT_ONCE, _MOST_SEEN = 50, 16, 10_000


def forgive_unless_doubted() -> int:
    """Expire pending feedback, unless the clock is in doubt. Called once a minute; returns the number of traces."""
    return 0 if uptime.now().doubt else expire_pending()


def expire_pending() -> int:
    """Stop asking for feedback on traces older than the time limit; returns their number."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGIVE, [True, raw_sql.adapt_moment(_window()[0])])
        return int(cursor.rowcount)


def _rows(statement: str, principal: Principal, most: int) -> list[tuple[Any, ...]]:
    since, until = (raw_sql.adapt_moment(moment) for moment in _window())
    with connection.cursor() as cursor:
        cursor.execute(statement, [principal.space, principal.actor, since, until, most])
        return list(cursor.fetchall())


def _window() -> tuple[datetime, datetime]:
    settings, now = config.current(), clock.now()
    return (
        now - timedelta(seconds=settings.FEEDBACK_ENFORCEMENT_MAX_BLOCK_SECONDS),
        now - timedelta(seconds=settings.FEEDBACK_ENFORCEMENT_GRACE_SECONDS),
    )


def _moment(at: Any) -> str:
    return str(clock.rfc3339(at)).replace("Z", "+00:00")


def _dashed(outside: Any) -> str:
    return dashed_uuid(outside) if isinstance(outside, str) else str(outside)
