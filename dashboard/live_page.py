"""The Live page: events of a space as they happen, one sentence each, with links to what they are about."""

from __future__ import annotations

import json
from itertools import chain, islice
from uuid import UUID

from django.db import connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.authorise import may
from accounts.models import Space
from accounts.principals import Principal
from accounts.verbs import selector
from accounts.visitor import current_visitor
from dashboard import answer_cards, event_sentences, page_frame
from dashboard.account import sign_in_required
from dashboard.event_sentences import EventLine
from dashboard.overview import QUIET
from fluxcore import clock, events
from fluxcore.errors import FluxError
from fluxcore.events import Position
from fluxcore.models import Event, Job
from memory.grains import graph_picture
from memory.recall import trace_list

LATEST = 300  # events looked through for the lines a page begins with
LINES = 100
_LATEST = (
    f"SELECT xid, id, kind, at, actor, subject, data FROM {Event._meta.db_table} "  # noqa: S608
    f"WHERE space = %s AND kind <> '{QUIET}' ORDER BY xid DESC, id DESC LIMIT {LATEST}"
)


@selector("events.latest", needs="events.read")
def latest_lines(principal: Principal, groups: set[str]) -> tuple[list[EventLine], str]:
    """The newest lines, newest first, and the position from which the live feed misses nothing."""
    # Looked up first, so that the feed also sends what is committed meanwhile; lines are deduplicated by their key.
    since = str(events.head())
    with connection.cursor() as cursor:
        cursor.execute(_LATEST, [principal.space])
        rows = cursor.fetchall()
    all_traces = may(principal, "grains.manage")
    found = chain.from_iterable(
        event_sentences.event_lines(
            Position(xid, number),
            kind,
            clock.parse(clock.rfc3339(at) or ""),
            actor,
            subject,
            json.loads(data) if isinstance(data, str) else data,
            mine=principal.actor,
            all_traces=all_traces,
        )
        for xid, number, kind, at, actor, subject, data in rows
        if not groups or event_sentences.event_group(kind) in groups
    )
    return list(islice(found, LINES)), since


@sign_in_required
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    space = page_frame.current_space(request)
    if space is None:
        return redirect("home")
    me = current_visitor(request).principal(space.pk)
    groups = set(request.GET.getlist("show")) & set(event_sentences.GROUPS)
    lines, since = latest_lines(me, groups)
    may_look = may(me, "grains.read")
    found = {
        "space": space,
        "lines": lines,
        "since": since,
        "nothing": EventLine(),  # the shape of a line, for those that arrive later
        "groups": [(name, label, not groups or name in groups) for name, label in event_sentences.GROUPS.items()],
        "table": event_sentences.sentence_table(),
        "me": me.actor,
        "all_traces": may(me, "grains.manage"),
        "drawn": may_look and graph_picture.current_picture(me).grains > 0,
    }
    return render(request, "dashboard/live.html", found)


@sign_in_required
@require_safe
def touched_grains(request: HttpRequest) -> JsonResponse:
    """Queries and results of recalls that a live page was told of, as JSON."""
    me = _me(request)
    try:
        wanted = list(dict.fromkeys(UUID(one) for one in request.GET.getlist("trace")))
    except ValueError:
        return JsonResponse(
            {"code": "invalid", "message": "A trace parameter is not a trace ID: it must be a UUID."}, status=422
        )
    try:
        return JsonResponse({"recalls": trace_list.preview_traces(me, wanted)})
    except FluxError as refusal:
        return JsonResponse(refusal.body(), status=refusal.status)


@sign_in_required
@require_safe
def grain(request: HttpRequest, grain: UUID) -> HttpResponse:
    """Redirect from the id of a memory, which events have, to its page in the admin."""
    known = graph_picture.label_grains(_me(request), [str(grain)]).get(str(grain))
    if known is None:
        raise Http404
    return redirect(answer_cards.admin_address("grain", known.number))


@sign_in_required
@require_safe
def job(request: HttpRequest, job: UUID) -> HttpResponse:
    space = _space(request)
    found = Job.objects.filter(uuid=job, space=space.pk).values_list("pk", flat=True).first()
    if found is None or not current_visitor(request).may("jobs.read", space.pk):
        raise Http404
    return redirect(reverse("admin:fluxcore_job_change", args=[found]))


def _space(request: HttpRequest) -> Space:
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    return space


def _me(request: HttpRequest) -> Principal:
    return current_visitor(request).principal(_space(request).pk)
