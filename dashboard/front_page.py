"""The start page: overview of a space for signed-in people, sign-in link for everybody else; health and error pages."""

from __future__ import annotations

import math
import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template import loader
from django.views.decorators.http import require_safe
from django.views.defaults import bad_request, server_error

from accounts import roles
from accounts.adminsite import index_tiles
from accounts.models import Space, User
from accounts.visitor import current_visitor, is_signed_in
from dashboard import event_sentences, imports, overview, page_frame
from fluxcore.db_errors import translate
from fluxcore.errors import FluxError, TooLarge
from fluxcore.writes import limit_messages
from fluxsite.run import running_state

_NAMED = 20  # administrators shown to a person without a role


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def handle_error(request: HttpRequest) -> HttpResponse:
    """Error page of the server. Tells when the database is busy or full; all other causes are in the log."""
    error = sys.exc_info()[1]
    refusal = translate(error) if error is not None else None
    if not isinstance(refusal, FluxError):
        return server_error(request)
    # Rendered without the request, because the signed-in person cannot be read from the database either.
    page = loader.get_template("503.html").render({"says": refusal.message})
    return HttpResponse(page, status=refusal.status, headers={"Retry-After": str(math.ceil(refusal.retry_after or 5))})


def refuse_form(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Error page of a request that is not accepted: 413 where a form has too much of something, else 400."""
    refusal = _form_refusal(exception)
    if refusal is None:
        return bad_request(request, exception or BadRequest())
    page = loader.get_template("413.html").render({"says": refusal.message})
    return HttpResponse(page, status=refusal.status)


def _form_refusal(exception: Exception | None) -> TooLarge | None:
    if isinstance(exception, TooManyFilesSent):
        return imports.too_large(imports.MAX_FILES, "files")
    if isinstance(exception, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return limit_messages.too_large("A form", limit=most, raised_by=None, unit="fields")
    if isinstance(exception, RequestDataTooBig):
        return limit_messages.too_large(
            "A form without its files", limit=settings.MAX_BODY_BYTES, raised_by="FLUX_MAX_BODY_BYTES"
        )
    return None


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
        "words": event_sentences.WORDS,
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
    """Page of a person without a role in any space; for an administrator: there is no space yet."""
    administrators = User.objects.filter(is_superuser=True, is_active=True).order_by("username")
    found = {"administrators": administrators[:_NAMED], "instance": settings.HOME.name}
    return render(request, "dashboard/nowhere.html", found)


def server_addresses() -> dict[str, str]:
    """REST and MCP addresses of the running instance; empty while this process does not know them."""
    doors = (running_state.read_state(settings.HOME) or {}).get("urls", {})
    return {"REST": doors["rest"], "MCP": doors["mcp"]} if doors else {}
