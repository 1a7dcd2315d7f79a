"""The front page: the overview of a space for who has signed in, a door for everybody else."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounts import roles, tiles
from accounts.here import here, is_signed_in
from accounts.models import Agent, GrantRequest, Space, Token, User
from dashboard import overview, shell
from fluxcore.models import Event, Job
from fluxsite import running
from memory.grains.models import Grain

_NAMED = 20  # administrators shown to somebody who has to ask one


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if not is_signed_in(request):
        found = {
            "instance": settings.HOME.name, "has_administrator": roles.has_administrator(), "doors": _doors(),
        }  # fmt: skip
        return render(request, "dashboard/home.html", found)
    wanted = request.GET.get("space")
    if wanted is not None:
        shell.choose(request, wanted)
        return redirect("home")
    space = shell.current_space(request)
    if space is None:
        return _nowhere(request)
    return render(request, "dashboard/overview.html", _overview(request, space))


def _overview(request: HttpRequest, space: Space) -> dict[str, Any]:
    who = here(request)
    return {
        "space": space,
        "role": who.roles[space.pk],
        "many": len(who.spaces) > 1,
        "overview": overview.of(who.principal(space.pk)),
        "nothing": overview.Happening(),  # the shape of an event, for those that arrive later
        "tiles": tiles.of(who),
        "lists": {
            "grains": shell.rows_of(request, Grain, space=space.name),
            "agents": shell.rows_of(request, Agent, space=space.name),
            "tokens": shell.rows_of(request, Token, space=space.name),
            "requests": shell.rows_of(request, GrantRequest, space=space.name, state="waiting"),
            "jobs": shell.rows_of(request, Job, space=space.name, state="parked"),
            "events": shell.rows_of(request, Event, space=space.name),
        },
        "may_manage": shell.may_manage(who, space),
        "doors": _doors(),
        "name": "" if settings.HOME.name == "default" else f" --name {settings.HOME.name}",
    }


def _nowhere(request: HttpRequest) -> HttpResponse:
    """Somebody without a role anywhere. An administrator has one in every space, so there is none yet."""
    administrators = User.objects.filter(is_superuser=True, is_active=True).order_by("username")
    found = {"administrators": administrators[:_NAMED], "instance": settings.HOME.name}
    return render(request, "dashboard/nowhere.html", found)


def _doors() -> dict[str, str]:
    doors = (running.state(settings.HOME) or {}).get("urls", {})
    return {"REST": doors["rest"], "MCP": doors["mcp"]} if doors else {}
