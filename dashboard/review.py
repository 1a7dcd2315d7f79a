"""The Review page: what waits for a decision, its differences, and the forms that accept, edit and deny."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.models import Space
from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from dashboard.answer_cards import ORIGINS
from dashboard.diff_lines import changed_values, shown_diff
from fluxcore import clock, events
from fluxcore.errors import FluxError, Forbidden, Invalid, NotFound
from memory.review import edited_text, handlers, kinds

_STATES = {"open": "Open", "accepted": "Accepted", "denied": "Denied", "withdrawn": "Withdrawn", "any": "All"}
_MOMENTS = ("created_at", "updated_at", "decided_at")
MAX_CHANGES = 100  # changed values of JSON on a page


@sign_in_required
@require_safe
def review(request: HttpRequest) -> HttpResponse:
    """The list, or with `part` only its items, which review.js fetches again."""
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    state = request.GET.get("state", "open")
    state = state if state in _STATES else "open"
    given = {"cursor": cursor} if (cursor := request.GET.get("cursor", "")) else {}
    # Looked up first, so that the live feed also sends what is written meanwhile.
    since = str(events.head())
    try:
        page = handlers.list_reviews(_me(request, space), state=state, **given)
    except Invalid:
        raise Http404 from None
    older = urlencode({"state": state, "cursor": page["next_cursor"]}) if page["next_cursor"] else ""
    found = {
        "space": space,
        "since": since,
        "items": [_shown(item) for item in page["items"]],
        "states": _STATES,
        "state": state,
        "older": older,
        "newest": bool(given),
        "begins": [kind.begins() for kind in kinds.all_kinds()],
        "may": any(current_visitor(request).may(kind.decides, space.pk) for kind in kinds.all_kinds()),
    }
    return render(request, "dashboard/review_part.html" if "part" in request.GET else "dashboard/review.html", found)


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def review_item(request: HttpRequest, item: UUID) -> HttpResponse:
    """One item; a form that was sent decides it. What was typed stays if that is refused."""
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    me, since, problem = _me(request, space), str(events.head()), None
    if request.method == "POST":
        try:
            decided = _decide(me, str(item), request)
        except NotFound:
            raise Http404 from None
        except Forbidden:
            raise PermissionDenied from None
        except FluxError as refusal:
            problem = refusal
        else:
            messages.success(request, f"{decided['state'].capitalize()}: {decided['title']}.")
            return redirect("review")
    try:
        shown = handlers.get_review(me, item=str(item))
    except NotFound:
        raise Http404 from None
    kind, change = kinds.find(shown["kind"]), shown.get("change", {})
    found = {
        "space": space,
        "since": since,
        "item": _shown(shown),
        "facts": kind.facts(shown["state"], change) if change else [],
        "watched": json.dumps(kind.watched(change) if change else {}),
        "outdated": kind.outdated,
        "problem": problem,
        "given": request.POST,
        "may": shown["state"] == "open" and current_visitor(request).may(kind.decides, space.pk),
        **_difference(change),
    }
    return render(request, "dashboard/review_item.html", found, status=problem.status if problem else 200)


def _me(request: HttpRequest, space: Space) -> Principal:
    return current_visitor(request).principal(space.pk)


def _decide(me: Principal, item: str, request: HttpRequest) -> dict[str, Any]:
    given, reason = request.POST, " ".join(request.POST.get("reason", "").split())
    decision = given.get("decision", "")
    if decision == "deny":
        return dict(handlers.deny_review(me, item=item, reason=reason))
    if decision not in ("accept", "edit"):
        raise Invalid("decision must be one of accept, edit, deny.", field="decision")
    like = edited_text.WINDOWS if given.get("line_ends") == "crlf" else ""
    more = {"text": edited_text.sent_back(given.get("text", ""), like=like)} if decision == "edit" else {}
    return dict(handlers.accept_review(me, item=item, seen=given.get("seen", ""), reason=reason, **more))


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    """An item with its times and words for the page."""
    moments = {name: clock.parse(item[name]) if item[name] else None for name in _MOMENTS}
    return {
        **item,
        **moments,
        "kind_label": kinds.find(item["kind"]).label,
        "origin": ORIGINS.get(item["provenance"], item["provenance"]),
    }


def _difference(change: dict[str, Any]) -> dict[str, Any]:
    """The difference, the changed values, and whether the proposed text can be edited."""
    return {
        "diff": shown_diff(change.get("diff", "")),
        "changes": changed_values(change.get("changes", []), MAX_CHANGES),
        # A browser would change other texts: it sends one kind of line end.
        "editable": "text" in change and edited_text.is_editable(change["text"]),
        "line_ends": "crlf" if "\r\n" in change.get("text", "") else "lf",
    }
