"""The Graph page: memories of a space and their links, drawn by the browser from packed arrays."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_POST, require_safe

from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import answer_cards, page_frame
from dashboard.account import sign_in_required
from fluxcore.errors import FluxError, NotFound
from memory.grains import dossier, graph_picture
from memory.grains.dossier import GrainDossier
from memory.grains.grain_links import GrainLink
from memory.recall import recall

MOST_TEXT = 1_200  # characters of a grain in the panel; its own page has the rest
MOST_TIES = 12
MOST_FOUND = 20


@sign_in_required
@require_safe
def graph(request: HttpRequest) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me = current_visitor(request).principal(space.pk)
    drawn = graph_picture.current_picture(me)
    names = graph_picture.label_grains(me, [grain for grain, _ in drawn.strongest])
    found = {
        "space": space,
        "picture": drawn,
        "strongest": [
            {
                "id": grain,
                "links": links,
                "snippet": names[grain].snippet,
                "address": answer_cards.admin_address("grain", names[grain].number),
            }
            for grain, links in drawn.strongest
            if grain in names
        ],
        "relations": graph_picture.RELATIONS,
    }
    return render(request, "dashboard/graph.html", found)


@sign_in_required
@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """Packed nodes and links of the graph, with an ETag, because pages ask again and again."""
    drawn = graph_picture.current_picture(_me(request))
    etag = f'"{drawn.tag}"'
    unchanged = get_conditional_response(request, etag=etag)
    answer = unchanged or HttpResponse(drawn.packed, content_type="application/octet-stream")
    answer["ETag"] = etag
    return answer


@sign_in_required
@require_safe
def grain(request: HttpRequest, grain: UUID) -> JsonResponse:
    """Details of one memory for the panel."""
    try:
        found = dossier.load_dossier(_me(request), grain)
    except NotFound:
        raise Http404 from None
    return JsonResponse(_panel(found))


@sign_in_required
@require_POST
def find(request: HttpRequest) -> JsonResponse:
    """Ids of the results of a recall. Sent as a form, because a query in an address would be saved in histories."""
    try:
        found = recall.recall(_me(request), query=str(request.POST.get("query", "")), k=MOST_FOUND)
    except FluxError as refusal:
        return JsonResponse(refusal.body(), status=refusal.status)
    return JsonResponse({"grains": [one["id"] for one in found["grains"]]})


def _me(request: HttpRequest) -> Principal:
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    return current_visitor(request).principal(space.pk)


def _panel(found: GrainDossier) -> dict[str, Any]:
    own = found.particulars
    text = own["content"]
    ties = sorted((*found.ties.inward, *found.ties.outward), key=lambda tie: (-tie.weight, tie.number))
    return {
        "id": own["id"],
        "text": text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…",
        "facts": [
            [name, value]
            for name, value in (
                ("Provenance", answer_cards.ORIGINS[own["origin"]].capitalize()),
                ("Status", own["status"].replace("_", " ").capitalize()),
                ("Speaker", own["speaker"]),
                ("Session", own["session"]),
                ("Tags", ", ".join(own["tags"])),
                ("Cluster", found.ties.cluster.name if found.ties.cluster else None),
                ("Links", f"{len(found.ties.inward)} in, {len(found.ties.outward)} out"),
            )
            if value
        ],
        "time": own["time"] or own["recorded_at"],
        "ties": [_tie(tie) for tie in ties[:MOST_TIES]],
        "address": answer_cards.admin_address("grain", found.number),
    }


def _tie(tie: GrainLink) -> dict[str, Any]:
    if tie.entry is not None:
        return {"relation": "mentions", "weight": round(tie.weight, 2), "says": tie.entry[1], "grain": None}
    other = tie.grain
    return {
        "relation": tie.relation.label.lower(),
        "weight": round(tie.weight, 2),
        "says": (other.snippet if other else None) or "a quarantined memory",
        "grain": str(other.uuid) if other else None,
    }
