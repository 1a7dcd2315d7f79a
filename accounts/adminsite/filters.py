"""Filters of admin lists: a choice of values, or a field to type into. No other query parameter filters a list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.visitor import current_visitor

if TYPE_CHECKING:
    from django.contrib.admin.views.main import ChangeList

Options = Mapping[str, tuple[str, Callable[[], Q]]]
MAX_TYPED = 200


class Filter(admin.SimpleListFilter):
    """Base of all filters. A value that is not offered is ignored, and the page says so."""

    template = "admin/flux/filter.html"

    def narrow(self, request: HttpRequest, value: str) -> Q:
        raise NotImplementedError

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if not value:
            return queryset
        try:
            return queryset.filter(self.narrow(request, value))
        except (KeyError, ValueError, OverflowError) as error:
            raise IncorrectLookupParameters from error


def choice(parameter: str, label: str, options: Options) -> type[Filter]:
    """Filter with a few options, each with its label and its condition."""

    class Choice(Filter):
        title, parameter_name = label, parameter

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(value, label) for value, (label, _) in options.items()]

        def narrow(self, request: HttpRequest, value: str) -> Q:
            return options[value][1]()

    return Choice


def values(field: str, label: str, given: list[str] | tuple[str, ...], *, parameter: str = "") -> type[Filter]:
    """Filter by the values a field can have."""

    def equal(value: str) -> Callable[[], Q]:
        return lambda: Q((field, value))

    return choice(parameter or field, label, {value: (value.replace("_", " "), equal(value)) for value in given})


def spaces(path: str) -> type[Filter]:
    """Filter by space; only spaces whose rows the person may see are listed."""

    class Spaces(Filter):
        title, parameter_name = "space", "space"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            who = current_visitor(request)
            allowed = set(model_admin.spaces_read(who))
            return [(space.name, space.name) for space in who.spaces.values() if space.pk in allowed]

        def has_output(self) -> bool:
            return len(self.lookup_choices) > 1 or self.value() is not None

        def narrow(self, request: HttpRequest, value: str) -> Q:
            if value not in dict(self.lookup_choices):
                raise KeyError(value)
            return Q(
                (path, next(space.pk for space in current_visitor(request).spaces.values() if space.name == value))
            )

    return Spaces


class TypedFilter(Filter):
    """Filter with a text field. The other filters and the search are kept."""

    template = "admin/flux/typed.html"
    kind = "text"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        others = {key: value for key, value in changelist.params.items() if key != self.parameter_name}
        yield {"others": others, "value": self.value() or "", "kind": self.kind, "name": self.parameter_name}


def typed(parameter: str, label: str, narrow_by: Callable[[str], Q]) -> type[Filter]:
    class Words(TypedFilter):
        title, parameter_name = label, parameter

        def narrow(self, request: HttpRequest, value: str) -> Q:
            if len(value) > MAX_TYPED:
                raise ValueError("too long")
            return narrow_by(value)

    return Words


def day(parameter: str, label: str, field: str, *, until: bool = False) -> type[Filter]:
    """Filter from the beginning, or until the end, of a day in UTC."""

    class Day(TypedFilter):
        title, parameter_name, kind = label, parameter, "date"

        def narrow(self, request: HttpRequest, value: str) -> Q:
            given = date.fromisoformat(value)
            start = datetime(given.year, given.month, given.day, tzinfo=UTC)
            return Q((f"{field}__lt", start + timedelta(days=1))) if until else Q((f"{field}__gte", start))

    return Day
