"""The live page: what happens in a space as it happens, one readable line each, and where to look further."""

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
from accounts.here import here
from accounts.models import Space
from accounts.principals import Principal
from accounts.verbs import selector
from dashboard import cards, shell, telling
from dashboard.account import signed_in
from dashboard.overview import QUIET
from dashboard.telling import Line
from fluxcore import clock, events
from fluxcore.errors import FluxError
from fluxcore.events import Position
from fluxcore.models import Event, Job
from memory.grains import picture, recalls

LATEST = 300  # events looked through for the lines a page begins with
LINES = 100
_LATEST = (
    f"SELECT xid, id, kind, at, actor, subject, data FROM {Event._meta.db_table} "  # noqa: S608
    f"WHERE space = %s AND kind <> '{QUIET}' ORDER BY xid DESC, id DESC LIMIT {LATEST}"
)


@selector("events.latest", needs="events.read")
def latest(principal: Principal, groups: set[str]) -> tuple[list[Line], str]:
    """The newest lines, newest first, and the position from which the live feed misses nothing."""
    # Looked up first: what is committed meanwhile is then said by the feed too, and told apart by its key.
    since = str(events.head())
    with connection.cursor() as cursor:
        cursor.execute(_LATEST, [principal.space])
        rows = cursor.fetchall()
    all_traces = may(principal, "grains.manage")
    found = chain.from_iterable(
        telling.lines(
            Position(xid, number), kind, clock.parse(clock.rfc3339(at) or ""), actor, subject,
            json.loads(data) if isinstance(data, str) else data, mine=principal.actor, all_traces=all_traces,
        )
        for xid, number, kind, at, actor, subject, data in rows
        if not groups or telling.group(kind) in groups
    )  # fmt: skip
    return list(islice(found, LINES)), since


@signed_in
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    space = shell.current_space(request)
    if space is None:
        return redirect("home")
    me = here(request).principal(space.pk)
    groups = set(request.GET.getlist("show")) & set(telling.GROUPS)
    lines, since = latest(me, groups)
    may_look = may(me, "grains.read")
    found = {
        "space": space,
        "lines": lines,
        "since": since,
        "nothing": Line(),  # the shape of a line, for those that arrive later
        "groups": [(name, label, not groups or name in groups) for name, label in telling.GROUPS.items()],
        "table": telling.table(),
        "me": me.actor,
        "all_traces": may(me, "grains.manage"),
        "drawn": may_look and picture.picture(me).grains > 0,
    }
    return render(request, "dashboard/live.html", found)


@signed_in
@require_safe
def touched(request: HttpRequest) -> JsonResponse:
    """What recalls asked and which grains answered, for a page that saw them go by."""
    me = _me(request)
    try:
        wanted = list(dict.fromkeys(UUID(one) for one in request.GET.getlist("trace")))
    except ValueError:
        return JsonResponse({"code": "invalid", "message": "That is not the id of a trace."}, status=422)
    try:
        return JsonResponse({"recalls": recalls.glimpse(me, wanted)})
    except FluxError as refusal:
        return JsonResponse(refusal.body(), status=refusal.status)


@signed_in
@require_safe
def grain(request: HttpRequest, grain: UUID) -> HttpResponse:
    """From a grain's id, which is all an event says, to its page."""
    known = picture.named(_me(request), [str(grain)]).get(str(grain))
    if known is None:
        raise Http404
    return redirect(cards.page("grain", known.number))


@signed_in
@require_safe
def job(request: HttpRequest, job: UUID) -> HttpResponse:
    space = _space(request)
    found = Job.objects.filter(uuid=job, space=space.pk).values_list("pk", flat=True).first()
    if found is None or not here(request).may("jobs.read", space.pk):
        raise Http404
    return redirect(reverse("admin:fluxcore_job_change", args=[found]))


def _space(request: HttpRequest) -> Space:
    space = shell.current_space(request)
    if space is None:
        raise Http404
    return space


def _me(request: HttpRequest) -> Principal:
    return here(request).principal(_space(request).pk)
