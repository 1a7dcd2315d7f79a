"""The traces page: who asked what and how sure the answer was, and one recall told again step by step."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.here import here
from dashboard import cards, scenes, shell
from dashboard.account import signed_in
from fluxcore import clock
from fluxcore.errors import NotFound
from memory.grains import explain, picture, recalls

_JUDGED = {"yes": True, "no": False}


@signed_in
@require_safe
def traces(request: HttpRequest) -> HttpResponse:
    """The list. What was asked stands in the page and never in its address."""
    space = shell.current_space(request)
    if space is None:
        return redirect("home")
    me = here(request).principal(space.pk)
    given = request.GET
    wanted = {
        "who": given.get("who", "")[:160],
        "judged": given.get("judged", "") if given.get("judged") in _JUDGED else "",
        "rung": given.get("rung", "") if given.get("rung") in explain.RUNGS else "",
        "sure": "no" if given.get("sure") == "no" else "",
    }
    page = recalls.listed(
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
        "rows": [(one, cards.Confidence.of(one.confidence)) for one in page.recalls],
        "me": me.actor,
        "wanted": wanted,
        "rungs": explain.RUNGS,
        "older": f"?{urlencode({**kept, 'before': page.after})}" if page.after else "",
        "newest": f"?{urlencode(kept)}" if "before" in given else "",
        "narrowed": bool(kept),
    }
    return render(request, "dashboard/traces.html", found)


@signed_in
@require_safe
def trace(request: HttpRequest, trace: UUID) -> HttpResponse:
    """One recall, scene by scene. Without JavaScript all scenes stand there as numbered text."""
    space = shell.current_space(request)
    if space is None:
        raise Http404
    me = here(request).principal(space.pk)
    try:
        kept = explain.trace(me, trace)
    except NotFound:
        raise Http404 from None
    names = picture.named(me, cards.outside(kept["grains"]))
    found: dict[str, Any] = {
        "space": space,
        "kept": kept,
        "at": clock.parse(kept["at"]),
        "mine": kept["asked_by"] == me.actor,
        "confidence": cards.Confidence.of(kept["confidence"]),
        "rung": explain.search_mode(kept["rung"], kept) if kept["rung"] != "warm" else "",
        "replay": scenes.replay(kept, names),
        "cards": cards.cards(kept["grains"], names, kept["texts"], {}),
        "receipt": reverse("receipt", args=[trace]),
    }
    return render(request, "dashboard/replay.html", found)


def _number(text: str) -> int | None:
    """A cursor; anything else begins at the newest."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
