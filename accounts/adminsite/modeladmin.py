"""Base class of all admin pages: read-only lists and rows, limited to what the person's roles may see.

Django's own add, change and delete write rows past the verbs and so past the audit. Here a page lists
and shows; whatever a person does is an `Act`: a form with a reason that calls a verb.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.text import capfirst

from accounts import audit
from accounts.adminsite import formatting
from accounts.adminsite.actions import action_page
from accounts.adminsite.forms import ActionForm
from accounts.principals import Principal
from accounts.visitor import SignedIn, current_visitor
from fluxcore.errors import RateLimited

MAX_COUNTED = 10_000
MAX_SEARCH = 200


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most 10,000 rows: the exact count of a million costs more than the page itself."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: MAX_COUNTED + 1].count())


class FluxChangeList(ChangeList):
    """A page of rows, with what they need from elsewhere fetched for all of them at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.load_extras(request, self.result_list)  # type: ignore[attr-defined]
        self.counted = f"more than {MAX_COUNTED:,}" if self.result_count > MAX_COUNTED else str(self.result_count)


@dataclass(frozen=True)
class Action:
    """Something a person can do on a page, through a verb."""

    name: str  # in the address
    label: str  # on the button
    needs: str  # the operation; a code is asked for where that wants a fresh one
    run: Callable[..., dict[str, Any] | None]  # (principal, row or None, **fields of the form, reason=)
    form: type[ActionForm] = ActionForm
    says: str = ""  # what will happen, above the form
    dangerous: bool = False
    fits: Callable[[Any], bool] = lambda row: True  # whether the row is in a state for it
    done: str = "Done."
    # A template for an answer that is shown once, such as a new token; otherwise the person goes back to the row.
    shows: str = ""


@dataclass(frozen=True)
class Section:
    """A small table below a row: what belongs to it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    says: str = ""  # while it is empty
    more: str = ""  # the address of all of them


if TYPE_CHECKING:
    Page = admin.ModelAdmin[Any]
else:
    Page = admin.ModelAdmin  # not generic at run time


class FluxModelAdmin(Page):
    reads: ClassVar[str]  # the operation that shows these rows
    called: ClassVar[tuple[str, str]]  # one of them, many of them
    group: ClassVar[str]  # where the index lists the page
    about: ClassVar[str] = ""  # a sentence under the title
    space_path: ClassVar[str | None] = None  # from a row to its space's number; None: only administrators see them
    acts: ClassVar[tuple[Action, ...]] = ()  # on one row
    adds: ClassVar[Action | None] = None  # makes a row
    empty_says: ClassVar[str] = ""  # what the list teaches while it is empty

    actions = None
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    change_form_template = "admin/flux/row.html"
    change_list_template = "admin/flux/rows.html"

    def __init__(self, model: type[Any], admin_site: admin.AdminSite) -> None:
        super().__init__(model, admin_site)
        # A table's own name is a programmer's; Django's templates and messages read the people's name from here.
        self.opts.verbose_name, self.opts.verbose_name_plural = self.called

    # What pages say about their rows ---------------------------------------------------------------
    def space_of(self, row: Any) -> int | None:
        if self.space_path is None:
            return None
        found = row
        for step in self.space_path.split("__"):
            found = getattr(found, step)
        return int(found) if found is not None else None

    def seen_by(self, who: SignedIn, rows: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of somebody who is no administrator."""
        if self.space_path is None:
            return rows.none()
        return rows.filter(**{f"{self.space_path}__in": who.spaces_where(self.reads)})

    def sees(self, who: SignedIn, row: Any) -> bool:
        return who.may(self.reads, self.space_of(row))

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        """Put on the rows of a page what their columns show and their table does not hold."""

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        return []

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Further addresses above the list: words and where they lead."""
        return []

    def titled(self, row: Any) -> str:
        return str(row)

    @admin.display(description="id")
    def outside_id(self, row: Any) -> Any:
        """The id that REST, MCP and the audit log use."""
        return formatting.code(str(row.uuid))

    # What Django asks; `authorise.may` answers -----------------------------------------------------
    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if not self.admin_site.has_permission(request):
            return False
        who = current_visitor(request)
        if obj is not None:
            return self.sees(who, obj)
        return who.may(self.reads) or (self._in_spaces and who.may_somewhere(self.reads))

    def has_add_permission(self, request: HttpRequest) -> bool:
        if self.adds is None or not self.admin_site.has_permission(request):
            return False
        who = current_visitor(request)
        return who.may_somewhere(self.adds.needs) if self._in_spaces else who.may(self.adds.needs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # changes are acts

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # nothing is deleted by a click

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Lists are narrowed by their filters alone; any other field would let one guess at it, letter by letter."""
        return lookup in {found.parameter_name for found in self.list_filter}  # type: ignore[union-attr]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        who = current_visitor(request)
        return rows if who.may(self.reads) else self.seen_by(who, rows)

    @property
    def _in_spaces(self) -> bool:
        """Whether members of spaces see any of it."""
        return self.space_path is not None or type(self).seen_by is not FluxModelAdmin.seen_by

    @property
    def address(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}"

    # Lists and rows --------------------------------------------------------------------------------
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FluxChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request):
            raise self._refused(request, self.reads)
        extra = {
            "empty_says": self.empty_says,
            "adds": self.adds,
            "about": self.about,
            "tools": self.tools(request),
            "title": capfirst(self.called[1]),
            "lost": "e" in request.GET,
            **(extra_context or {}),
        }
        # PostgreSQL keeps no text with a NUL. Django takes a second mistake for a broken database.
        strange = any("\0" in text for pair in request.GET.items() for text in pair)
        if strange or ("e" in request.GET and len(request.GET) > 1):
            return redirect(f"{request.path}?e=1")
        try:
            return super().changelist_view(request, extra)
        except (DisallowedModelAdminLookup, DisallowedModelAdminToField):
            return redirect(f"{request.path}?e=1")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if len(search_term) > MAX_SEARCH:
            messages.warning(request, f"The search text is too long: at most {MAX_SEARCH} characters.")
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if "\0" in object_id:
            return None
        try:
            found = super().get_object(request, object_id, from_field)
        except (ValueError, OverflowError):
            return None  # a number no database knows
        if found is not None:
            self.load_extras(request, [found])
        return found

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if request.method not in ("GET", "HEAD") or not self.has_view_permission(request):
            raise self._refused(request, self.reads)
        row = self.get_object(request, object_id) if object_id else None
        extra = dict(extra_context or {})
        if row is not None and self.has_view_permission(request, row):
            extra.update(
                acts=self.acts_on(request, row),
                sections=self.sections(request, row),
                title=self.titled(row),
                subtitle=None,
            )
        try:
            return super().changeform_view(request, object_id, form_url, extra)
        except DisallowedModelAdminToField:
            return redirect(request.path)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        raise self._refused(request, "")

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Django's own log stays empty: what happened to a row is on the audit chain."""
        raise self._refused(request, "")

    # Acts -----------------------------------------------------------------------------------------
    def principal(self, request: HttpRequest, row: Any) -> Principal:
        return current_visitor(request).principal(self.space_of(row))

    def may_act(self, request: HttpRequest, act: Action, row: Any) -> bool:
        return current_visitor(request).may(act.needs, self.space_of(row))

    def acts_on(self, request: HttpRequest, row: Any) -> list[tuple[Action, str]]:
        """The acts this person can do on this row now, with their addresses."""
        return [
            (act, reverse(f"admin:{self.address}_act", args=[row.pk, act.name]))
            for act in self.acts
            if self.may_act(request, act, row) and act.fits(row)
        ]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.act_view)
        return [path("<path:object_id>/do/<slug:name>/", view, name=f"{self.address}_act"), *super().get_urls()]

    def act_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        if not self.has_view_permission(request):
            raise self._refused(request, self.reads)
        row = self.get_object(request, object_id)
        act = next((act for act in self.acts if act.name == name), None)
        if row is None or act is None:
            raise Http404
        if not self.may_act(request, act, row):
            raise self._refused(request, act.needs, row)
        return action_page(self, request, act, row)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if self.adds is None or not self.has_add_permission(request):
            raise self._refused(request, self.adds.needs if self.adds else "")
        return action_page(self, request, self.adds, None)

    def _refused(self, request: HttpRequest, missing: str, row: Any = None) -> PermissionDenied:
        """A refusal of somebody we know is on the chain, whichever address they tried."""
        principal = current_visitor(request).principal(self.space_of(row) if row is not None else None)
        details = {"method": request.method, **({"missing": missing} if missing else {})}
        try:
            audit.refuse(principal, "admin.open", audit.readable(request.path, 200), details=details)
        except RateLimited:
            pass  # so many that the chain keeps no more of them
        return PermissionDenied()
