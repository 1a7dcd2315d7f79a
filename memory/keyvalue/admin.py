"""Admin pages of exact memory: namespaces, keys with their versions, locks and tasks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.adminsite import filters, formatting
from accounts.adminsite.forms import ActionForm, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from memory.keyvalue import expiry_clock, namespaces
from memory.keyvalue.formatting import datetime_of, value_text
from memory.keyvalue.models import Item, Lock, Namespace, NamespaceKind, Revision, Task

_MAX_ROWS = 50  # of a section


class BoardForm(ActionForm):
    space = SpaceField()
    board = forms.CharField(max_length=64, help_text="1-64 characters of a-z, 0-9, _ and -.")
    ephemeral = forms.BooleanField(required=False, help_text="Emptied whenever the instance starts.")

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in super().given().items() if name != "space"}


class RecallableForm(ActionForm):
    keys = forms.CharField(
        max_length=512, required=False, help_text="Only keys that begin with this, for example notes/. Empty: all keys."
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        keys = found.pop("keys")
        return found | ({"prefix": keys} if keys else {})


class VersionForm(ActionForm):
    version = forms.IntegerField(min_value=1, help_text="Number of a version listed on the page of the key.")


# These import their verbs when they run: declared calls import pydantic, which would slow down every start.
def _create_board(principal: Any, row: None, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import boards

    return dict(boards.make(principal, **given))


def _make_recallable(principal: Any, row: Namespace, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import recallable

    return dict(recallable.make_recallable(principal, place=str(row), **given))


def _end_recallable(principal: Any, row: Namespace, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import recallable

    return dict(recallable.end_recallable(principal, place=str(row), **given))


def _delete_board(principal: Any, row: Namespace, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import boards

    return dict(boards.delete(principal, board=row.name, **given))


def _restore(principal: Any, row: Item, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import verbs

    return dict(verbs.change_key(principal, op="restore", place=str(row.namespace), key=row.key, **given))


def _delete(principal: Any, row: Item, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import verbs

    return dict(verbs.delete_key(principal, place=str(row.namespace), key=row.key, **given))


def _purge(principal: Any, row: Item, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import purging

    return dict(purging.purge_key(principal, place=str(row.namespace), key=row.key, **given))


def _break(principal: Any, row: Lock, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import locks

    return dict(locks.break_lock(principal, lock=row.name, board=row.board.name, **given))


class _Page(FluxModelAdmin):
    """Base of pages whose rows expire: each row gets the current time of the clock of expiry."""

    group = "Memory"
    now: float = 0.0

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        now = expiry_clock.current() if rows else 0.0
        for row in rows:
            row.now = now

    @admin.display(description="expires", ordering="expires")
    def expiry(self, row: Any) -> Any:
        return formatting.relative_time(datetime_of(row.expires), none="never")


@admin.register(Namespace)
class NamespacePage(FluxModelAdmin):
    reads = "memory.read"
    called = ("namespace", "namespaces")
    group = "Memory"
    about = "Namespaces: one per agent, and boards agents share."
    space_path = "space_id"
    adds = Action(
        "add",
        "Create board",
        "bb.write",
        _create_board,
        BoardForm,
        done="Board created.",
        says="Agents of the space with bb.read or bb.write can use it immediately.",
    )
    row_actions = (
        Action(
            "delete",
            "Delete board",
            "bb.write",
            _delete_board,
            dangerous=True,
            done="Board deleted.",
            fits=lambda row: row.kind == NamespaceKind.BOARD.value and row.name != namespaces.MAIN,
            says="Its keys, their history, its locks and its tasks are deleted too. This cannot be undone.",
        ),
        Action(
            "make-recallable",
            "Make recallable",
            "memory.write",
            _make_recallable,
            form=RecallableForm,
            done="Recall finds these values soon.",
            fits=lambda row: row.recalled != "",
            says="Recall finds the values of its keys beside memories, for everybody who may read them.",
        ),
        Action(
            "end-recallable",
            "End recall",
            "memory.write",
            _end_recallable,
            done="Recall finds no value of its keys any more.",
            fits=lambda row: row.recalled is not None,
            says="Its values stay as they are.",
        ),
    )
    list_display = ["name_of", "kind", "keys", "size", "history", "lifetime", "created", "space"]
    list_filter = [filters.values("kind", "kind", NamespaceKind.values), filters.spaces("space_id")]
    ordering = ["-id"]
    fields = ["name_of", "kind", "keys", "size", "history", "lifetime", "recall", "created", "created_by", "space"]
    empty_says = "No keys yet. Keys that agents write are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        keys = row.items.filter(value__isnull=False).order_by("key").values_list("key", "version", "size", "writer")
        more = f"{reverse('admin:keyvalue_item_changelist')}?namespace={row.pk}"
        return [Section("Keys", ("key", "version", "bytes", "by"), list(keys[:_MAX_ROWS]), "No keys.", more)]

    @admin.display(description="recall finds")
    def recall(self, row: Any) -> str:
        """Which values recall finds."""
        if row.recalled is None:
            return "no values"
        return (
            f"values of keys that begin with {', '.join(row.recalled.split(chr(10)))}" if row.recalled else "all values"
        )

    @admin.display(description="namespace", ordering="name")
    def name_of(self, row: Any) -> str:
        return str(row)

    @admin.display(description="bytes", ordering="bytes")
    def size(self, row: Any) -> str:
        return f"{row.bytes:,}"

    @admin.display(description="history bytes", ordering="history_bytes")
    def history(self, row: Any) -> str:
        return f"{row.history_bytes:,}"

    @admin.display(description="lifetime")
    def lifetime(self, row: Any) -> Any:
        return formatting.badge("until next start", "warn") if row.ephemeral else formatting.badge("durable", "good")

    @admin.display(description="created", ordering="created_at")
    def created(self, row: Any) -> Any:
        return formatting.relative_time(row.created_at)


@admin.register(Item)
class ItemPage(_Page):
    reads = "memory.read"
    called = ("key", "keys")
    about = (
        "Keys with their values and versions. Deleted keys stay listed, because their version numbers are never reused."
    )
    space_path = "namespace__space_id"
    row_actions = (
        Action(
            "restore",
            "Restore a version",
            "memory.write",
            _restore,
            VersionForm,
            done="Restored.",
            says="Writes the value of an earlier version again. The current value stays in the history.",
        ),
        Action(
            "delete",
            "Delete",
            "memory.write",
            _delete,
            dangerous=True,
            done="Deleted.",
            fits=lambda row: row.value is not None,
            says="It can be restored as long as its versions are in the history.",
        ),
        Action(
            "purge",
            "Purge",
            "purge",
            _purge,
            dangerous=True,
            done="Purged.",
            says="Permanently removes the value and all versions. Only the key's name and last version number remain. "
            "This cannot be undone.",
        ),
    )
    list_display = ["key", "place", "value_preview", "version", "state", "expiry", "by", "written"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "there": ("present", lambda: Q(value__isnull=False)),
                "deleted": ("deleted", lambda: Q(value=None)),
                "expiring": ("with a lifetime", lambda: Q(expires__isnull=False)),
            },
        ),
        filters.typed("namespace", "namespace", lambda text: Q(namespace=int(text))),
        filters.spaces("namespace__space_id"),
    ]
    search_fields = ["key__startswith"]
    ordering = ["-id"]
    fields = ["key", "place", "value_in_full", "version", "sha", "size", "state", "expiry", "by", "written"]
    empty_says = "No keys yet. Keys that agents write are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("namespace__space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        revisions = Revision.objects.filter(item=row).order_by("-version", "-id")[:_MAX_ROWS]
        rows = [
            (
                revision.version,
                revision.kind,
                formatting.shorten(value_text(revision.value, revision.expires, row.now), 120),
                revision.writer,
                formatting.relative_time(revision.at),
                formatting.relative_time(datetime_of(revision.expires), none="never"),
            )
            for revision in revisions
        ]
        return [Section("Versions", ("version", "kind", "value", "by", "at", "expires"), rows, "No versions yet.")]

    @admin.display(description="namespace", ordering="namespace")
    def place(self, row: Any) -> str:
        return f"{row.namespace.space.name}: {row.namespace}"

    @admin.display(description="value")
    def value_preview(self, row: Any) -> str:
        return formatting.shorten(value_text(row.value, row.expires, row.now))

    @admin.display(description="value")
    def value_in_full(self, row: Any) -> Any:
        return formatting.multiline(value_text(row.value, row.expires, row.now, pretty=True))

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if row.value is None:
            return formatting.badge("deleted", "calm")
        if row.expires is not None and row.expires <= row.now:
            return formatting.badge("expired", "warn")
        return formatting.badge("present", "good")

    @admin.display(description="by", ordering="writer")
    def by(self, row: Any) -> str:
        return str(row.writer)

    @admin.display(description="written", ordering="written_at")
    def written(self, row: Any) -> Any:
        return formatting.relative_time(row.written_at)


@admin.register(Lock)
class BoardLockPage(_Page):
    reads = "bb.read"
    called = ("lock on a board", "locks on boards")
    about = "Locks of boards, each held by one caller at a time. The fencing token grows with each holder."
    space_path = "board__space_id"
    row_actions = (
        Action(
            "break",
            "Break",
            "bb.write",
            _break,
            dangerous=True,
            done="Lock released.",
            fits=lambda row: bool(row.holder) and row.expires > row.now,
            says="The holder's further writes are refused. Use when the holder is known to be gone.",
        ),
    )
    list_display = ["name", "place", "held_by", "token", "expiry", "acquired"]
    list_filter = [filters.spaces("board__space_id")]
    ordering = ["-id"]
    fields = ["name", "place", "held_by", "token", "note", "expiry", "acquired"]
    empty_says = "No locks yet. Locks that agents acquire are listed here."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("board__space")

    @admin.display(description="board", ordering="board")
    def place(self, row: Any) -> str:
        return f"{row.board.space.name}: {row.board}"

    @admin.display(description="holder")
    def held_by(self, row: Any) -> Any:
        is_held = row.holder and row.expires > row.now
        return formatting.badge(row.holder, "warn") if is_held else formatting.badge("free", "good")

    @admin.display(description="acquired", ordering="acquired_at")
    def acquired(self, row: Any) -> Any:
        return formatting.relative_time(row.acquired_at)


@admin.register(Task)
class TaskPage(_Page):
    reads = "bb.read"
    called = ("task", "tasks")
    about = "Tasks in queues of boards: waiting, or claimed by an agent. A finished task is deleted."
    space_path = "board__space_id"
    list_display = ["queue", "place", "value_preview", "held_by", "token", "added"]
    list_filter = [filters.spaces("board__space_id")]
    ordering = ["-id"]
    fields = ["queue", "place", "outside_id", "value_in_full", "held_by", "token", "added", "added_by"]
    empty_says = "No tasks."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("board__space")

    @admin.display(description="board", ordering="board")
    def place(self, row: Any) -> str:
        return f"{row.board.space.name}: {row.board}"

    @admin.display(description="value")
    def value_preview(self, row: Any) -> str:
        return formatting.shorten(row.value)

    @admin.display(description="value")
    def value_in_full(self, row: Any) -> Any:
        return formatting.multiline(value_text(row.value, None, row.now, pretty=True))

    @admin.display(description="state")
    def held_by(self, row: Any) -> Any:
        return formatting.badge(row.holder, "warn") if row.expires > row.now else formatting.badge("waiting", "calm")

    @admin.display(description="added", ordering="added_at")
    def added(self, row: Any) -> Any:
        return formatting.relative_time(row.added_at)
