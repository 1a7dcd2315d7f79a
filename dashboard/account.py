"""The account page and its forms: sessions, password, authenticator and backup codes of the signed-in person."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import auth, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import own_account
from accounts.models import Session
from accounts.signin import second_factors
from accounts.visitor import current_visitor, is_signed_in
from dashboard.enrolment import key_picture
from dashboard.forms import CodeForm, NewPasswordForm
from fluxcore import clock
from fluxcore.encryption import decrypt, encrypt
from fluxcore.errors import FluxError, NotFound, SealBroken, StepUpRequired

_NEW_KEY = "new_authenticator"

View = Callable[..., HttpResponse]


def sign_in_required(view: View) -> View:
    """Decorator of pages: redirect to sign-in, or to the fresh-code page where one is needed, and back afterwards."""

    @wraps(view)
    def call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        back = urlencode({"next": request.get_full_path() if request.method in ("GET", "HEAD") else reverse("account")})
        if not is_signed_in(request):
            return redirect(f"{reverse('sign-in')}?{back}")
        try:
            return view(request, *args, **kwargs)
        except StepUpRequired:
            return redirect(f"{reverse('fresh-code')}?{back}")

    return never_cache(call)


def _want_fresh(request: HttpRequest) -> None:
    if not current_visitor(request).fresh:
        raise StepUpRequired


@sign_in_required
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    me = current_visitor(request).user
    mine = Session.objects.filter(user=me, expire_date__gt=clock.now()).order_by("-seen_at")
    current = Session._meta.get_field("session_key").get_prep_value(request.session.session_key)
    return render(
        request,
        "dashboard/account.html",
        {
            "sessions": [{"row": row, "current": row.session_key == current} for row in mine[:100]],
            "codes_left": second_factors.backup_codes_left(me.pk),
            "codes_made": second_factors.BACKUP_CODES,
            "roles": [
                (space, current_visitor(request).roles[space.pk]) for space in current_visitor(request).spaces.values()
            ],
        },
    )


@sign_in_required
@require_POST
def end_session(request: HttpRequest) -> HttpResponse:
    try:
        own_account.end_session(current_visitor(request).principal(), session=str(request.POST.get("session", ""))[:64])
        messages.success(request, "That session has ended.")
    except NotFound as refusal:
        messages.warning(request, refusal.message)
    return redirect("account")


@sign_in_required
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def change_password(request: HttpRequest) -> HttpResponse:
    _want_fresh(request)
    form = NewPasswordForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            own_account.change_password(current_visitor(request).principal(), password=form.cleaned_data["password"])
        except StepUpRequired:
            raise
        except FluxError as refusal:
            form.add_error("password", refusal.message)
        else:
            auth.logout(request)
            messages.success(request, "Your password is changed and every session has ended. Sign in with the new one.")
            return redirect("sign-in")
    return render(request, "dashboard/change_password.html", {"form": form}, status=422 if form.is_bound else 200)


@sign_in_required
@require_POST
def backup_codes(request: HttpRequest) -> HttpResponse:
    new_codes = own_account.new_backup_codes(current_visitor(request).principal())
    found = {
        "codes": new_codes["backup_codes"],
        "username": current_visitor(request).user.username,
        "instance": settings.HOME.name,
    }
    return render(request, "dashboard/backup_codes.html", found)


@sign_in_required
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def authenticator(request: HttpRequest) -> HttpResponse:
    """Replace the authenticator app. The new key is sealed in the session until a code proves that the app has it."""
    _want_fresh(request)
    me = current_visitor(request).user
    key = _new_key(request, me.pk)
    form = CodeForm(request.POST if request.method == "POST" else None)
    form.fields["code"].help_text = "The six digits the new app shows now."
    if form.is_bound and form.is_valid():
        try:
            own_account.replace_authenticator(
                current_visitor(request).principal(), totp_key=key.hex(), code=form.cleaned_data["code"]
            )
        except StepUpRequired:
            raise
        except FluxError as refusal:
            form.add_error("code", refusal.message)
        else:
            del request.session[_NEW_KEY]
            auth.logout(request)
            messages.success(request, "The new authenticator is active. Sign in with its next code.")
            return redirect("sign-in")
    found = {"form": form, **key_picture(key, me.username)}
    return render(request, "dashboard/authenticator.html", found, status=422 if form.is_bound else 200)


def _new_key(request: HttpRequest, user: int) -> bytes:
    about = f"new authenticator:{user}"
    if _NEW_KEY in request.session:
        try:
            return decrypt(request.session[_NEW_KEY], about=about)
        except SealBroken:
            pass  # the instance's key has changed since: make a new one
    key = second_factors.new_key()
    request.session[_NEW_KEY] = encrypt(key, about=about)
    return key
