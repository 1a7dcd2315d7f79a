"""The Board page: keys of a board with value, version and expiry, its locks and its queues."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from fluxcore import clock, events
from fluxcore.errors import NotFound
from memory.keyvalue import boards, listing, locks, queues
from memory.keyvalue.models import Item
from memory.keyvalue.namespaces import MAIN

ROWS = 200  # keys a page shows
MOST = 300  # characters of a value


@sign_in_required
@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """The page, or with `part` only the tables, which board.js fetches again."""
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me = current_visitor(request).principal(space.pk)
    name = request.GET.get("board", MAIN)[:64]
    # Looked up first, so that the live feed also sends what is written meanwhile.
    since = str(events.head())
    try:
        found = seen(me, name)
    except NotFound:
        raise Http404 from None
    known = boards.list_boards(me)["boards"]
    found |= {
        "space": space,
        "since": since,
        "name": name,
        "boards": [{"board": MAIN}, *(one for one in known if one["board"] != MAIN)],
        "ephemeral": any(one["board"] == name and one["ephemeral"] for one in known),
    }
    return render(request, "dashboard/board_part.html" if "part" in request.GET else "dashboard/board.html", found)


def seen(principal: Principal, name: str) -> dict[str, Any]:
    page = listing.list_keys(principal, place=f"boards/{name}", limit=ROWS, values=True)
    numbers = dict(
        Item.objects.filter(
            namespace__space=principal.space or 0,
            namespace__kind="board",
            namespace__name=name,
            key__in=[one["key"] for one in page["keys"]],
        ).values_list("key", "pk")
    )
    held = locks.list_locks(principal, board=name)["locks"]
    return {
        "keys": [_row(one, numbers.get(one["key"])) for one in page["keys"]],
        "more": page["next_cursor"] is not None,
        "locks": [{**one, "expires_at": _moment(one["expires_at"])} for one in held],
        "queues": queues.list_queues(principal, board=name)["queues"],
    }


def _row(one: dict[str, Any], number: int | None) -> dict[str, Any]:
    text = json.dumps(one["value"], ensure_ascii=False)
    return {
        **one,
        "number": number,
        "shown": text if len(text) <= MOST else f"{text[: MOST - 1]}…",
        "expires_at": _moment(one["expires_at"]),
        "written_at": _moment(one["written_at"]),
    }


def _moment(text: str | None) -> Any:
    return clock.parse(text) if text else None
