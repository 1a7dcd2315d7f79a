"""Admin pages of files, with their versions, and of the log of changes."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm
from accounts.adminsite.modeladmin import Action, Section
from memory.artifacts.admin.in_store import OF_STORE, InStorePage, outcome_badge
from memory.artifacts.models import File, FileChange

_MAX_ROWS = 50  # of a section


class FileVersionForm(ActionForm):
    version = forms.IntegerField(min_value=1, help_text="Number of a version listed on the page of the file.")


# These import their verbs when they run: declared calls import pydantic, which would slow down every start.
def _delete_file(principal: Any, row: File, **given: Any) -> dict[str, Any]:
    from memory.artifacts import files

    return dict(files.delete_file(principal, store=str(row.store.uuid), path=row.path, **given))


def _restore_file(principal: Any, row: File, **given: Any) -> dict[str, Any]:
    from memory.artifacts import files

    return dict(files.restore_version(principal, store=str(row.store.uuid), path=row.path, **given))


@admin.register(File)
class FileAdminPage(InStorePage):
    reads = "artifacts.read"
    called = ("file", "files")
    about = "Files of stores. Deleted ones stay listed, because their version numbers are never reused."
    row_actions = (
        Action(
            "restore",
            "Restore a version",
            "artifacts.write",
            _restore_file,
            FileVersionForm,
            done="Restored.",
            fits=lambda row: row.store.deleted_at is None,
            says="Writes the content of an earlier version again. The current one stays in the history.",
        ),
        Action(
            "delete",
            "Delete",
            "artifacts.write",
            _delete_file,
            dangerous=True,
            done="Deleted.",
            fits=lambda row: row.sha != "" and row.store.deleted_at is None,
            says="It can be restored as long as its versions are in the history.",
        ),
    )
    list_display = ["path", "place", "version", "size_shown", "content_type", "state", "by", "written"]
    list_filter = [
        filters.choice(
            "state", "state", {"there": ("present", lambda: ~Q(sha="")), "deleted": ("deleted", lambda: Q(sha=""))}
        ),
        OF_STORE,
        filters.spaces("store__space_id"),
    ]
    search_fields = ["path__startswith"]
    fields = [
        "path",
        "place",
        "outside_id",
        "version",
        "state",
        "sha",
        "size_shown",
        "content_type",
        "origin",
        "by",
        "actor",
        "reason",
        "written",
    ]
    empty_says = "No files yet. Files that agents and people write are listed here."

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        rows = FileChange.objects.filter(file=row, version__gt=0).order_by("-version")[:_MAX_ROWS]
        listed = [
            (
                one.version,
                one.op,
                f"{one.size:,}",
                one.principal,
                one.reason,
                formatting.relative_time(one.at),
                "yes" if one.content_id is not None else "no",
            )
            for one in rows
        ]
        return [Section("Versions", ("version", "change", "bytes", "by", "reason", "at", "kept"), listed, "None.")]

    @admin.display(description="bytes", ordering="size")
    def size_shown(self, row: Any) -> str:
        return f"{row.size:,}"

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return formatting.badge("present", "good") if row.sha else formatting.badge("deleted", "calm")

    @admin.display(description="by", ordering="writer")
    def by(self, row: Any) -> str:
        return str(row.writer)

    @admin.display(description="written", ordering="written_at")
    def written(self, row: Any) -> Any:
        return formatting.relative_time(row.written_at)


@admin.register(FileChange)
class FileChangePage(InStorePage):
    reads = "artifacts.read"
    called = ("change of a file", "changes of files")
    about = "Logs of stores: versions of files, changes of transcripts, writes that were refused or changed nothing."
    list_display = ["op", "path", "place", "version", "outcome_shown", "by", "happened"]
    list_filter = [
        filters.choice(
            "outcome",
            "outcome",
            {
                "done": ("done", lambda: Q(outcome="done")),
                "noop": ("no change", lambda: Q(outcome="noop")),
                "refused": ("refused", lambda: ~Q(outcome__in=("done", "noop"))),
            },
        ),
        OF_STORE,
        filters.spaces("store__space_id"),
    ]
    search_fields = ["path__startswith"]
    fields = [
        "op",
        "path",
        "place",
        "version",
        "outcome_shown",
        "old_sha",
        "new_sha",
        "size",
        "content_type",
        "origin",
        "by",
        "actor",
        "reason",
        "happened",
    ]
    empty_says = "No changes yet. Writes of files are listed here, refused ones too."

    @admin.display(description="outcome")
    def outcome_shown(self, row: Any) -> Any:
        return outcome_badge(row)

    @admin.display(description="by", ordering="principal")
    def by(self, row: Any) -> str:
        return str(row.principal)

    @admin.display(description="at", ordering="at")
    def happened(self, row: Any) -> Any:
        return formatting.relative_time(row.at)
