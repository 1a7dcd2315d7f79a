"""The pages of exact memory: namespaces, keys with what they held before, locks and tasks."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from accounts.adminsite import filters
from accounts.adminsite import formatting as showing
from accounts.adminsite.forms import ActionForm, SpaceField
from accounts.adminsite.modeladmin import Action, FluxModelAdmin, Section
from memory.keyvalue import expiry_clock, formatting, namespaces
from memory.keyvalue.models import Item, Lock, Namespace, Revision, Task

_MOST = 50


class BoardForm(ActionForm):
    space = SpaceField()
    board = forms.CharField(max_length=64, help_text="1-64 of a-z, 0-9, _ and -.")
    ephemeral = forms.BooleanField(required=False, help_text="Every start of the instance empties it.")

    def prepare(self) -> None:
        self.fields["space"].offer(self.who, self.needs)  # type: ignore[attr-defined]

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in super().given().items() if name != "space"}


class VersionForm(ActionForm):
    version = forms.IntegerField(min_value=1, help_text="Which of the versions below is written anew.")


# What carries an action out is imported by the first one: declared calls bring pydantic, which no start needs.
def _make(principal: Any, row: None, **given: Any) -> dict[str, Any]:
    from memory.keyvalue import boards

    return dict(boards.make(principal, **given))


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
    """Rows with moments of the clock of expiry."""

    group = "Memory"
    now: float = 0.0

    def load_extras(self, request: HttpRequest, rows: list[Any]) -> None:
        now = expiry_clock.current() if rows else 0.0
        for row in rows:
            row.now = now

    @admin.display(description="expires", ordering="expires")
    def until(self, row: Any) -> Any:
        return showing.relative_time(formatting.at(row.expires), none="never")


@admin.register(Namespace)
class NamespacePage(FluxModelAdmin):
    reads = "memory.read"
    called = ("namespace", "namespaces")
    group = "Memory"
    about = "Where exact memory lives: one for each agent that has written something, and boards that agents share."
    space_path = "space_id"
    adds = Action(
        "add",
        "Make a board",
        "bb.write",
        _make,
        BoardForm,
        done="The board is there.",
        says="Agents of the space with bb.read or bb.write reach it at once.",
    )
    row_actions = (
        Action(
            "delete",
            "Delete the board",
            "bb.write",
            _delete_board,
            dangerous=True,
            done="The board is deleted.",
            fits=lambda row: row.kind == Namespace.Kind.BOARD.value and row.name != namespaces.MAIN,
            says="Its keys, their history, its locks and its tasks go with it. This cannot be undone.",
        ),
    )
    list_display = ["name_of", "kind", "keys", "size", "history", "lasts", "created", "space"]
    list_filter = [filters.values("kind", "kind", Namespace.Kind.values), filters.spaces("space_id")]
    ordering = ["-id"]
    fields = ["name_of", "kind", "keys", "size", "history", "lasts", "created", "created_by", "space"]
    empty_says = "No agent has kept anything under a key yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = row.items.filter(value__isnull=False).order_by("key").values_list("key", "version", "size", "writer")
        more = f"{reverse('admin:keyvalue_item_changelist')}?namespace={row.pk}"
        return [Section("Keys", ("key", "version", "bytes", "by"), list(found[:_MOST]), "Nothing is kept here.", more)]

    @admin.display(description="namespace", ordering="name")
    def name_of(self, row: Any) -> str:
        return str(row)

    @admin.display(description="bytes", ordering="bytes")
    def size(self, row: Any) -> str:
        return f"{row.bytes:,}"

    @admin.display(description="history bytes", ordering="history_bytes")
    def history(self, row: Any) -> str:
        return f"{row.history_bytes:,}"

    @admin.display(description="lasts")
    def lasts(self, row: Any) -> Any:
        return showing.badge("until the next start", "warn") if row.ephemeral else showing.badge("durable", "good")

    @admin.display(description="made", ordering="created_at")
    def created(self, row: Any) -> Any:
        return showing.relative_time(row.created_at)


@admin.register(Item)
class ItemPage(_Page):
    reads = "memory.read"
    called = ("key", "keys")
    about = "Values under keys, with their versions. A deleted key stays listed: its versions are never given again."
    space_path = "namespace__space_id"
    row_actions = (
        Action(
            "restore",
            "Restore a version",
            "memory.write",
            _restore,
            VersionForm,
            done="Written anew.",
            says="The value of an earlier version becomes the newest one. The present one stays below.",
        ),
        Action(
            "delete",
            "Delete",
            "memory.write",
            _delete,
            dangerous=True,
            done="Deleted.",
            fits=lambda row: row.value is not None,
            says="It can be restored while its versions are kept.",
        ),
        Action(
            "purge",
            "Purge",
            "purge",
            _purge,
            dangerous=True,
            done="Purged.",
            says="Removes its value and all its versions for good. Only its name and its last version number remain. "
            "This cannot be undone.",
        ),
    )
    list_display = ["key", "where", "shown", "version", "state", "until", "by", "written"]
    list_filter = [
        filters.choice(
            "state",
            "state",
            {
                "there": ("there", lambda: Q(value__isnull=False)),
                "deleted": ("deleted", lambda: Q(value=None)),
                "expiring": ("with a lifetime", lambda: Q(expires__isnull=False)),
            },
        ),
        filters.typed("namespace", "namespace", lambda text: Q(namespace=int(text))),
        filters.spaces("namespace__space_id"),
    ]
    search_fields = ["key__startswith"]
    ordering = ["-id"]
    fields = ["key", "where", "whole", "version", "sha", "size", "state", "until", "by", "written"]
    empty_says = "No agent has kept anything under a key yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("namespace__space")

    def sections(self, request: HttpRequest, row: Any) -> list[Section]:
        found = Revision.objects.filter(item=row).order_by("-version", "-id")[:_MOST]
        rows = [
            (
                one.version,
                one.kind,
                showing.shorten(formatting.shown(one.value, one.expires, row.now), 120),
                one.writer,
                showing.relative_time(one.at),
                showing.relative_time(formatting.at(one.expires), none="never"),
            )
            for one in found
        ]
        return [Section("Versions", ("version", "", "value", "by", "at", "expires"), rows, "No version is kept.")]

    @admin.display(description="in", ordering="namespace")
    def where(self, row: Any) -> str:
        return f"{row.namespace.space.name}: {row.namespace}"

    @admin.display(description="value")
    def shown(self, row: Any) -> str:
        return showing.shorten(formatting.shown(row.value, row.expires, row.now))

    @admin.display(description="value")
    def whole(self, row: Any) -> Any:
        return showing.multiline(formatting.shown(row.value, row.expires, row.now, pretty=True))

    @admin.display(description="state")
    def state(self, row: Any) -> Any:
        if row.value is None:
            return showing.badge("deleted", "calm")
        if row.expires is not None and row.expires <= row.now:
            return showing.badge("expired", "warn")
        return showing.badge("there", "good")

    @admin.display(description="by", ordering="writer")
    def by(self, row: Any) -> str:
        return str(row.writer)

    @admin.display(description="written", ordering="written_at")
    def written(self, row: Any) -> Any:
        return showing.relative_time(row.written_at)


@admin.register(Lock)
class BoardLockPage(_Page):
    reads = "bb.read"
    called = ("lock on a board", "locks on boards")
    about = "Names that one caller holds at a time. The fencing token grows with each holder and never goes back."
    space_path = "board__space_id"
    row_actions = (
        Action(
            "break",
            "Break",
            "bb.write",
            _break,
            dangerous=True,
            done="Nobody holds it now.",
            fits=lambda row: bool(row.holder) and row.expires > row.now,
            says="Whoever holds it is refused from now on. Do it when the holder is known to be gone.",
        ),
    )
    list_display = ["name", "where", "held_by", "token", "until", "acquired"]
    list_filter = [filters.spaces("board__space_id")]
    ordering = ["-id"]
    fields = ["name", "where", "held_by", "token", "note", "until", "acquired"]
    empty_says = "No agent has taken a lock yet."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("board__space")

    @admin.display(description="on", ordering="board")
    def where(self, row: Any) -> str:
        return f"{row.board.space.name}: {row.board}"

    @admin.display(description="holder")
    def held_by(self, row: Any) -> Any:
        held = row.holder and row.expires > row.now
        return showing.badge(row.holder, "warn") if held else showing.badge("free", "good")

    @admin.display(description="acquired", ordering="acquired_at")
    def acquired(self, row: Any) -> Any:
        return showing.relative_time(row.acquired_at)


@admin.register(Task)
class TaskPage(_Page):
    reads = "bb.read"
    called = ("task", "tasks")
    about = "Work that waits in queues of boards. A task is gone when whoever claimed it is done."
    space_path = "board__space_id"
    list_display = ["queue", "where", "shown", "held_by", "token", "added"]
    list_filter = [filters.spaces("board__space_id")]
    ordering = ["-id"]
    fields = ["queue", "where", "outside_id", "whole", "held_by", "token", "added", "added_by"]
    empty_says = "Nothing waits in a queue."

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("board__space")

    @admin.display(description="on", ordering="board")
    def where(self, row: Any) -> str:
        return f"{row.board.space.name}: {row.board}"

    @admin.display(description="value")
    def shown(self, row: Any) -> str:
        return showing.shorten(row.value)

    @admin.display(description="value")
    def whole(self, row: Any) -> Any:
        return showing.multiline(formatting.shown(row.value, None, row.now, pretty=True))

    @admin.display(description="state")
    def held_by(self, row: Any) -> Any:
        return showing.badge(row.holder, "warn") if row.expires > row.now else showing.badge("waits", "calm")

    @admin.display(description="added", ordering="added_at")
    def added(self, row: Any) -> Any:
        return showing.relative_time(row.added_at)
