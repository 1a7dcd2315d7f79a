"""Admin page of messages."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest

from accounts.adminsite import filters, formatting
from accounts.adminsite.modeladmin import Action
from memory.artifacts.admin.in_store import OF_STORE, InStorePage
from memory.artifacts.models import Message

_BEGINNING = 300  # characters of a message in a list


# These import their verbs when they run: declared calls import pydantic, which would slow down every start.
def _remove_message(principal: Any, row: Message, **given: Any) -> dict[str, Any]:
    from memory.artifacts import transcripts

    return dict(transcripts.pop_messages(principal, store=str(row.store.uuid), seqs=[row.seq], **given))


def _restore_messages(principal: Any, row: Message, **given: Any) -> dict[str, Any]:
    from memory.artifacts import transcripts

    return dict(transcripts.restore_messages(principal, store=str(row.store.uuid), removal=row.removal, **given))


@admin.register(Message)
class MessageAdminPage(InStorePage):
    reads = "transcript.read"
    called = ("message", "messages")
    about = "Messages of transcripts. Removed ones stay listed until they can no longer be restored."
    row_actions = (
        Action(
            "remove",
            "Remove",
            "transcript.write",
            _remove_message,
            dangerous=True,
            done="Removed.",
            fits=lambda row: row.removal == "" and row.store.deleted_at is None,
            says="It can be restored until STORE_UNDELETE_DAYS have passed.",
        ),
        Action(
            "restore",
            "Restore",
            "transcript.write",
            _restore_messages,
            done="Restored.",
            fits=lambda row: row.removal != "" and row.store.deleted_at is None,
            says="All messages that were removed together come back, at their old places.",
        ),
    )
    list_display = ["number", "place", "role", "session", "preview", "state", "added"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {"there": ("present", lambda: Q(removal="")), "removed": ("removed", lambda: ~Q(removal=""))},
        ),
        filters.typed("session", "session", lambda text: Q(session=text)),
        OF_STORE,
        filters.spaces("store__space_id"),
    ]
    fields = [
        "number",
        "place",
        "outside_id",
        "role",
        "speaker",
        "session",
        "state",
        "origin",
        "by",
        "actor",
        "added",
        "content",
    ]
    empty_says = "No messages yet. Messages of transcripts are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request).defer("body", "text")
        shown: QuerySet[Any] = rows.annotate(beginning=Substr("body", 1, _BEGINNING))
        return shown

    def titled(self, row: Any) -> str:
        return f"Message {row.seq} of {row.store.key}"

    @admin.display(description="number", ordering="seq")
    def number(self, row: Any) -> int:
        return int(row.seq)

    @admin.display(description="message")
    def preview(self, row: Any) -> str:
        return formatting.shorten(row.beginning)

    @admin.display(description="message")
    def content(self, row: Any) -> Any:
        return formatting.pretty_json(json.loads(row.body))

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        return formatting.badge("removed", "calm") if row.removal else formatting.badge("present", "good")

    @admin.display(description="by", ordering="writer")
    def by(self, row: Any) -> str:
        return str(row.writer)

    @admin.display(description="added", ordering="at")
    def added(self, row: Any) -> Any:
        return formatting.relative_time(row.at)
