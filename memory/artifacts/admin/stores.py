"""Admin page of stores, with their files and their log."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, LinesField, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from memory.artifacts.admin.in_store import change_row
from memory.artifacts.models import File, FileChange, Store

_MAX_ROWS = 50  # of a section


class StoreForm(ActionForm):
    """A new store."""

    space = SpaceField()
    key = forms.CharField(max_length=255, help_text="Its name: one path segment of any script.")
    recallable = forms.BooleanField(required=False, help_text="Recall finds what is in its files and messages.")

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in super().given().items() if name != "space"}


class StorePolicyForm(ActionForm):
    """The parts of a store's policy that are changed most; the page Files has all."""

    recallable = forms.BooleanField(required=False, help_text="Recall finds what is in its files and messages.")
    read_only_prefixes = LinesField(required=False, help_text="Folders and files agents cannot write, one in a line.")

    def prepare(self) -> None:
        self.initial = {"recallable": self.row.recallable, "read_only_prefixes": self.row.read_only}


# These import their verbs when they run: declared calls import pydantic, which would slow down every start.
def _create(principal: Any, row: None, **given: Any) -> dict[str, Any]:
    from memory.artifacts import stores

    return dict(stores.create_store(principal, **given))


def _change_policy(principal: Any, row: Store, **given: Any) -> dict[str, Any]:
    from memory.artifacts import stores

    return dict(stores.change_policy(principal, store=str(row.uuid), **given))


def _delete_store(principal: Any, row: Store, **given: Any) -> dict[str, Any]:
    from memory.artifacts import stores

    return dict(stores.delete_store(principal, store=str(row.uuid), **given))


def _restore_store(principal: Any, row: Store, **given: Any) -> dict[str, Any]:
    from memory.artifacts import stores

    return dict(stores.undelete_store(principal, store=str(row.uuid), **given))


@admin.register(Store)
class StorePage(FluxModelAdmin):
    reads = "artifacts.read"
    called = ("store", "stores")
    group = "Memory"
    about = "Stores of files, each with a transcript. Deleted ones stay listed until they can no longer be restored."
    space_path = "space_id"
    adds = Action("add", "Create store", "artifacts.write", _create, StoreForm, done="Store created.")
    row_actions = (
        Action(
            "policy",
            "Change policy",
            "policy",
            _change_policy,
            StorePolicyForm,
            done="Policy changed.",
            fits=lambda row: row.deleted_at is None,
        ),
        Action(
            "delete",
            "Delete",
            "artifacts.write",
            _delete_store,
            dangerous=True,
            done="Deleted.",
            fits=lambda row: row.deleted_at is None,
            says="Its files and messages go with it. It can be restored until STORE_UNDELETE_DAYS have passed.",
        ),
        Action(
            "restore",
            "Restore",
            "artifacts.write",
            _restore_store,
            done="Restored.",
            fits=lambda row: row.deleted_at is not None,
        ),
    )
    list_display = ["key", "files_shown", "messages_shown", "size", "state", "created", "space"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "there": ("present", lambda: Q(deleted_at=None)),
                "deleted": ("deleted", lambda: Q(deleted_at__isnull=False)),
                "recallable": ("recallable", lambda: Q(recallable=True)),
            },
        ),
        filters.spaces("space_id"),
    ]
    search_fields = ["key__startswith"]
    ordering = ["-id"]
    fields = [
        "key",
        "coordinates",
        "outside_id",
        "state",
        "files_shown",
        "messages_shown",
        "size",
        "history",
        "protected",
        "recallable",
        "audit",
        "keep_versions",
        "max_versions",
        "retention_days",
        "max_files",
        "max_bytes",
        "ephemeral",
        "created",
        "created_by",
        "space",
    ]
    empty_says = "No stores yet. Stores that agents and people create are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        files = File.objects.filter(store=row).exclude(sha="").order_by("path")
        listed = list(files.values_list("path", "version", "size", "writer")[:_MAX_ROWS])
        more = f"?store={row.pk}"
        return [
            Section(
                "Files",
                ("path", "version", "bytes", "by"),
                listed,
                "No files.",
                reverse("admin:artifacts_file_changelist") + more,
            ),
            Section(
                "Log",
                ("change", "path", "version", "outcome", "by", "at"),
                [change_row(one) for one in FileChange.objects.filter(store=row).order_by("-id")[:_MAX_ROWS]],
                "No changes yet.",
                reverse("admin:artifacts_filechange_changelist") + more,
            ),
        ]

    @admin.display(description="organisation / project / domain")
    def coordinates(self, row: Any) -> str:
        return f"{row.org or row.space.name} / {row.project} / {row.domain}"

    @admin.display(description="files", ordering="files")
    def files_shown(self, row: Any) -> str:
        return f"{row.files:,}"

    @admin.display(description="messages", ordering="messages")
    def messages_shown(self, row: Any) -> str:
        return f"{row.messages:,}"

    @admin.display(description="bytes", ordering="bytes")
    def size(self, row: Any) -> str:
        return f"{row.bytes:,}"

    @admin.display(description="bytes of earlier versions")
    def history(self, row: Any) -> str:
        return f"{row.history_bytes:,}"

    @admin.display(description="protected from agents")
    def protected(self, row: Any) -> Any:
        return formatting.chips(row.read_only.split("\n") if row.read_only else [])

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if row.deleted_at is not None:
            return formatting.badge("deleted", "calm", title=f"by {row.deleted_by}")
        return formatting.badge("recallable", "good") if row.recallable else formatting.badge("present", "good")

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)
