"""The first pages: a front door and the enrolment of the first administrator."""

from __future__ import annotations

import base64
import math

import segno
from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from accounts import people, refusals
from accounts.principals import Principal
from dashboard.forms import EnrolmentForm
from fluxcore.errors import FluxError, NotFound
from fluxcore.version import VERSION
from fluxsite import running

# Names in the visitor's session, which is kept on the server.
_PENDING = "enrolment"
_ENROLLED = "enrolled"
# The name inside the picture: the person has not chosen one yet when it is drawn, and apps only display it.
_LABEL = "administrator"


@require_safe
def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    doors = (running.state(settings.HOME) or {}).get("urls", {})
    return render(
        request,
        "dashboard/home.html",
        {
            "instance": settings.HOME.name,
            "version": VERSION,
            "has_administrator": people.has_administrator(),
            "doors": {"REST": doors["rest"], "MCP": doors["mcp"]} if doors else {},
        },
    )


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def enrol(request: HttpRequest, secret: str) -> HttpResponse:
    """One answer for links that are used, expired, worn out or never existed."""
    try:
        return _enrol(request, people.holder(secret))
    except NotFound:
        refusals.note(str(request.META.get("REMOTE_ADDR") or "unknown"))
        return render(request, "dashboard/enrol_closed.html", status=404)


def _enrol(request: HttpRequest, holder: Principal) -> HttpResponse:
    key, shown_before = _totp_key(request, holder)
    form = EnrolmentForm(request.POST if request.method == "POST" else None)
    if not form.is_bound:
        return _form_page(request, form, key)
    if form.is_valid() and not shown_before:
        form.add_error("code", "This page was open too long, or your browser keeps no cookies. Scan the new picture.")
    if not form.is_valid():
        return _form_page(request, form, key, status=422)
    given = form.cleaned_data
    try:
        made = people.enrol(
            holder, username=given["username"], password=given["password"], totp_key=key.hex(), code=given["code"]
        )
    except NotFound:
        raise
    except FluxError as refusal:
        field = refusal.details.get("field")
        form.add_error(field if field in form.fields else None, refusal.message)
        response = _form_page(request, form, key, status=refusal.status)
        if refusal.retry_after is not None:
            response["Retry-After"] = str(max(1, math.ceil(refusal.retry_after)))
        return response
    del request.session[_PENDING]
    request.session[_ENROLLED] = made["username"]
    return redirect("welcome")


def _totp_key(request: HttpRequest, holder: Principal) -> tuple[bytes, bool]:
    """The key of this visitor and link, and whether they have seen it. It never travels through the form."""
    pending = request.session.get(_PENDING)
    if pending is not None and pending["link"] == holder.enrolment:
        return bytes.fromhex(pending["key"]), True
    key = people.new_totp_key()
    request.session[_PENDING] = {"link": holder.enrolment, "key": key.hex()}
    return key, False


def _form_page(request: HttpRequest, form: EnrolmentForm, key: bytes, *, status: int = 200) -> HttpResponse:
    text = base64.b32encode(key).decode()
    # A screen does not get scratched: the least redundancy gives the largest squares.
    picture = segno.make(people.totp_uri(key, _LABEL), error="l", boost_error=False)
    return render(
        request,
        "dashboard/enrol.html",
        {
            "form": form,
            "instance": settings.HOME.name,
            # White behind it in dark mode too: many cameras do not read an inverted picture.
            "picture": picture.svg_data_uri(border=4, dark="#000", light="#fff"),
            "key_groups": [text[start : start + 4] for start in range(0, len(text), 4)],
        },
        status=status,
    )


@never_cache
@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    username = request.session.get(_ENROLLED)
    if username is None:
        return redirect("home")
    return render(request, "dashboard/welcome.html", {"username": username, "instance": settings.HOME.name})
