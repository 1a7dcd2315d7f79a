"""The history of a file: its versions, and the difference of any two."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from dashboard import diff_lines
from dashboard.store_pages import StoreVisit, address, folders_of, moment, reference, store_page
from fluxcore import events
from fluxcore.errors import FluxError, NotFound
from memory.artifacts import stores, versions

ROWS = 200  # versions on one page
MAX_CHANGES = 200  # values of JSON that are listed


@store_page("GET")
def history(visit: StoreVisit, store: str, path: str) -> HttpResponse:
    """The versions of a file; with `old` and `new` also their difference."""
    since = str(events.head())
    facts = stores.get_store(visit.me, store=store)
    before, old, new = visit.number("before"), visit.number("old"), visit.number("new")
    earlier = {"before": before} if before else {}
    rows = versions.list_versions(visit.me, store=store, path=path, limit=ROWS, **earlier)["versions"]
    top = versions.list_versions(visit.me, store=store, path=path, limit=1)["versions"] if before else rows
    if not top:
        raise NotFound("There never was such a file.")
    newest, more = top[0], len(rows) == ROWS and rows[-1]["version"] > 1
    chosen: dict[str, Any] = {"old": old, "new": new}
    found: dict[str, Any] = {
        "space": visit.space,
        "since": since,
        "facts": facts,
        "store": reference(facts, visit.space),
        "path": path,
        "name": path.rpartition("/")[2],
        "above": folders_of(path),
        "versions": [{**one, "at": moment(one["at"])} for one in rows],
        "newest": newest,
        "before": before,
        "begin": address("file-history", store, path, **chosen) if before else "",
        "next": address("file-history", store, path, before=rows[-1]["version"], **chosen) if more else "",
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
        "diff": diff_lines.shown_diff(found["diff"]),
        "changes": diff_lines.changed_values(found.get("changes", []), MAX_CHANGES),
    }
