"""Addresses of the people's door."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from dashboard import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health", views.health),
    path("enrol/<str:secret>", views.enrol, name="enrol"),
    path("admin/", admin.site.urls),
]
