"""The enrolment page behind a one-time link: account form, QR code of the authenticator, and backup codes once."""

from __future__ import annotations

import base64
import math

import segno
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts import anonymous_refusals
from accounts.models import Enrolment, User
from accounts.signin import links, second_factors
from accounts.signin.enrolment import enrol as take_up
from accounts.visitor import client_address
from dashboard.forms import EnrolmentForm
from dashboard.sign_in import UNLOCK, start_session
from fluxcore.encryption import decrypt, encrypt
from fluxcore.errors import FluxError, NotFound, SealBroken

# The name in the visitor's session, which is kept on the server; the key in it is sealed.
_PENDING = "enrolment"
# The name inside the picture while the person has not chosen one; apps only display it.
_LABEL = "administrator"


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def enrol(request: HttpRequest, secret: str) -> HttpResponse:
    """The page of a link. Links that are used, expired, blocked or unknown get the same answer."""
    try:
        link = links.find(secret)
        if link.purpose == Enrolment.Purpose.UNLOCK:
            request.session[UNLOCK] = link.pk
            return redirect("sign-in")
        return _enrol(request, link)
    except NotFound:
        anonymous_refusals.count_refusal(client_address(request))
        return render(request, "dashboard/enrol_closed.html", status=404)


def _enrol(request: HttpRequest, link: Enrolment) -> HttpResponse:
    key, shown_before = _totp_key(request, link)
    form = EnrolmentForm(request.POST if request.method == "POST" else None, link=link)
    if not form.is_bound:
        return _form_page(request, link, form, key)
    if form.is_valid() and not shown_before:
        form.add_error("code", "This page was open too long, or your browser keeps no cookies. Scan the new picture.")
    if not form.is_valid():
        return _form_page(request, link, form, key, status=422)
    given = form.cleaned_data
    try:
        enrolled = take_up(
            links.link_principal(link),
            username=given["username"],
            password=given["password"],
            totp_key=key.hex(),
            code=given["code"],
        )
    except NotFound:
        raise
    except FluxError as refusal:
        field = refusal.details.get("field")
        form.add_error(field if field in form.fields else None, refusal.message)
        response = _form_page(request, link, form, key, status=refusal.status)
        if refusal.retry_after is not None:
            response["Retry-After"] = str(max(1, math.ceil(refusal.retry_after)))
        return response
    request.session.pop(_PENDING, None)
    # Both factors were just given, so the person is signed in.
    start_session(request, User.objects.get(pk=enrolled["user"]))
    # Only in this answer: a session would store the codes on the server.
    return render(
        request,
        "dashboard/backup_codes.html",
        {
            "codes": enrolled["backup_codes"],
            "username": enrolled["username"],
            "instance": settings.HOME.name,
            "new": True,
        },
    )


def _totp_key(request: HttpRequest, link: Enrolment) -> tuple[bytes, bool]:
    """The TOTP key of this visitor and link, and whether they have seen it. The form never contains it."""
    pending = request.session.get(_PENDING)
    if pending is not None and pending["link"] == link.pk:
        try:
            return decrypt(pending["key"], about=f"enrolment:{link.pk}"), True
        except SealBroken:
            pass  # sealed before the instance key changed: show a new key
    key = second_factors.new_key()
    request.session[_PENDING] = {"link": link.pk, "key": encrypt(key, about=f"enrolment:{link.pk}")}
    return key, False


def key_picture(key: bytes, username: str) -> dict[str, object]:
    """The TOTP key as a QR code, and as groups of letters to type."""
    text = base64.b32encode(key).decode()
    # Lowest error correction: a screen does not get scratched, and the squares are larger.
    picture = segno.make(second_factors.otp_uri(key, username), error="l", boost_error=False)
    return {
        # White behind it in dark mode too: many cameras do not read an inverted picture.
        "picture": picture.svg_data_uri(border=4, dark="#000", light="#fff"),
        "key_groups": [text[start : start + 4] for start in range(0, len(text), 4)],
    }


def _form_page(
    request: HttpRequest, link: Enrolment, form: EnrolmentForm, key: bytes, *, status: int = 200
) -> HttpResponse:
    name = link.user.username if link.user is not None else _LABEL
    found = {"form": form, "link": link, "instance": settings.HOME.name, **key_picture(key, name)}
    return render(request, "dashboard/enrol.html", found, status=status)
