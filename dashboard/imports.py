"""The Import page: upload memories of another program into a space, and the progress of each import."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts import origins
from accounts.authorise import authorise
from accounts.models import Space
from accounts.principals import Principal
from accounts.visitor import current_visitor
from dashboard import answer_cards, page_frame
from dashboard.account import sign_in_required
from fluxcore.errors import FluxError, Invalid, StepUpRequired, TooLarge
from fluxcore.models import Job
from fluxcore.work import jobs
from fluxcore.writes import limit_messages
from memory.transfer import formats, import_requests

MAX_UPLOAD = 32 * 1024 * 1024  # bytes in all; flux_import at the shell takes more
MAX_FILES = settings.MAX_IMPORT_FILES
_REFUSALS = 100  # on the page of an import
_OFTEN = {name: answer_cards.ORIGINS[name].capitalize() for name in ("external_source", "user_stated", "ai_stated")}


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def imports(request: HttpRequest) -> HttpResponse:
    space, me = _where(request)
    may = current_visitor(request).may("import", space.pk)
    if may and not current_visitor(request).fresh:
        raise StepUpRequired  # at once, because a chosen file would be lost during the redirect
    problem: FluxError | None = None
    if request.method == "POST":
        try:
            authorise(me, "import", action="transfer.import")  # before anything that was sent is looked at
            started = _begin(request, me)
        except StepUpRequired:
            raise
        except FluxError as refusal:
            problem = refusal
        else:
            return redirect("import", started["id"])
    found = {
        "space": space,
        "imports": import_requests.imports(me),
        "may": may,
        "formats": formats.FORMAT_TITLES,
        "origins": _OFTEN,
        "problem": problem,
        "ceilings": origins.CEILINGS,
        "most_files": MAX_FILES,
        "megabytes": MAX_UPLOAD // 1024 // 1024,
        "given": request.POST,
    }
    return render(request, "dashboard/imports.html", found, status=problem.status if problem else 200)


@sign_in_required
@require_safe
def show_import(request: HttpRequest, wanted: UUID) -> HttpResponse:
    """Progress of one import, its counts, and what was refused."""
    space, me = _where(request)
    found = import_requests.shown(me, wanted)
    if found is None:
        raise Http404
    job = Job.objects.filter(uuid=found.job).first() if found.job and not found.finished_at else None
    shown = {
        "space": space,
        "one": found,
        "format": formats.FORMAT_TITLES.get(found.format, found.format),
        "refused": import_requests.report(me, wanted, most=_REFUSALS) if found.refused else [],
        "parked": job is not None and job.state == Job.State.PARKED,
        "job": job,
        "waiting": job is not None and job.state == Job.State.QUEUED and jobs.oldest_wait_seconds() > 30,
    }
    return render(request, "dashboard/import.html", shown)


def _where(request: HttpRequest) -> tuple[Space, Principal]:
    space = page_frame.current_space(request)
    if space is None:
        raise Http404
    return space, current_visitor(request).principal(space.pk)


def _begin(request: HttpRequest, me: Principal) -> Any:
    files = request.FILES.getlist("files")
    if not files:
        raise Invalid("No file was chosen. Choose one or more files.", field="files")
    if len(files) > MAX_FILES:
        raise too_large(MAX_FILES, "files")
    if sum(file.size or 0 for file in files) > MAX_UPLOAD:
        raise too_large(MAX_UPLOAD, "bytes in all")
    provenance, ceiling = request.POST.get("provenance") or None, request.POST.get("ceiling") or "user_stated"
    if ceiling not in origins.CEILINGS:
        raise Invalid(f"The maximum provenance must be one of {', '.join(origins.CEILINGS)}.", field="ceiling")
    with tempfile.TemporaryDirectory(prefix="flux-import-") as folder:
        path = _kept(files, Path(folder))
        source = formats.read(path, format=request.POST.get("format") or None)
        return import_requests.begin(
            me, source=source, provenance=provenance, ceiling=ceiling, reason=str(request.POST.get("reason", ""))
        )


def too_large(limit: int, unit: str) -> TooLarge:
    """The refusal of an upload; the import at the shell has no such limit."""
    return limit_messages.too_large_for_a_page(
        "An import on this page", limit=limit, unit=unit, command="flux_import PATH"
    )


def _kept(files: list[Any], folder: Path) -> Path:
    """Save the uploads under sanitised names; returns the file, or the folder where there are several."""
    kept: list[Path] = []
    for file in files:
        name = PurePath(str(file.name or "")).name.replace("\0", "").lstrip(".") or "file"
        path = folder / name[-120:]
        if path.exists():
            path = folder / f"{len(kept)}-{path.name}"
        with path.open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)
        kept.append(path)
    return kept[0] if len(kept) == 1 else folder
