"""The front page: the overview of a space for who has signed in, a door for everybody else."""

from __future__ import annotations

import math
import sys
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader
from django.views.decorators.http import require_safe
from django.views.defaults import server_error

from accounts import roles
from accounts.adminsite import index_tiles
from accounts.models import Space, User
from accounts.visitor import current_visitor, is_signed_in
from dashboard import overview, page_frame
from fluxcore.db_errors import translate
from fluxcore.errors import FluxError
from fluxsite.run import running_state

_NAMED = 20  # administrators shown to somebody who has to ask one


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def handle_error(request: HttpRequest) -> HttpResponse:
    """A page could not be made. A database that is busy or full is said to be so; the rest is in the log."""
    error = sys.exc_info()[1]
    told = translate(error) if error is not None else None
    if not isinstance(told, FluxError):
        return server_error(request)
    # Without the request: whoever signed in cannot be looked up now either.
    page = loader.get_template("503.html").render({"says": told.message})
    return HttpResponse(page, status=told.status, headers={"Retry-After": str(math.ceil(told.retry_after or 5))})


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if not is_signed_in(request):
        found = {
            "instance": settings.HOME.name,
            "has_administrator": roles.has_administrator(),
            "doors": server_addresses(),
        }
        return render(request, "dashboard/home.html", found)
    wanted = request.GET.get("space")
    if wanted is not None:
        page_frame.choose_space(request, wanted)
        return redirect("home")
    space = page_frame.current_space(request)
    if space is None:
        return _nowhere(request)
    return render(request, "dashboard/overview.html", _overview(request, space))


def _overview(request: HttpRequest, space: Space) -> dict[str, Any]:
    who = current_visitor(request)
    return {
        "space": space,
        "role": who.roles[space.pk],
        "many": len(who.spaces) > 1,
        "overview": overview.space_overview(who.principal(space.pk)),
        "nothing": overview.OverviewEvent(),  # the shape of an event, for those that arrive later
        "tiles": index_tiles.visible_tiles(who),
        "lists": {
            "grains": index_tiles.list_address("grains_grain", space=space.name),
            "agents": index_tiles.list_address("accounts_agent", space=space.name),
            "tokens": index_tiles.list_address("accounts_token", space=space.name),
            "requests": index_tiles.list_address("accounts_grantrequest", space=space.name, state="waiting"),
            "jobs": index_tiles.list_address("fluxcore_job", space=space.name, state="parked"),
            "events": index_tiles.list_address("fluxcore_event", space=space.name),
        },
        "may_manage": who.may("accounts.manage", space.pk),
        "doors": server_addresses(),
    }


def _nowhere(request: HttpRequest) -> HttpResponse:
    """Somebody without a role anywhere. An administrator has one in every space, so there is none yet."""
    administrators = User.objects.filter(is_superuser=True, is_active=True).order_by("username")
    found = {"administrators": administrators[:_NAMED], "instance": settings.HOME.name}
    return render(request, "dashboard/nowhere.html", found)


def server_addresses() -> dict[str, str]:
    """Where agents find the running instance; nothing while this process does not know."""
    doors = (running_state.read_state(settings.HOME) or {}).get("urls", {})
    return {"REST": doors["rest"], "MCP": doors["mcp"]} if doors else {}
