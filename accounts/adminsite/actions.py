"""The page of one admin action: its form, a code if one is required, the call of the verb and its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.utils import quote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.adminsite.forms import ActionForm
from accounts.capabilities import NEED_FRESH_CODE
from accounts.signin import credentials
from accounts.visitor import client_address, current_visitor, mark_fresh
from fluxcore.errors import FluxError

if TYPE_CHECKING:
    from accounts.adminsite.modeladmin import Action, FluxModelAdmin

PREVIEW = "_preview"  # name of the button that shows the effect and changes nothing


def action_page(page: FluxModelAdmin, request: HttpRequest, action: Action, row: Any) -> HttpResponse:
    if row is not None and not action.fits(row):
        messages.warning(request, "This action is no longer possible: the row has changed since you opened it.")
        return redirect(address_after(page, row))
    needs = page.operation(action, row)
    wants_code = needs in NEED_FRESH_CODE and not current_visitor(request).fresh
    previewing = request.method == "POST" and PREVIEW in request.POST
    form = action.form(
        request.POST if request.method == "POST" and not previewing else None,
        who=current_visitor(request),
        row=row,
        needs=needs,
        wants_code=wants_code,
    )
    status, retry_after = 200, None
    if previewing:
        form.take(request.POST)
    elif form.is_bound and form.is_valid():
        try:
            if wants_code:
                _take_code(request, form)
            answer = action.run(_principal(page, request, action, form, row), row, **form.given())
        except FluxError as refusal:
            field = refusal.details.get("field")
            form.add_error(field if field in form.fields else None, refusal.message)
            status, retry_after = refusal.status, refusal.retry_after
        else:
            return _after(page, request, action, row, answer or {})
    elif form.is_bound:
        status = 422
    found = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "action": action,
        "row": row,
        "form": form,
        "title": action.label,
        "of": page.titled(row) if row is not None else "",
        "back": address_after(page, row),
        "preview": form.preview(),
        "previewing": previewing,
    }
    response = TemplateResponse(request, "admin/flux/action.html", found, status=status)
    if retry_after is not None:
        response["Retry-After"] = str(max(1, math.ceil(retry_after)))
    return response


def _take_code(request: HttpRequest, form: ActionForm) -> None:
    credentials.check_code(
        current_visitor(request).user, form.cleaned_data["code"], source=client_address(request), action="step_up"
    )
    mark_fresh(request)
    del form.fields["code"]  # if the verb refuses, the form is shown again without asking for another code


def _principal(page: FluxModelAdmin, request: HttpRequest, action: Action, form: ActionForm, row: Any) -> Any:
    """The person acting in the row's space; without a row, in the space chosen in the form, if it has one."""
    who = current_visitor(request)
    if row is not None:
        return page.principal(request, row)
    chosen = form.cleaned_data.get("space")
    number = next((space.pk for space in who.spaces.values() if space.name == chosen), None)
    return who.principal(None if who.may(action.needs) else number)


def _after(
    page: FluxModelAdmin, request: HttpRequest, action: Action, row: Any, answer: dict[str, Any]
) -> HttpResponse:
    if action.shows:
        found = {
            **page.admin_site.each_context(request),
            "opts": page.opts,
            "action": action,
            "row": row,
            "answer": answer,
            "title": action.label,
            "of": page.titled(row) if row is not None else "",
            "back": address_after(page, row),
            "origin": request.build_absolute_uri("/").rstrip("/"),
        }
        return TemplateResponse(request, action.shows, found)
    messages.success(request, action.done)
    return redirect(address_after(page, row))


def address_after(page: FluxModelAdmin, row: Any) -> str:
    """Address of the row's page, or of the list if the row is gone or does not exist yet."""
    if row is None or not page.model._default_manager.filter(pk=row.pk).exists():
        return reverse(f"admin:{page.address}_changelist")
    return reverse(f"admin:{page.address}_change", args=[quote(row.pk)])
