"""Base class of all admin pages: read-only lists and rows, limited to what the person's roles may see.

Django's own add, change and delete write rows without verbs and so without audit entries. Here a page only lists and
shows rows; every change is an `Action`: a form with a reason that calls a verb.
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
    """Paginator that counts at most 10,000 rows, because the count of a million takes longer than the page."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.order_by()[: MAX_COUNTED + 1].count())


class FluxChangeList(ChangeList):
    """A list page whose rows get their data from other tables with one call for all of them."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = list(self.result_list)
        self.model_admin.load_extras(request, self.result_list)  # type: ignore[attr-defined]
        self.counted = f"more than {MAX_COUNTED:,}" if self.result_count > MAX_COUNTED else str(self.result_count)


@dataclass(frozen=True)
class Action:
    """Action of a person on an admin page, which calls a verb."""

    name: str  # in the address
    label: str  # on the button
    needs: str  # the operation; some need a fresh code. Empty: the page names it for each row
    run: Callable[..., dict[str, Any] | None]  # (principal, row or None, **fields of the form, reason=)
    form: type[ActionForm] = ActionForm
    says: str = ""  # the effect, shown above the form
    dangerous: bool = False
    fits: Callable[[Any], bool] = lambda row: True  # whether the row's state allows the action
    done: str = "Done."
    # Template for an answer that is shown once, such as a new token; without one the person returns to the row.
    shows: str = ""


@dataclass(frozen=True)
class Section:
    """A small table on a row's page, with rows of another table that belong to it."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    says: str = ""  # shown if the table is empty
    more: str = ""  # address of the full list


if TYPE_CHECKING:
    Page = admin.ModelAdmin[Any]
else:
    Page = admin.ModelAdmin  # not generic at run time


class FluxModelAdmin(Page):
    """Base of all admin pages: lists and rows by role, changes only through actions."""

    reads: ClassVar[str]  # operation needed to see these rows
    called: ClassVar[tuple[str, str]]  # name of a row, singular and plural
    group: ClassVar[str]  # group of the page on the index
    about: ClassVar[str] = ""  # description under the title
    space_path: ClassVar[str | None] = None  # lookup of a row's space number; None: only for administrators
    row_actions: ClassVar[tuple[Action, ...]] = ()  # actions on one row
    adds: ClassVar[Action | None] = None  # action that creates a row
    empty_says: ClassVar[str] = ""  # shown if the list is empty

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
        # Django's templates and messages take the names of rows from here instead of the model's name.
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
        """The rows visible to a person who is not an administrator."""
        if self.space_path is None:
            return rows.none()
        return rows.filter(**{f"{self.space_path}__in": self.spaces_read(who)})

    def spaces_read(self, who: SignedIn) -> list[int]:
        """The spaces in which a person may see rows."""
        return who.spaces_where(self.reads)

    def reads_all(self, who: SignedIn) -> bool:
        """Whether a person may see the rows of all spaces."""
        return who.may(self.reads)

    def sees(self, who: SignedIn, row: Any) -> bool:
        return who.may(self.reads, self.space_of(row))

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        """Set attributes of the rows of a page that columns show and that are not in their table."""

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        return []

    def tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Further links above the list: label and address."""
        return []

    def titled(self, row: Any) -> str:
        return str(row)

    @admin.display(description="id")
    def outside_id(self, row: Any) -> Any:
        """The id that REST, MCP and the audit log use."""
        return formatting.code(str(row.uuid))

    # Permissions that Django checks, answered by `authorise.may` ------------------------------------
    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if not self.admin_site.has_permission(request):
            return False
        who = current_visitor(request)
        if obj is not None:
            return self.sees(who, obj)
        return self.reads_all(who) or (self._in_spaces and bool(self.spaces_read(who)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        if self.adds is None or not self.admin_site.has_permission(request):
            return False
        who = current_visitor(request)
        return who.may_somewhere(self.adds.needs) if self._in_spaces else who.may(self.adds.needs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # changes are actions

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # nothing is deleted on these pages

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only the declared filters of a list; with others hidden fields could be guessed, letter by letter."""
        return lookup in {found.parameter_name for found in self.list_filter}  # type: ignore[union-attr]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        who = current_visitor(request)
        return rows if self.reads_all(who) else self.seen_by(who, rows)

    @property
    def _in_spaces(self) -> bool:
        """Whether members of spaces may see rows of this page."""
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
        # PostgreSQL refuses text with a NUL. Django reports a second invalid parameter as a broken database.
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
            return None  # not a valid id, or too large for the database
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
                row_actions=self.available_actions(request, row),
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
        """Refused: Django's own log is empty, because changes of rows are in the audit log."""
        raise self._refused(request, "")

    # Actions --------------------------------------------------------------------------------------
    def principal(self, request: HttpRequest, row: Any) -> Principal:
        return current_visitor(request).principal(self.space_of(row))

    def operation(self, action: Action, row: Any) -> str:
        """The operation that an action on a row needs."""
        return action.needs

    def may_run(self, request: HttpRequest, action: Action, row: Any) -> bool:
        return current_visitor(request).may(self.operation(action, row), self.space_of(row))

    def available_actions(self, request: HttpRequest, row: Any) -> list[tuple[Action, str]]:
        """The actions this person can run on this row now, with their addresses."""
        return [
            (action, reverse(f"admin:{self.address}_action", args=[row.pk, action.name]))
            for action in self.row_actions
            if self.may_run(request, action, row) and action.fits(row)
        ]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.action_view)
        return [path("<path:object_id>/do/<slug:name>/", view, name=f"{self.address}_action"), *super().get_urls()]

    def action_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        if not self.has_view_permission(request):
            raise self._refused(request, self.reads)
        row = self.get_object(request, object_id)
        action = next((action for action in self.row_actions if action.name == name), None)
        if row is None or action is None:
            raise Http404
        if not self.may_run(request, action, row):
            raise self._refused(request, self.operation(action, row), row)
        return action_page(self, request, action, row)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if self.adds is None or not self.has_add_permission(request):
            raise self._refused(request, self.adds.needs if self.adds else "")
        return action_page(self, request, self.adds, None)

    def _refused(self, request: HttpRequest, missing: str, row: Any = None) -> PermissionDenied:
        """Audit a refused request of a signed-in person, for any address of the admin."""
        principal = current_visitor(request).principal(self.space_of(row) if row is not None else None)
        details = {"method": request.method, **({"missing": missing} if missing else {})}
        try:
            audit.refuse(principal, "admin.open", audit.readable(request.path, 200), details=details)
        except RateLimited:
            pass  # above the limit of audited refusals
        return PermissionDenied()
