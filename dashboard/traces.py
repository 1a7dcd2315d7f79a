"""The Traces page: list of recalls with their confidence, and one trace shown step by step."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.visitor import current_visitor
from dashboard import answer_cards, citations, page_frame, trace_drawing
from dashboard.account import sign_in_required
from fluxcore import clock
from fluxcore.errors import NotFound
from memory.grains import graph_picture
from memory.recall import explain, trace_list

_JUDGED = {"yes": True, "no": False}
# Labels of search modes, by their name in the API (`rung`).
_MODES = {
    "warm": "All signals (warm)",
    "behind": "Index behind newest writes (behind)",
    "encoding": "Some vectors missing (encoding)",
    "cold": "No index yet, full text (cold)",
    "no encoder": "No meaning, only words and links (no encoder)",
}


@sign_in_required
@require_safe
def traces(request: HttpRequest) -> HttpResponse:
    """The list of recalls. Queries are in the page, never in its address."""
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me = current_visitor(request).principal(space.pk)
    given = request.GET
    wanted = {
        "who": given.get("who", "")[:160],
        "judged": given.get("judged", "") if given.get("judged") in _JUDGED else "",
        "rung": given.get("rung", "") if given.get("rung") in _MODES else "",
        "sure": "no" if given.get("sure") == "no" else "",
    }
    page = trace_list.list_traces(
        me,
        before=_number(given.get("before", "")),
        actor=me.actor if wanted["who"] == "me" else wanted["who"],
        rung=wanted["rung"],
        judged=_JUDGED.get(wanted["judged"]),
        unsure=bool(wanted["sure"]),
    )
    kept = {name: value for name, value in wanted.items() if value}
    found = {
        "space": space,
        "page": page,
        "rows": [
            (one, answer_cards.AnswerConfidence.of(one.confidence), _MODES.get(one.rung, one.rung))
            for one in page.recalls
        ],
        "me": me.actor,
        "wanted": wanted,
        "rungs": _MODES,
        "older": f"?{urlencode({**kept, 'before': page.after})}" if page.after else "",
        "newest": f"?{urlencode(kept)}" if "before" in given else "",
        "narrowed": bool(kept),
    }
    return render(request, "dashboard/traces.html", found)


@sign_in_required
@require_safe
def trace(request: HttpRequest, trace: UUID) -> HttpResponse:
    """One trace, step by step. Without JavaScript all steps are shown as numbered text."""
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    me = current_visitor(request).principal(space.pk)
    try:
        kept = explain.explain_trace(me, trace)
    except NotFound:
        raise Http404 from None
    names = graph_picture.label_grains(me, answer_cards.named_grains(kept["grains"]))
    found: dict[str, Any] = {
        "space": space,
        "kept": kept,
        "at": clock.parse(kept["at"]),
        "mine": kept["asked_by"] == me.actor,
        "confidence": answer_cards.AnswerConfidence.of(kept["confidence"]),
        "rung": explain.search_mode(kept["rung"], kept) if kept["rung"] != "warm" else "",
        "replay": trace_drawing.draw_replay(kept, names),
        "cards": answer_cards.build_cards(
            kept["grains"],
            names,
            kept["texts"],
            {},
            citations.find_citations(me, kept["grains"]),
        ),
        "answer_page": reverse("trace", args=[trace]),
    }
    return render(request, "dashboard/replay.html", found)


def _number(text: str) -> int | None:
    """A cursor; None, the newest, for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
