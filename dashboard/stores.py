"""The Files page: the stores of a space, and forms that create, delete and restore one and change its policy."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Subquery
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from accounts.adminsite.forms import LinesField
from accounts.verbs import MAX_REASON
from dashboard.store_pages import StoreVisit, address, moment, raise_if_of_page, reference, store_page
from fluxcore import config, events
from fluxcore.errors import FluxError
from memory.artifacts import stores as verbs
from memory.artifacts.models import FileChange, Message, Store

ROWS = 50
_NUMBERS = ("max_versions", "max_files", "max_bytes", "retention_days")
_REMOVABLE = (*_NUMBERS, "staging_prefix")


class PolicyForm(forms.Form):
    """Policy of a store, with the reason of its change."""

    recallable = forms.BooleanField(
        label="Recallable", required=False, help_text="Recall finds what is in its files and messages."
    )
    read_only_prefixes = LinesField(
        label="Protected folders and files",
        required=False,
        help_text="One in a line. Agents cannot write them.",
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocapitalize": "none"}),
    )
    staging_prefix = forms.CharField(
        label="Folder of proposals",
        required=False,
        max_length=255,
        help_text="What agents write in it waits on the Review page, and then replaces the same path outside.",
        widget=forms.TextInput({"placeholder": "None", "spellcheck": "false", "autocapitalize": "none"}),
    )
    keep_versions = forms.BooleanField(label="Keep earlier versions", required=False, initial=True)
    max_versions = forms.IntegerField(label="Most earlier versions of each file", required=False, min_value=1)
    retention_days = forms.FloatField(label="Days to keep earlier versions", required=False, min_value=0.01)
    max_files = forms.IntegerField(label="Most files", required=False, min_value=1)
    max_bytes = forms.IntegerField(label="Most bytes, with versions and messages", required=False, min_value=1)
    audit = forms.BooleanField(
        label="List its changes",
        required=False,
        initial=True,
        help_text="On the page of the store, and for agents. The audit chain of the space always has them.",
    )
    reason = forms.CharField(label="Reason", max_length=MAX_REASON, widget=forms.TextInput({"autocomplete": "off"}))

    def __init__(self, data: QueryDict | None = None, **more: Any) -> None:
        super().__init__(data, label_suffix="", **more)
        for name in _NUMBERS:
            self.fields[name].widget.attrs["placeholder"] = "No limit of its own"

    def given(self) -> dict[str, Any]:
        """The policy as fields of the call; limits that were left empty are not in it."""
        return {
            name: value for name, value in self.cleaned_data.items() if value not in (None, "") and name != "reason"
        }

    def emptied(self) -> list[str]:
        return [name for name in _REMOVABLE if self.cleaned_data.get(name) in (None, "")]


class NewStoreForm(PolicyForm):
    """A new store: its key and its policy."""

    key = forms.CharField(
        label="Key", max_length=255, help_text="Its name: one path segment of any script, for example handbook."
    )
    ephemeral = forms.BooleanField(label="Ephemeral", required=False, help_text="Deleted whenever the instance starts.")
    field_order = ("key", "recallable", "read_only_prefixes", "staging_prefix")

    def __init__(self, data: QueryDict | None = None, **more: Any) -> None:
        super().__init__(data, **more)
        self.fields["reason"].required = False


@store_page("GET", "POST")
def files(visit: StoreVisit) -> HttpResponse:
    """The list of stores, and the form of a new one."""
    form, status = NewStoreForm(visit.request.POST if visit.request.method == "POST" else None), 200
    if form.is_bound:
        if form.is_valid():
            try:
                made = verbs.create_store(visit.me, **form.given(), reason=form.cleaned_data["reason"])
            except FluxError as refusal:
                raise_if_of_page(refusal)
                status = _refused(form, refusal)
            else:
                messages.success(visit.request, f"The store {made['key']} was created.")
                return redirect(address("store", reference(made, visit.space)))
        else:
            status = 422
    since = str(events.head())
    cursor = visit.number("cursor")
    page = verbs.list_stores(visit.me, limit=ROWS, **({"cursor": str(cursor)} if cursor else {}))
    deleted = verbs.list_stores(visit.me, limit=ROWS, deleted=True)["stores"]
    kept = timedelta(days=config.current().STORE_UNDELETE_DAYS)
    found = {
        "space": visit.space,
        "since": since,
        "form": form,
        "stores": _rows(visit, page["stores"]),
        "next": address("files", cursor=page["next_cursor"]),
        "more": page["next_cursor"] is not None,
        "begin": bool(cursor),
        "deleted": [{**one, "until": moment(one["deleted_at"]) + kept} for one in deleted],
        "may_write": visit.may("artifacts.write"),
    }
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/files{'_part' if part else ''}.html", found, status=status)


def _rows(visit: StoreVisit, listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    changed = last_changes(visit.space.pk, (one["store"] for one in listed))
    return [{**one, "reference": reference(one, visit.space), "changed": changed.get(one["store"])} for one in listed]


def last_changes(space: int, wanted: Iterable[str]) -> dict[str, Any]:
    """When a file or the transcript of each store last changed, by its id; one look at an index for each."""
    rows = Store.objects.filter(space=space, uuid__in=[UUID(one) for one in wanted])
    of_file = FileChange.objects.filter(store=OuterRef("pk")).order_by("-id").values("at")[:1]
    of_message = Message.objects.filter(store=OuterRef("pk")).order_by("-seq").values("at")[:1]
    found = rows.annotate(file_at=Subquery(of_file), message_at=Subquery(of_message))
    return {
        str(number): max((at for at in moments if at is not None), default=None)
        for number, *moments in found.values_list("uuid", "file_at", "message_at", "created_at")
    }


@store_page("GET", "POST")
def policy(visit: StoreVisit, store: str) -> HttpResponse:
    """The policy of a store; owners of the space change it."""
    facts = verbs.get_store(visit.me, store=store)
    initial = {**facts, "read_only_prefixes": "\n".join(facts["read_only_prefixes"])}
    form = PolicyForm(visit.request.POST if visit.request.method == "POST" else None, initial=initial)
    status = 200
    if form.is_bound:
        if form.is_valid():
            try:
                verbs.change_policy(
                    visit.me,
                    store=store,
                    **form.given(),
                    without=form.emptied(),
                    reason=form.cleaned_data["reason"],
                )
            except FluxError as refusal:
                raise_if_of_page(refusal)
                status = _refused(form, refusal)
            else:
                messages.success(visit.request, "The policy was changed.")
                return redirect(address("store", store))
        else:
            status = 422
    found = {
        "space": visit.space,
        "facts": facts,
        "store": reference(facts, visit.space),
        "form": form,
        "may_policy": visit.may("policy"),
        "may_write": visit.may("artifacts.write"),
    }
    return render(visit.request, "dashboard/store_policy.html", found, status=status)


def _refused(form: forms.Form, refusal: FluxError) -> int:
    field = refusal.details.get("field")
    form.add_error(field if field in form.fields else None, refusal.message)
    return refusal.status


@store_page("POST")
def delete_store(visit: StoreVisit, store: str) -> HttpResponse:
    try:
        verbs.delete_store(visit.me, store=store, reason=visit.sent("reason"))
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect(address("store", store))
    days = config.current().STORE_UNDELETE_DAYS
    messages.success(visit.request, f"The store was deleted. It can be restored here for {days:g} days.")
    return redirect("files")


@store_page("POST")
def restore_store(visit: StoreVisit, store: str) -> HttpResponse:
    try:
        found = verbs.undelete_store(visit.me, store=store, reason=visit.sent("reason"))
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect("files")
    messages.success(visit.request, f"The store {found['key']} was restored.")
    return redirect(address("store", reference(found, visit.space)))
