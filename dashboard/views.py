"""The first pages: a front door and the enrolment of the first administrator."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render


def health(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/home.html")


def enrol(request: HttpRequest, secret: str) -> HttpResponse:
    return render(request, "dashboard/home.html")
