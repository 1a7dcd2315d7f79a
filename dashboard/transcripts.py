"""The Transcripts pages: stores with messages, one transcript read like a chat, and one message."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.principals import Principal
from accounts.verbs import selector
from dashboard import message_cards
from dashboard.store_pages import StoreVisit, address, moment, raise_if_of_page, reference, store_page
from dashboard.stores import last_changes
from flux import paths
from fluxcore import events
from fluxcore.errors import FluxError, Invalid, NotFound
from memory.artifacts import names
from memory.artifacts import stores as store_verbs
from memory.artifacts import transcripts as verbs
from memory.artifacts.models import Message, Store

ROWS = 50  # messages of a page
AROUND = 20  # messages before and after one that is jumped to
STORES = 100
NEWEST = 5_000  # messages among which sessions and removals are looked for
SESSIONS, REMOVALS = 30, 5


@store_page("GET")
def transcripts(visit: StoreVisit) -> HttpResponse:
    """The stores that have messages."""
    since = str(events.head())
    before = visit.number("before")
    rows = _stores_with_messages(visit.me, before=before)
    changed = last_changes(visit.space.pk, (str(row.uuid) for row in rows[:STORES]))
    found = {
        "space": visit.space,
        "since": since,
        "stores": [_store_row(row, visit, changed.get(str(row.uuid))) for row in rows[:STORES]],
        "next": address("transcripts", before=rows[STORES - 1].pk) if len(rows) > STORES else "",
        "begin": before is not None,
    }
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/transcripts{'_part' if part else ''}.html", found)


@selector("transcript.stores", needs="transcript.read")
def _stores_with_messages(principal: Principal, *, before: int | None) -> list[Store]:
    rows = Store.objects.filter(space=names.space_of(principal), deleted_at=None, messages__gt=0)
    if before is not None:
        rows = rows.filter(pk__lt=before)
    return list(rows.order_by("-id")[: STORES + 1])


def _store_row(row: Store, visit: StoreVisit, changed: Any) -> dict[str, Any]:
    facts = {"org": row.org or visit.space.name, "project": row.project, "domain": row.domain, "key": row.key}
    return {
        **facts,
        "store": str(row.uuid),
        "reference": reference({**facts, "store": str(row.uuid)}, visit.space),
        "path": paths.remote_path("", facts["org"], row.project, row.domain, row.key),
        "messages": row.messages,
        "recallable": row.recallable,
        "changed": changed,
    }


@store_page("GET")
def transcript(visit: StoreVisit, store: str) -> HttpResponse:
    """One transcript: its newest messages, or those around a number, before or after one, or that have a text."""
    since = str(events.head())
    facts = store_verbs.get_store(visit.me, store=store)
    at, session, query = visit.number("at"), visit.text("session", 128), visit.text("q")
    more = {name: value for name, value in (("session", session), ("query", query)) if value}
    page = _around(visit, store, at, more) if at is not None else _page(visit, store, more)
    kept = {"session": session, "q": query}
    found = {
        "space": visit.space,
        "since": since,
        "facts": facts,
        "store": reference(facts, visit.space),
        "cards": [message_cards.card(one, marked=one["seq"] == at) for one in page["messages"]],
        "at": at,
        "missing": at is not None and not any(one["seq"] == at for one in page["messages"]),
        "session": session,
        "query": query,
        "sessions": _sessions(visit.me, store=store),
        "removals": _removals(visit.me, store=store),
        "may_write": visit.may("transcript.write"),
        "older": address("transcript", store, **kept, before=page["messages"][0]["seq"]) if page["older"] else "",
        "newer": address("transcript", store, **kept, after=page["messages"][-1]["seq"]) if page["newer"] else "",
        "newest": address("transcript", store, **kept) if page["newer"] else "",
        "most": NEWEST,
    }
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/transcript{'_part' if part else ''}.html", found)


def _page(visit: StoreVisit, store: str, more: dict[str, str]) -> dict[str, Any]:
    before, after = visit.number("before"), visit.number("after")
    if after is not None:
        given: dict[str, Any] = {"after": after}
    else:
        given = {"before": before} if before is not None else {}
    found = verbs.read_messages(visit.me, store=store, limit=ROWS + 1, **given, **more)["messages"]
    if after is not None:
        return {"messages": found[:ROWS], "older": bool(found), "newer": len(found) > ROWS}
    return {"messages": found[-ROWS:], "older": len(found) > ROWS, "newer": before is not None and bool(found)}


def _around(visit: StoreVisit, store: str, at: int, more: dict[str, str]) -> dict[str, Any]:
    """The messages before and after a number, and that message itself."""
    before = verbs.read_messages(visit.me, store=store, before=at, limit=AROUND + 1, **more)["messages"]
    after = verbs.read_messages(visit.me, store=store, after=at - 1, limit=AROUND + 1, **more)["messages"]
    return {
        "messages": [*before[-AROUND:], *after[:AROUND]],
        "older": len(before) > AROUND,
        "newer": len(after) > AROUND,
    }


@selector("transcript.sessions", needs="transcript.read", asks=names.asks_for_transcript("transcript.read"))
def _sessions(principal: Principal, *, store: str) -> list[tuple[str, int]]:
    """Conversations among the newest messages, the latest first, with the number of their messages there."""
    row = names.find_store(principal, store)
    newest = Message.objects.filter(store=row, removal="").order_by("-seq").values_list("session", flat=True)[:NEWEST]
    counts: dict[str, int] = {}
    for session in newest:
        counts[session] = counts.get(session, 0) + 1
    return [(session, count) for session, count in counts.items() if session][:SESSIONS]


@selector("transcript.removals", needs="transcript.read", asks=names.asks_for_transcript("transcript.read"))
def _removals(principal: Principal, *, store: str) -> list[tuple[str, Any, int, int]]:
    """The newest removals that can be undone: their number, when, how many messages, and the first of them."""
    row = names.find_store(principal, store)
    rows = Message.objects.filter(store=row).exclude(removal="").order_by("-removed_at")
    found: dict[str, list[Any]] = {}
    for removal, at, seq in rows.values_list("removal", "removed_at", "seq")[:NEWEST]:
        one = found.setdefault(removal, [at, 0, seq])
        one[1], one[2] = one[1] + 1, min(one[2], seq)
    return [(removal, at, count, seq) for removal, (at, count, seq) in found.items()][:REMOVALS]


@store_page("GET")
def message(visit: StoreVisit, store: str, seq: int) -> HttpResponse:
    """One message, whole, and as it was stored."""
    facts = store_verbs.get_store(visit.me, store=store)
    page = verbs.read_messages(visit.me, store=store, after=seq - 1, before=seq + 1, limit=1) if seq < 1 << 53 else {}
    if not page.get("messages"):
        raise NotFound("There is no such message.")
    one = page["messages"][0]
    found = {
        "space": visit.space,
        "facts": facts,
        "store": reference(facts, visit.space),
        "card": message_cards.card(one, whole=True),
        "source": message_cards.source(one["message"]),
        "added_at": moment(one["at"]),
    }
    return render(visit.request, "dashboard/message.html", found)


@store_page("POST")
def remove(visit: StoreVisit, store: str) -> HttpResponse:
    """Remove the chosen messages, which can be undone on the same page."""
    numbers = [
        int(one) for one in visit.request.POST.getlist("seq") if one.isascii() and one.isdecimal() and len(one) < 16
    ]
    try:
        if not numbers:
            raise Invalid("No message was chosen. Choose one or more messages.", field="seqs")
        done = verbs.pop_messages(visit.me, store=store, seqs=numbers, reason=visit.sent("reason").strip())
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
    else:
        count = done["count"]
        messages.success(visit.request, f"{count} message{'' if count == 1 else 's'} removed. It can be undone below.")
    return redirect(address("transcript", store, fragment="removed"))


@store_page("POST")
def restore(visit: StoreVisit, store: str) -> HttpResponse:
    """Bring removed messages back."""
    try:
        done = verbs.restore_messages(
            visit.me, store=store, removal=visit.sent("removal"), reason=visit.sent("reason").strip()
        )
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect(address("transcript", store))
    count = done["count"]
    messages.success(visit.request, f"{count} message{'' if count == 1 else 's'} restored.")
    return redirect(address("transcript", store))
