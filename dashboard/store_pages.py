"""What all pages of stores share: the person and the space of a request, addresses, and answers to refusals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from unicodedata import normalize
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.models import Space
from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from flux import paths
from fluxcore import clock
from fluxcore.errors import FluxError, Forbidden, StepUpRequired
from memory.artifacts import names

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True)
class StoreVisit:
    """A request for a page of stores: who asks, and in which space."""

    request: HttpRequest
    space: Space
    me: Principal

    def may(self, operation: str) -> bool:
        return current_visitor(self.request).may(operation, self.space.pk)

    def number(self, name: str) -> int | None:
        """A parameter that is a positive number; anything else is like none."""
        text = self.request.GET.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 and int(text) else None

    def text(self, name: str, most: int = 500) -> str:
        return self.request.GET.get(name, "").replace("\0", "").strip()[:most]

    def sent(self, name: str) -> str:
        return str(self.request.POST.get(name, ""))

    def sent_path(self, name: str) -> str:
        return usual_path(self.sent(name).strip())


def store_page(*methods: str) -> Callable[[View], View]:
    """Decorator of pages of stores. What does not exist, cannot be named or may not be seen is answered with 404."""

    def decorate(view: View) -> View:
        @sign_in_required
        @require_http_methods([*methods, "HEAD"] if "GET" in methods else list(methods))
        @wraps(view)
        def call(request: HttpRequest, **named: Any) -> Any:
            space = page_frame.current_space(request)
            if space is None:
                return redirect("home")  # which shows whom to ask for a role, or how to create a space
            if any("\0" in str(value) for value in named.values()):
                raise Http404  # PostgreSQL refuses text with a NUL
            visit = StoreVisit(request, space, current_visitor(request).principal(space.pk))
            try:
                return view(visit, **named)
            except StepUpRequired:
                raise
            except Forbidden:
                raise PermissionDenied from None
            except FluxError as refusal:
                if refusal.status in (404, 410, 422):
                    raise Http404 from None
                raise

        return call

    return decorate


def raise_if_of_page(refusal: FluxError) -> None:
    """Raise a refusal that is about the whole page. Others are about what was typed, and shown beside it."""
    if refusal.code in ("forbidden", "not_found", "step_up_required"):
        raise refusal


def usual_path(text: str) -> str:
    """A path in the one Unicode form that stores take. macOS gives the names of its files in another."""
    return normalize("NFC", text)


def reference(facts: dict[str, Any], space: Space) -> str:
    """How addresses name a store: by its key, or by its id if its key alone does not name it."""
    usual = (facts["org"], facts["project"], facts["domain"]) == (space.name, paths.DEFAULT, paths.DEFAULT)
    return str(facts["key"] if usual and names.as_uuid(facts["key"]) is None else facts["store"])


def address(page: str, *where: str, fragment: str = "", **query: Any) -> str:
    """Address of a page with its parameters; those that are None or empty are left out."""
    kept = {name: value for name, value in query.items() if value not in (None, "")}
    path = reverse(page, args=where)
    return f"{path}{f'?{urlencode(kept)}' if kept else ''}{f'#{fragment}' if fragment else ''}"


def moment(text: str | None) -> Any:
    return clock.parse(text) if text else None


def folders_of(path: str) -> list[tuple[str, str]]:
    """The folders above a path: name and path of each, the outermost first."""
    parts = path.split("/")[:-1]
    return [(name, "/".join(parts[: number + 1])) for number, name in enumerate(parts)]
