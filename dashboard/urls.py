"""Addresses of the people's door."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from dashboard import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health", views.health),
    path("enrol/<str:secret>", views.enrol, name="enrol"),
    path("welcome", views.welcome, name="welcome"),
    path("favicon.ico", RedirectView.as_view(url=static("dashboard/mark.svg"))),
    path("admin/", admin.site.urls),
]
