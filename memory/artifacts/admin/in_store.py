"""What admin pages of rows in stores share: their store, filters by it, and rows of the log."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import FluxModelAdmin
from memory.artifacts.models import FileChange


def change_row(one: FileChange) -> tuple[Any, ...]:
    return (one.op, one.path, one.version or "", outcome_badge(one), one.principal, formatting.relative_time(one.at))


def outcome_badge(one: FileChange) -> Any:
    if one.outcome == FileChange.ChangeOutcome.DONE:
        return formatting.badge("done", "good")
    if one.outcome == FileChange.ChangeOutcome.NOOP:
        return formatting.badge("no change", "calm")
    return formatting.badge(one.outcome, "warn")


class InStorePage(FluxModelAdmin):
    """Base of pages whose rows belong to a store."""

    group = "Memory"
    space_path = "store__space_id"
    ordering = ["-id"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("store__space")

    @admin.display(description="store", ordering="store")
    def place(self, row: Any) -> str:
        return f"{row.store.space.name}: {row.store.key}"


OF_STORE = filters.typed("store", "store", lambda text: Q(store=int(text)))
