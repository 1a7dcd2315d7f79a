"""The Mobile preview page: pages of the dashboard in frames of the size of a phone and a tablet."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard import page_frame
from dashboard.account import sign_in_required
from dashboard.middleware import previewed_addresses

# Name, width and height in CSS pixels; each has a rule in preview.css.
DEVICES = (("Phone", 390, 844), ("Small phone", 360, 640), ("Tablet", 820, 1180))


@sign_in_required
@require_safe
def mobile_preview(request: HttpRequest) -> HttpResponse:
    found = page_frame.frame_of(request)
    previewed = previewed_addresses()
    pages = [link for link in found.pages if link.address in previewed] if found is not None else []
    addresses = [link.address for link in pages]
    wanted = request.GET.get("page")
    shown = wanted if wanted in addresses else reverse("home")
    return render(request, "dashboard/preview.html", {"pages": pages, "shown": shown, "devices": DEVICES})
