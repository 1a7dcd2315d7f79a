"""The page on which a person acts: a form, a code if one is wanted, the verb, and what came of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts import signin
from accounts.capabilities import WANT_A_FRESH_CODE
from accounts.forms import ActForm
from accounts.here import here, mark_fresh, source
from fluxcore.errors import FluxError

if TYPE_CHECKING:
    from accounts.modeladmin import Act, FluxModelAdmin

PREVIEW = "_preview"  # the button that shows what would be, and does nothing


def act_page(page: FluxModelAdmin, request: HttpRequest, act: Act, row: Any) -> HttpResponse:
    if row is not None and not act.fits(row):
        messages.warning(request, "That is no longer possible: somebody or something was faster.")
        return redirect(back(page, row))
    wants_code = act.needs in WANT_A_FRESH_CODE and not here(request).fresh
    previewing = request.method == "POST" and PREVIEW in request.POST
    form = act.form(
        request.POST if request.method == "POST" and not previewing else None,
        who=here(request), row=row, needs=act.needs, wants_code=wants_code,
    )  # fmt: skip
    status, retry_after = 200, None
    if previewing:
        form.take(request.POST)
    elif form.is_bound and form.is_valid():
        try:
            if wants_code:
                _take_code(request, form)
            answer = act.run(_principal(page, request, act, form, row), row, **form.given())
        except FluxError as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, refusal.message)
            status, retry_after = refusal.status, refusal.retry_after
        else:
            return _after(page, request, act, row, answer or {})
    elif form.is_bound:
        status = 422
    found = {
        **page.admin_site.each_context(request), "opts": page.opts, "act": act, "row": row, "form": form,
        "title": act.label, "of": page.titled(row) if row is not None else "", "back": back(page, row),
        "preview": form.preview(), "previewing": previewing,
    }  # fmt: skip
    response = TemplateResponse(request, "admin/flux/act.html", found, status=status)
    if retry_after is not None:
        response["Retry-After"] = str(max(1, math.ceil(retry_after)))
    return response


def _take_code(request: HttpRequest, form: ActForm) -> None:
    signin.check_code(here(request).user, form.cleaned_data["code"], source=source(request), action="step_up")
    mark_fresh(request)
    del form.fields["code"]  # if the verb refuses, the form comes back without asking for another one


def _principal(page: FluxModelAdmin, request: HttpRequest, act: Act, form: ActForm, row: Any) -> Any:
    """In the row's space; where there is no row yet, in the space that was chosen, if the form has one."""
    who = here(request)
    if row is not None:
        return page.principal(request, row)
    chosen = form.cleaned_data.get("space")
    number = next((space.pk for space in who.spaces.values() if space.name == chosen), None)
    return who.principal(None if who.may(act.needs) else number)


def _after(page: FluxModelAdmin, request: HttpRequest, act: Act, row: Any, answer: dict[str, Any]) -> HttpResponse:
    if act.shows:
        found = {
            **page.admin_site.each_context(request), "opts": page.opts, "act": act, "row": row, "answer": answer,
            "title": act.label, "of": page.titled(row) if row is not None else "", "back": back(page, row),
            "origin": request.build_absolute_uri("/").rstrip("/"),
        }  # fmt: skip
        return TemplateResponse(request, act.shows, found)
    messages.success(request, act.done)
    return redirect(back(page, row))


def back(page: FluxModelAdmin, row: Any) -> str:
    """The row, or its list where the act was the end of it or there is none yet."""
    if row is None or not page.model._default_manager.filter(pk=row.pk).exists():
        return reverse(f"admin:{page.address}_changelist")
    return reverse(f"admin:{page.address}_change", args=[quote(row.pk)])
