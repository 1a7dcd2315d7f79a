"""The transcript of a store: append, read, remove and restore messages.

Each message has a number, given inside the write, so that messages of several writers interleave and none is
overwritten. A removed message keeps its number and can be restored until STORE_UNDELETE_DAYS have passed.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.db import connection

from accounts.authorise import may
from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux import paths
from flux.calls import transcripts as calls
from fluxcore import clock, raw_sql
from fluxcore.canonical_json import loads, refuse_surrogates
from fluxcore.errors import Invalid, NotFound
from fluxcore.writes import limit_messages
from memory.artifacts import change_log, file_rows, hooks, names, quotas, refusals, stores
from memory.artifacts.files import origin_of
from memory.artifacts.models import Message, Store
from memory.artifacts.states import StoreState, read_state

DEFAULT_LIMIT = 50
MAX_MESSAGE_BYTES = 256 * 1024
MAX_PAGE_BYTES = 4 * 1024 * 1024  # of the messages of one answer; the rest is read with next_after

# The fields of a message stay in their order, so that an exported transcript is the imported one byte for byte.
_IN_ORDER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_NEXT = f"UPDATE {Store._meta.db_table} SET next_seq = next_seq + %s WHERE id = %s RETURNING next_seq"  # noqa: S608
_COLUMNS = (
    "store",
    "uuid",
    "seq",
    "body",
    "text",
    "size",
    "role",
    "session",
    "speaker",
    "origin",
    "said_at",
    "at",
    "writer",
    "actor",
    "removal",
)
_reads, _writes = names.asks_for_transcript("transcript.read"), names.asks_for_transcript("transcript.write")
_noted_as = partial(refusals.noted_as, path=paths.MESSAGES)


@handles(calls.AppendMessages, asks=_writes, refused=_noted_as("append_messages"))
def append_messages(call: RunningCall, request: calls.AppendMessages) -> Change:
    rows = [prepared(message, request.session, request.speaker) for message in request.messages]
    origin = origin_of(call.principal, request.provenance)
    ticket = quotas.share(call, len(rows))

    def change() -> dict[str, Any]:
        ticket.take()
        store, _ = stores.state_or_new(call, request.store, "", create=request.create is True)
        first = add(call, store, rows, origin, request.actor or "")
        return {"seqs": list(range(first, first + len(rows))), "count": len(rows), "total": store.messages + len(rows)}

    return change


def add(call: RunningCall, store: StoreState, prepared_rows: list[dict[str, Any]], origin: str, actor: str) -> int:
    """Append messages inside a running write; the number of the first."""
    size, now = sum(row["size"] for row in prepared_rows), clock.now()
    quotas.check_room(store, files=0, size=size)
    with connection.cursor() as cursor:
        cursor.execute(_NEXT, [len(prepared_rows), store.id])
        first: int = cursor.fetchone()[0] - len(prepared_rows)
    by = {"origin": origin, "at": now, "writer": call.principal.actor, "actor": actor, "removal": ""}
    rows = [
        {"store": store.id, "uuid": uuid.uuid4(), "seq": first + at, **row, **by}
        for at, row in enumerate(prepared_rows)
    ]
    raw_sql.insert(Message, _COLUMNS, [[row[name] for name in _COLUMNS] for row in rows])
    quotas.count_in_store(store.space, store.id, messages=len(rows), message_size=size)
    last = first + len(rows) - 1
    call.record(f"stores/{store.target}/messages", first=first, last=last)
    _list(call, store, "append_messages", actor, count=len(rows))
    _announce(call, store, "messages.appended", first=first, last=last)
    if store.recallable:
        hooks.messages_appended(store, first, last)
    return first


def _list(call: RunningCall, store: StoreState, op: str, actor: str | None, *, count: int) -> None:
    """Add a change of the transcript to the store's own log, under the name that flyte gives its file."""
    if store.audit:
        writer, outcome = file_rows.writer_of(call, actor), change_log.DONE if count else change_log.NOOP
        change_log.add(store.id, None, paths.MESSAGES, op, writer, listed=True, outcome=outcome)


def _announce(call: RunningCall, store: StoreState, kind: str, **data: Any) -> None:
    call.event(kind, f"stores/{store.uuid}", {"store": str(store.uuid), **data})


def prepared(message: dict[str, Any], session: str | None = None, speaker: str | None = None) -> dict[str, Any]:
    """The columns of a message that do not depend on the store."""
    body = _IN_ORDER.encode(message)
    refuse_surrogates(body, name="messages")
    size = len(body.encode())
    if size > MAX_MESSAGE_BYTES:
        raise limit_messages.too_large("A message", limit=MAX_MESSAGE_BYTES, raised_by=None, size=size)
    return {
        "body": body,
        "text": "\n".join(texts_of(message)).casefold().replace("\0", ""),
        "size": size,
        "role": _label(message.get("role"), 64),
        "session": session or _label(message.get("session") or message.get("session_id"), 128),
        "speaker": _label(message.get("name") or message.get("speaker"), 128) or speaker or "",
        "said_at": _moment(next((message[name] for name in _TIMES if name in message), None)),
    }


_TIMES = ("timestamp", "created_at", "at", "time")


def _label(given: Any, most: int) -> str:
    """A label that a message gives itself. Anything else is left in the message and is no label."""
    return given if isinstance(given, str) and len(given) <= most and given.isprintable() else ""


def _moment(given: Any) -> datetime | None:
    """When a message was said: RFC 3339, or seconds since 1970."""
    try:
        if isinstance(given, str):
            said = datetime.fromisoformat(given)
            return (said if said.tzinfo else said.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def texts_of(message: dict[str, Any]) -> Iterable[str]:
    """What a message says: its content, the texts of its parts, and names and arguments of tool calls."""
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            yield from (part[name] for name in ("text", "content", "input_text") if isinstance(part.get(name), str))
    made = message.get("tool_calls")
    for one in made if isinstance(made, list) else []:
        function = one.get("function", one) if isinstance(one, dict) else None
        if isinstance(function, dict):
            yield from (function[name] for name in ("name", "arguments") if isinstance(function.get(name), str))


@handles(calls.ReadMessages, asks=_reads)
def read_messages(principal: Principal, request: calls.ReadMessages) -> dict[str, Any]:
    """Read messages in order: the newest, or with `after` the oldest behind that number."""
    store, _ = read_state(principal, request.store, "")
    limit, rows = request.limit or DEFAULT_LIMIT, Message.objects.filter(store=store.id, removal="")
    if request.after is not None:
        rows = rows.filter(seq__gt=request.after)
    if request.before is not None:
        rows = rows.filter(seq__lt=request.before)
    if request.session is not None:
        rows = rows.filter(session=request.session)
    if request.query is not None:
        rows = rows.filter(text__contains=request.query.casefold().replace("\0", ""))
    forward = request.after is not None
    found = list(rows.order_by("seq" if forward else "-seq")[: limit + 1])
    more, kept, size = len(found) > limit, list[Message](), 0
    for row in found[:limit]:
        size += row.size
        if kept and size > MAX_PAGE_BYTES:
            more = True
            break
        kept.append(row)
    messages = [stored_message(row) for row in (kept if forward else reversed(kept))]
    return {
        "messages": messages,
        "count": len(messages),
        "total": store.messages,
        "next_after": kept[-1].seq if forward and more else None,
    }


def all_messages(store: StoreState) -> Iterator[dict[str, Any]]:
    """The whole transcript in order, inside a running write."""
    rows = Message.objects.filter(store=store.id, removal="").order_by("seq").values_list("body", flat=True)
    return (loads(body.encode()) for body in rows.iterator())


def stored_message(row: Message) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "message": loads(row.body.encode()),
        "role": row.role,
        "session": row.session,
        "speaker": row.speaker,
        "said_at": clock.rfc3339(row.said_at),
        "at": clock.rfc3339(row.at),
        "by": row.writer,
        "actor": row.actor,
    }


@handles(calls.PopMessages, asks=_writes, refused=_noted_as("pop_messages"))
def pop_messages(call: RunningCall, request: calls.PopMessages) -> Change:
    """Remove the newest messages, or those of given numbers that are still there. Only readers see what they said."""
    if request.seqs is not None and request.count is not None:
        raise Invalid("Give count or seqs, not both.", field="seqs")
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        store, _ = read_state(call.principal, request.store, "")
        wanted = Message.objects.filter(store=store.id, removal="").order_by("-seq")
        wanted = wanted[: request.count or 1] if request.seqs is None else wanted.filter(seq__in=request.seqs)
        rows = list(wanted)[::-1]
        removal = _remove(call, store, "pop_messages", request.actor, [row.pk for row in rows])
        readable = may(call.principal, "transcript.read", store.target)
        return {
            "removal": removal,
            "seqs": [row.seq for row in rows],
            "messages": [stored_message(row) for row in rows] if readable else [],
            "count": len(rows),
            "total": store.messages - len(rows),
        }

    return change


@handles(calls.ClearMessages, asks=_writes, refused=_noted_as("clear_messages"))
def clear_messages(call: RunningCall, request: calls.ClearMessages) -> Change:
    """Remove all messages. The answer does not repeat them."""
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        store, _ = read_state(call.principal, request.store, "")
        removal = _remove(call, store, "clear_messages", request.actor, None)
        return {"removal": removal, "messages": [], "count": store.messages, "total": 0}

    return change


def _remove(call: RunningCall, store: StoreState, op: str, actor: str | None, rows: list[int] | None) -> str:
    """Mark messages as removed, all of them if `rows` is None; the number of the removal."""
    removal = uuid.uuid4().hex
    wanted = Message.objects.filter(store=store.id, removal="")
    wanted = wanted if rows is None else wanted.filter(pk__in=rows)
    removed = wanted.update(removal=removal, removed_at=clock.now())
    quotas.count_in_store(store.space, store.id, messages=-removed)
    call.record(f"stores/{store.target}/messages", removed=removed, removal=removal)
    _list(call, store, op, actor, count=removed)
    _announce(call, store, "messages.removed", count=removed, removal=removal)
    if store.recallable and removed:
        hooks.messages_removed(store, removal)
    return removal


@handles(calls.RestoreMessages, asks=_writes, refused=_noted_as("restore_messages"))
def restore_messages(call: RunningCall, request: calls.RestoreMessages) -> Change:
    """Bring removed messages back, with the numbers they had."""
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        store, _ = read_state(call.principal, request.store, "")
        if not request.removal:
            raise Invalid("removal is missing: give what the removal returned.", field="removal")
        restored = Message.objects.filter(store=store.id, removal=request.removal).update(removal="", removed_at=None)
        if not restored:
            raise NotFound("There is no such removal, or its messages can no longer be restored.")
        quotas.count_in_store(store.space, store.id, messages=restored)
        call.record(f"stores/{store.target}/messages", restored=restored, removal=request.removal)
        _list(call, store, "restore_messages", request.actor, count=restored)
        _announce(call, store, "messages.restored", count=restored)
        if store.recallable:
            hooks.messages_restored(store, request.removal)
        return {"count": restored, "total": store.messages + restored}

    return change
