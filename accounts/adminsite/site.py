"""The admin site: Django's admin with a required second factor and our own sign-in page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path, reverse
from django.utils.text import capfirst, slugify
from django.views.decorators.cache import never_cache
from django_otp.admin import OTPAdminSite

from accounts.adminsite import index_tiles
from accounts.visitor import current_visitor

# Groups of pages on the index, in this order; `group` of a page is one of them.
GROUPS = ("Agents", "Memory", "People", "Work", "Audit")
# Views of Django that read rows of any table, for widgets we do not use.
_UNUSED = {"autocomplete", "view_on_site"}


class FluxAdminSite(OTPAdminSite):  # type: ignore[misc]
    site_header = "Flux Memory"
    site_title = "Flux Memory"
    index_title = "Needs your attention"
    enable_nav_sidebar = True
    final_catch_all_view = True

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the dashboard's sign-in, the only one, which asks for both factors."""
        wanted = request.GET.get("next") or reverse("admin:index", current_app=self.name)
        return redirect(f"{reverse('sign-in')}?{urlencode({'next': wanted})}")

    def logout(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return redirect("account")  # signs out with a form, which other sites cannot submit

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return redirect("change-password")

    def password_change_done(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return redirect("account")

    def get_urls(self) -> list[Any]:
        from accounts.admin.capability_preview import preview_page

        def preview(request: HttpRequest) -> HttpResponse:
            return preview_page(self, request)

        kept = [found for found in super().get_urls() if getattr(found, "name", None) not in _UNUSED]
        return [path("capabilities/", self.admin_view(preview), name="preview"), *kept]

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the person may open the admin; cached per request and user, because Django asks many times."""
        known = getattr(request, "_may_enter", None)
        if known is None or known[0] is not request.user:
            known = (request.user, bool(super().has_permission(request)))
            request._may_enter = known  # type: ignore[attr-defined]
        return bool(known[1])

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        found: dict[str, Any] = super().each_context(request)
        found["has_permission"] = self.has_permission(request)
        return found

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[dict[str, Any]]:
        """Pages grouped by `group` instead of by Django app."""
        by_model = {
            model["model"]: model
            for app in self._build_app_dict(request, app_label).values()
            for model in app["models"]
        }
        groups: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPS}
        for model, page in self._registry.items():
            if model in by_model:
                groups[page.group].append({**by_model[model], "name": capfirst(page.called[1]), "about": page.about})
        index = reverse("admin:index", current_app=self.name)
        return [
            {
                "name": name,
                "app_label": slugify(name),
                "app_url": f"{index}#{slugify(name)}",
                "has_module_perms": True,
                "models": models,
            }
            for name, models in groups.items()
            if models
        ]

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Any = None) -> HttpResponse:
        return redirect("admin:index")

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        who = current_visitor(request)
        found = {
            "tiles": index_tiles.visible_tiles(who),
            "way_in": index_tiles.setup_steps(who),
            **(extra_context or {}),
        }
        page: HttpResponse = never_cache(super().index)(request, found)
        return page
