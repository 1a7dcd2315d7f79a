"""Writes of files by people: edit, new file, rename, delete and restore, each with a reason."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts import origins
from dashboard import answer_cards, diff_lines
from dashboard.store_pages import StoreVisit, address, folders_of, raise_if_of_page, reference, store_page
from fluxcore.errors import Conflict, FluxError, Forbidden, Invalid, NotFound
from memory.artifacts import comparing, moving, reading, stores
from memory.artifacts import files as verbs
from memory.review import edited_text


def is_editable(one: dict[str, Any]) -> bool:
    """Whether the file is a text, all of it was read, and a browser sends it back as it was."""
    return "text" in one and not one["truncated"] and edited_text.is_editable(one["text"])


@store_page("GET", "POST")
def edit(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """Edit a text file. If somebody else wrote it meanwhile, the page shows the difference and keeps what was typed."""
    one = _current(visit, store, path)
    if visit.request.method == "POST":
        return _save(visit, store, path, one)
    if one is None:
        raise NotFound("There is no such file.")
    if not is_editable(one):
        messages.warning(visit.request, "This file cannot be edited in a browser. Download it, and upload it again.")
        return redirect(address("file", store, path))
    # What nobody may claim begins with the nearest that can be chosen, which people can change.
    origin = {"user_confirmed": "user_stated", "unknown": "external_source"}.get(one["provenance"], one["provenance"])
    typed = {"text": one["text"], "expected_sha": one["sha"], "provenance": origin}
    return _form(visit, store, path, {**typed, "ends": "crlf" if "\r\n" in one["text"] else "lf"})


@store_page("GET", "POST")
def new(visit: StoreVisit, store: str) -> HttpResponse:
    """Write a new text file."""
    if visit.request.method == "POST":
        return _save(visit, store, visit.sent_path("path"), None, is_new=True)
    folder = visit.text("folder", 1024)
    return _form(visit, store, "", {"path": f"{folder}/" if folder else "", "expected_sha": ""})


def _current(visit: StoreVisit, store: str, path: str) -> dict[str, Any] | None:
    try:
        return dict(reading.read_file(visit.me, store=store, path=path))
    except NotFound:
        stores.get_store(visit.me, store=store)
        return None


def _save(
    visit: StoreVisit, store: str, path: str, one: dict[str, Any] | None, *, is_new: bool = False
) -> HttpResponse:
    names = ("text", "reason", "expected_sha", "provenance", "ends")
    typed = {name: visit.sent(name) for name in names} | ({"path": path} if is_new else {})
    text = typed["text"].replace("\r\n", "\n")
    typed["text"] = text
    given: dict[str, Any] = {"text": text.replace("\n", "\r\n") if typed["ends"] == "crlf" else text}
    if typed["provenance"]:
        given["provenance"] = typed["provenance"]
    if one is not None:
        given["content_type"] = one["content_type"]
    try:
        if not is_new and not typed["reason"].strip():
            raise Invalid("The reason is missing: say in a line what the change is for.", field="reason")
        if typed["provenance"] and typed["provenance"] not in origins.CLAIMABLE:
            raise Invalid(f"The provenance must be one of {', '.join(origins.CLAIMABLE)}.", field="provenance")
        done = verbs.write_file(
            visit.me,
            store=store,
            path=path,
            expected_sha=typed["expected_sha"],
            reason=typed["reason"].strip(),
            **given,
        )
    except Conflict as refusal:
        return _conflict(visit, store, path, typed, refusal, is_new=is_new)
    except FluxError as refusal:
        raise_if_of_page(refusal)
        return _form(visit, store, "" if is_new else path, typed, problem=refusal.message, status=refusal.status)
    says = f"Version {done['version']} was saved." if done["changed"] else "Nothing was changed."
    messages.success(visit.request, says)
    return redirect(address("file", store, path))


def _conflict(
    visit: StoreVisit, store: str, path: str, typed: dict[str, str], refusal: Conflict, *, is_new: bool
) -> HttpResponse:
    """The form again, with what was typed, the text that is in the store now, and the difference of the two."""
    if is_new and "current_sha" not in refusal.details:  # a file stands where a folder should be, or the reverse
        return _form(visit, store, "", typed, problem=refusal.message, status=409)
    if is_new:
        problem = f"{path} exists already. Choose another path, or open it and edit it."
        return _form(visit, store, "", typed, problem=problem, status=409)
    one = _current(visit, store, path)
    more: dict[str, Any] = {"conflict": True, "gone": one is None}
    try:
        text = one["text"] if one is not None and is_editable(one) else ""
        diff = comparing.unified_diff(
            path, text.replace("\r\n", "\n"), typed["text"], "in the store", "as you typed it"
        )
        more |= {"diff": diff_lines.shown_diff(diff), "by": one["updated_by"] if one else ""}
    except Invalid:
        pass  # too large to be compared; what was typed stays all the same
    typed["expected_sha"] = one["sha"] if one is not None else ""
    return _form(visit, store, path, typed, status=409, **more)


def _form(
    visit: StoreVisit, store: str, path: str, typed: dict[str, str], *, status: int = 200, **more: Any
) -> HttpResponse:
    facts = stores.get_store(visit.me, store=store)
    if not visit.may("artifacts.write"):
        raise Forbidden("This needs a role that allows artifacts.write.")
    found = {
        "space": visit.space,
        "facts": facts,
        "store": reference(facts, visit.space),
        "path": path,
        "name": path.rpartition("/")[2],
        "above": folders_of(path),
        "typed": typed,
        "rows": min(max(typed.get("text", "").count("\n") + 3, 12), 28),
        "origins": [(name, answer_cards.ORIGINS[name]) for name in origins.CLAIMABLE],
        **more,
    }
    return render(visit.request, "dashboard/file_edit.html", found, status=status)


@store_page("POST")
def rename(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    to = visit.sent_path("to")
    try:
        moving.move_files(visit.me, store=store, path=path, to=to, reason=visit.sent("reason").strip())
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect(address("file", store, path))
    messages.success(visit.request, f"{path} was renamed.")
    return redirect(address("file", store, to))


@store_page("POST")
def delete(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """Delete a file, and lead to its history, where the deletion can be undone."""
    given: dict[str, Any] = {"expected_sha": visit.sent("expected_sha")} if visit.sent("expected_sha") else {}
    try:
        verbs.delete_file(visit.me, store=store, path=path, reason=visit.sent("reason").strip(), **given)
    except Conflict:
        messages.error(visit.request, "Somebody else wrote the file meanwhile. Nothing was deleted; look at it again.")
        return redirect(address("file", store, path))
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect(address("file", store, path))
    messages.success(visit.request, f"{path} was deleted. Restore a version to undo this.")
    return redirect(address("file-history", store, path))


@store_page("POST")
def restore(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """Write an earlier version again."""
    number = visit.sent("version")
    given = {"expected_sha": visit.sent("expected_sha")} if "expected_sha" in visit.request.POST else {}
    try:
        version = int(number) if number.isascii() and number.isdecimal() and len(number) < 16 else 0
        done = verbs.restore_version(
            visit.me, store=store, path=path, version=version, reason=visit.sent("reason").strip(), **given
        )
    except Conflict:
        messages.error(visit.request, "Somebody else wrote the file meanwhile. Nothing was restored; look again.")
        return redirect(address("file-history", store, path))
    except FluxError as refusal:
        raise_if_of_page(refusal)
        messages.error(visit.request, refusal.message)
        return redirect(address("file-history", store, path))
    says = f"Version {version} was restored as version {done['version']}."
    messages.success(visit.request, says if done["changed"] else f"The file has the content of version {version}.")
    return redirect(address("file", store, path))
