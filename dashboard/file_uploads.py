"""Upload of files into a folder of a store."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts import origins
from dashboard import answer_cards, imports
from dashboard.store_pages import StoreVisit, address, raise_if_of_page, reference, store_page, usual_path
from fluxcore import config
from fluxcore.errors import Conflict, FluxError, Forbidden
from memory.artifacts import contents, stores
from memory.artifacts import files as verbs
from memory.artifacts.contents import NewContent


@store_page("GET", "POST")
def upload(visit: StoreVisit, store: str) -> HttpResponse:
    """Upload files into a folder. Those that were refused are listed; the others are written."""
    facts = stores.get_store(visit.me, store=store)
    if not visit.may("artifacts.write"):
        raise Forbidden("This needs a role that allows artifacts.write.")
    where, refused, written = visit.text("folder", 1024), list[tuple[str, str]](), list[str]()
    if visit.request.method == "POST":
        where = visit.sent_path("folder").strip("/")
        sent = visit.request.FILES.getlist("files")
        for file in sent:
            name = usual_path(PurePath(str(file.name or "")).name)
            path = f"{where}/{name}" if where else name
            try:
                _write_upload(visit, store, path, file)
                written.append(path)
            except FluxError as refusal:
                raise_if_of_page(refusal)
                exists = isinstance(refusal, Conflict) and "current_version" in refusal.details
                refused.append((path, "exists already" if exists else refusal.message))
        if not sent:
            refused.append(("", "No file was chosen. Choose one or more files."))
        if not refused:
            messages.success(visit.request, f"{len(written)} file{'s were' if len(written) > 1 else ' was'} uploaded.")
            return redirect(address("folder", store, where) if where else address("store", store))
    found = {
        "space": visit.space,
        "facts": facts,
        "store": reference(facts, visit.space),
        "folder": where,
        "refused": refused,
        "written": written,
        "megabytes": min(config.current().MAX_FILE_BYTES, imports.MAX_UPLOAD) // 1024 // 1024,
        "origins": [(name, answer_cards.ORIGINS[name]) for name in origins.CLAIMABLE],
    }
    return render(visit.request, "dashboard/file_upload.html", found, status=422 if refused else 200)


def _write_upload(visit: StoreVisit, store: str, path: str, file: Any) -> None:
    given: dict[str, Any] = {} if visit.sent("replace") else {"expected_sha": ""}
    if visit.sent("provenance"):
        given["provenance"] = visit.sent("provenance")
    verbs.put_file(
        visit.me, store=store, path=path, content=_content(file), reason=visit.sent("reason").strip(), **given
    )


def _content(file: Any) -> NewContent:
    """The bytes of an upload: those that are on disk already are not read into memory."""
    if not hasattr(file, "temporary_file_path") or (file.size or 0) <= contents.INLINE_BYTES:
        return NewContent.of(file.read())
    path = Path(file.temporary_file_path())
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return NewContent(digest, path.stat().st_size, file=path)
