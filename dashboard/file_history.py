"""The history of a file: its versions, and the difference of any two."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from dashboard import diff_lines
from dashboard.store_pages import StoreVisit, folders_of, moment, reference, store_page
from fluxcore import events
from fluxcore.errors import FluxError, NotFound
from memory.artifacts import stores, versions

ROWS = 200
MAX_CHANGES = 200  # values of JSON that are listed


@store_page("GET")
def history(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """The versions of a file; with `old` and `new` also their difference."""
    since = str(events.head())
    facts = stores.get_store(visit.me, store=store)
    listed = versions.list_versions(visit.me, store=store, path=path, limit=ROWS)
    if not listed["versions"]:
        raise NotFound("There never was such a file.")
    old, new = visit.number("old"), visit.number("new")
    newest = listed["versions"][0]
    found: dict[str, Any] = {
        "space": visit.space,
        "since": since,
        "facts": facts,
        "store": reference(facts, visit.space),
        "path": path,
        "name": path.rpartition("/")[2],
        "above": folders_of(path),
        "versions": [{**one, "at": moment(one["at"])} for one in listed["versions"]],
        "newest": newest,
        "more": listed["count"] == ROWS,
        "old": old or (newest["version"] - 1 or 1),
        "new": new or newest["version"],
        "compared": old is not None or new is not None,
        "may_write": visit.may("artifacts.write"),
    }
    if found["compared"]:
        found |= _difference(visit, store, path, found["old"], found["new"])
    part = "part" in visit.request.GET
    return render(visit.request, f"dashboard/file_history{'_part' if part else ''}.html", found)


def _difference(visit: StoreVisit, store: str, path: str, old: int, new: int) -> dict[str, Any]:
    try:
        found = versions.diff_versions(visit.me, store=store, path=path, old=min(old, new), new=max(old, new))
    except FluxError as refusal:
        return {"problem": refusal.message}
    return {
        "old": found["old"],
        "new": found["new"],
        "same": found["same"],
        "diff": diff_lines.diff_rows(found["diff"]),
        "changes": diff_lines.changed_values(found.get("changes", []), MAX_CHANGES),
    }
