"""Sign-in and sign-out pages: password, second factor, fresh code."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

from django.contrib import auth, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.crypto import salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from django_otp import login as verified

from accounts import own_account
from accounts.models import Authenticator, User
from accounts.signin import credentials, sessions
from accounts.visitor import client_address, current_visitor, is_signed_in, mark_fresh
from dashboard.forms import CodeForm, PasswordForm
from fluxcore import clock
from fluxcore.errors import FluxError

_HALF = "half"  # session key after a right password, before the code: the person is not signed in yet
# Time limit between password and code.
HALF_SIGN_IN_LASTS = timedelta(minutes=5)
UNLOCK = "unlock_link"  # session key of the id of the visitor's unlock link


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """First step of signing in: user name and password; then redirect to the code."""
    if is_signed_in(request):
        return redirect(_next(request))
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, "dashboard/sign_in.html", form)
    try:
        user = credentials.check_password(
            form.cleaned_data["username"],
            form.cleaned_data["password"],
            source=client_address(request),
            link=request.session.get(UNLOCK),
        )
    except FluxError as refusal:
        return _refused(request, "dashboard/sign_in.html", form, refusal)
    request.session.cycle_key()  # against session fixation
    request.session[_HALF] = {
        "user": user.pk,
        "at": clock.rfc3339(clock.now()),
        "password": _mark(user),
        "next": _next(request),
    }
    return redirect("code")


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """Second step of signing in: the code. Only after it is the session signed in."""
    half = _half(request)
    if half is None:
        messages.warning(
            request, "Signing in took longer than five minutes or began in another window. Please start again."
        )
        return redirect("sign-in")
    user, target = half
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, "dashboard/code.html", form)
    try:
        factor = credentials.check_code(
            user, form.cleaned_data["code"], source=client_address(request), link=request.session.get(UNLOCK)
        )
    except FluxError as refusal:
        return _refused(request, "dashboard/code.html", form, refusal)
    start_session(request, user)
    if factor == "backup":
        messages.warning(
            request, "You used a backup code, which works only once. Your account shows how many are left."
        )
    return redirect(target)


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def fresh_code(request: HttpRequest) -> HttpResponse:
    """Ask a signed-in person for a code again, before a step that needs a recent one."""
    if not is_signed_in(request):
        return redirect("sign-in")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if not form.is_bound or not form.is_valid():
        return _page(request, "dashboard/fresh_code.html", form)
    try:
        credentials.check_code(
            current_visitor(request).user, form.cleaned_data["code"], source=client_address(request), action="step_up"
        )
    except FluxError as refusal:
        return _refused(request, "dashboard/fresh_code.html", form, refusal)
    mark_fresh(request)
    return redirect(_next(request))


@never_cache
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Sign out everywhere: all sessions of the person end, on every device, and their live pages with them."""
    if is_signed_in(request):
        own_account.sign_out(current_visitor(request).principal())
    auth.logout(request)
    messages.success(request, "You are signed out in all your browsers.")
    return redirect("sign-in")


def start_session(request: HttpRequest, user: User) -> None:
    """Sign the person in, after both factors were right: a new session key and all marks of the session."""
    request.session.pop(_HALF, None)
    request.session.pop(UNLOCK, None)
    auth.login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    verified(request, Authenticator.objects.filter(user=user).first())
    moment = clock.now()
    request.session.set_expiry(moment + sessions.MAX_AGE)
    request.session[sessions.CREATED] = clock.rfc3339(moment)
    request.session[sessions.SOURCE] = client_address(request)
    request.session[sessions.BROWSER] = _printable(request.META.get("HTTP_USER_AGENT", ""))
    mark_fresh(request)


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())[:200]


def _mark(user: User) -> str:
    """A digest that changes with the password, so that a half sign-in ends when the password changes."""
    return salted_hmac("dashboard.entering", user.password, algorithm="sha256").hexdigest()


def _half(request: HttpRequest) -> tuple[User, str] | None:
    found: dict[str, Any] | None = request.session.get(_HALF)
    if found is None:
        return None
    age = clock.now() - clock.parse(found["at"])
    user = User.objects.filter(pk=found["user"], is_active=True).first()
    if user is None or not timedelta(0) <= age <= HALF_SIGN_IN_LASTS or found["password"] != _mark(user):
        del request.session[_HALF]
        return None
    return user, found["next"]


def _next(request: HttpRequest) -> str:
    """The page to continue with: always one of this site, whatever the address says."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    # Only printable relative paths: browsers would correct others into addresses of other sites.
    return wanted if safe and wanted.startswith("/") and wanted.isprintable() and len(wanted) <= 2000 else "/"


def _page(request: HttpRequest, template: str, form: Any, *, status: int | None = None) -> HttpResponse:
    found = status or (422 if form.is_bound else 200)
    return render(request, template, {"form": form, "next": _next(request)}, status=found)


def _refused(request: HttpRequest, template: str, form: Any, refusal: FluxError) -> HttpResponse:
    field = refusal.details.get("field")
    form.add_error(field if field in form.fields else None, refusal.message)
    response = _page(request, template, form, status=refusal.status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(max(1, math.ceil(refusal.retry_after)))
    return response
