"""The pages of files: the folders of a store, search in them, and one file."""

from __future__ import annotations

from itertools import islice
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render

from dashboard import answer_cards, file_content, file_edit, file_uses
from dashboard.store_pages import StoreVisit, address, folders_of, moment, reference, store_page, usual_path
from flux import paths
from fluxcore import events
from fluxcore.errors import NotFound
from memory.artifacts import listing, names, reading, search, stores
from memory.artifacts.models import File

ROWS = 100  # of a folder, on one page
FOUND = 50  # names and lines that a search shows
TAIL = 15  # newest changes on the page of a store


@store_page("GET")
def folder(visit: StoreVisit, store: str, path: str = "") -> HttpResponse:
    """A folder of a store, or what a search found in it. With `part` only what live pages fetch again."""
    since = str(events.head())
    facts = stores.get_store(visit.me, store=store)
    query = visit.text("q")
    found: dict[str, Any] = {
        "space": visit.space,
        "since": since,
        "facts": facts,
        "store": reference(facts, visit.space),
        "path": path,
        "name": path.rpartition("/")[2],
        "above": folders_of(path),
        "may_write": visit.may("artifacts.write"),
        "may_policy": visit.may("policy"),
        "query": query,
    }
    found |= _search(visit, store, path, query) if query else _level(visit, facts, store, path)
    if path and not query and not (found["rows"] or found["subfolders"] or "cursor" in visit.request.GET):
        found["missing"] = True
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/folder{'_part' if part else ''}.html", found)


def _level(visit: StoreVisit, facts: dict[str, Any], store: str, path: str) -> dict[str, Any]:
    cursor = visit.number("cursor")
    more = {"cursor": str(cursor)} if cursor else {}
    page = listing.list_files(visit.me, store=store, prefix=path, recursive=False, limit=ROWS, **more)
    begin = len(path) + 1 if path else 0
    where = reference(facts, visit.space)
    return {
        "rows": [_row(one, facts, begin) for one in page["files"]],
        "subfolders": [(one[begin:], one, _protected(one, facts)) for one in page["folders"]],
        "next": address(*_folder(where, path), cursor=page["next_cursor"]) if page["next_cursor"] else "",
        "begin": address(*_folder(where, path)) if cursor else "",
        "changes": _changes(visit, store) if not path and not cursor else [],
    }


def _folder(store: str, path: str) -> tuple[str, ...]:
    return ("folder", store, path) if path else ("store", store)


def _row(one: dict[str, Any], facts: dict[str, Any], begin: int) -> dict[str, Any]:
    return {
        **one,
        "name": one["path"][begin:] or one["path"],
        "updated_at": moment(one["updated_at"]),
        "protected": _protected(one["path"], facts),
    }


def _protected(path: str, facts: dict[str, Any]) -> bool:
    return paths.protecting(path, facts["read_only_prefixes"]) is not None


def _changes(visit: StoreVisit, store: str) -> list[dict[str, Any]]:
    tail = reading.read_store_tail(visit.me, store=store, tail=TAIL)["events"]
    return [{**one, "ts": moment(one["ts"])} for one in reversed(tail)]


def _search(visit: StoreVisit, store: str, path: str, query: str) -> dict[str, Any]:
    """Files whose path has the text, and lines that have it; their case makes no difference."""
    cursor = visit.text("cursor")
    more = {"cursor": cursor} if cursor else {}
    lines = search.search_files(visit.me, store=store, query=query, prefix=path, limit=FOUND, **more)
    return {
        "found_names": [] if cursor else _found_names(visit, store, path, query),
        "found_lines": lines["matches"],
        "next": address(*_folder(store, path), q=query, cursor=lines["next_cursor"]) if lines["next_cursor"] else "",
    }


def _found_names(visit: StoreVisit, store: str, path: str, query: str) -> list[str]:
    row = names.find_store(visit.me, store)
    files = File.objects.filter(store=row).exclude(sha="").order_by("path")
    if path:
        files = files.filter(path__gt=f"{path}/", path__lt=f"{path}0")  # "0" follows "/"
    readable, wanted = names.reader(visit.me, names.target(row)), usual_path(query).casefold()
    # Compared here: SQLite knows the case of ASCII alone, and PostgreSQL that of its locale.
    every = files.values_list("path", flat=True).iterator()
    return list(islice((one for one in every if wanted in one.casefold() and readable(one)), FOUND))


@store_page("GET")
def file(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """One file, or an earlier version of it. `first` and `last` mark lines; `view` is rendered or source."""
    since = str(events.head())
    facts = stores.get_store(visit.me, store=store)
    version, view = visit.number("version"), visit.text("view")
    first, last = visit.number("first"), visit.number("last")
    current = {} if version is None else {"version": version}
    use = file_uses.use_of_file(visit.me, store=store, path=path)
    try:
        one = reading.read_file(visit.me, store=store, path=path, **current)
    except NotFound:
        if use.newest and version is None:
            return redirect("file-history", store, path)  # it was deleted, and can be restored there
        raise
    content = file_content.shown(
        visit.me,
        one,
        store=reference(facts, visit.space),
        version=version,
        view=view,
        first=first,
        last=last,
        start=visit.number("start"),
    )
    found = {
        "space": visit.space,
        "since": since,
        "facts": facts,
        "store": reference(facts, visit.space),
        "path": path,
        "name": path.rpartition("/")[2],
        "above": folders_of(path),
        "one": {**one, "updated_at": moment(one["updated_at"]), "created_at": moment(one["created_at"])},
        "origin": answer_cards.ORIGINS.get(one["provenance"], one["provenance"]),
        "content": content,
        "version": version,
        "use": use,
        "is_old": one["version"] != use.newest,
        "first": first,
        "last": max(first, last or first) if first else None,
        "marks_shown": content.rendered is not None or any(line.marked for line in content.lines),
        "protected": _protected(path, facts),
        "may_write": visit.may("artifacts.write"),
        "editable": file_edit.is_editable(one),
    }
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/file{'_part' if part else ''}.html", found)
