"""Listing and search of files: in order of their paths, page by page, only those the caller may read.

A page reads rows in the order of the index on store and path, so that its cost does not grow with the store. After
MAX_SCANNED rows it ends short, with a cursor to continue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from flux import paths
from flux.calls import files as calls
from fluxcore.errors import Invalid
from memory.artifacts import content_types, contents, names
from memory.artifacts.models import File
from memory.artifacts.reading import file_facts, text_lines
from memory.artifacts.states import StoreState, read_state

DEFAULT_LIMIT, DEFAULT_MATCHES = 100, 50
MAX_SCANNED = 5_000
MAX_SEARCHED_FILES, MAX_SEARCHED_BYTES = 500, 8 * 1024 * 1024  # of one call
MAX_LINE = 500  # characters of a found line
_lists = names.asks_for_some("artifacts.read")


@handles(calls.ListFiles, asks=_lists)
def list_files(principal: Principal, request: calls.ListFiles) -> dict[str, Any]:
    """List a page of files; of one level of folders if `recursive` is false."""
    store, _ = read_state(principal, request.store, "")
    prefix, limit = paths.checked_prefix(request.prefix or ""), request.limit or DEFAULT_LIMIT
    readable = names.reader(principal, store.target)
    after = _after(store, request.cursor)
    if request.recursive is False and (folder := _folder(after, prefix)) is not None and readable(after):
        after = f"{folder}/\U0010ffff"  # it is on the previous page
    files, folders, scanned, last = list[File](), list[str](), 0, None
    while scanned < MAX_SCANNED:
        page = _page(store, prefix, after, min(limit + 1, MAX_SCANNED - scanned))
        for file in page:
            if file.path <= after:
                continue  # in a folder that is listed already
            folder = _folder(file.path, prefix) if request.recursive is False else None
            if readable(file.path):
                if len(files) + len(folders) == limit:
                    return _listed(files, folders, last)
                if folder is None:
                    files.append(file)
                else:
                    folders.append(folder)
            last = file
            after = file.path if folder is None or not readable(file.path) else f"{folder}/\U0010ffff"
        scanned += len(page)
        if len(page) <= limit:
            return _listed(files, folders, None)
    return _listed(files, folders, last)


def _page(store: StoreState, prefix: str, after: str, size: int) -> list[File]:
    """Existing files after a path, in the order of their paths."""
    rows = File.objects.filter(store=store.id, path__gt=after).exclude(sha="")
    if not prefix:
        return list(rows.order_by("path")[:size])
    below = rows.filter(path__gte=f"{prefix}/", path__lt=f"{prefix}0").order_by("path")  # "0" follows "/"
    if after >= prefix:
        return list(below[:size])
    itself = list(rows.filter(path=prefix))
    return [*itself, *below[: size - len(itself)]]


def _folder(path: str, prefix: str) -> str | None:
    """The folder of the listed level in which a file is; None if it is on that level itself."""
    if path == prefix:
        return None
    below = path[len(prefix) + 1 if prefix else 0 :]
    name, slash, _ = below.partition("/")
    return (f"{prefix}/{name}" if prefix else name) if slash else None


def _listed(files: list[File], folders: list[str], last: File | None) -> dict[str, Any]:
    facts = [file_facts(file.path, file) for file in files]
    cursor = str(last.pk) if last is not None else None
    return {"files": facts, "folders": folders, "count": len(facts) + len(folders), "next_cursor": cursor}


def _after(store: StoreState, cursor: str | None) -> str:
    """The path of a cursor, which is the number of a row: a path might be one the caller may not read."""
    if cursor is None:
        return ""
    path = File.objects.filter(pk=int(cursor), store=store.id).values_list("path", flat=True).first()
    if path is None:
        raise Invalid("cursor is not of this list: use next_cursor of the previous page.", field="cursor")
    return path


@handles(calls.SearchFiles, asks=_lists)
def search_files(principal: Principal, request: calls.SearchFiles) -> dict[str, Any]:
    """Find lines that contain a text. After many files or bytes it ends with a cursor to continue."""
    store, _ = read_state(principal, request.store, "")
    prefix, wanted = paths.checked_prefix(request.prefix or ""), request.query.casefold()
    readable, limit = names.reader(principal, store.target), request.limit or DEFAULT_MATCHES
    page = _page(store, prefix, _after(store, request.cursor), MAX_SEARCHED_FILES + 1)
    matches, searched, last = list[dict[str, Any]](), 0, None
    for file in page[:MAX_SEARCHED_FILES]:
        if searched >= MAX_SEARCHED_BYTES or len(matches) >= limit:
            return _found(matches, last)
        if readable(file.path) and file.content_id is not None and content_types.may_be_text(file.content_type):
            room = MAX_SEARCHED_BYTES - searched
            searched += file.size
            for number, line in enumerate(_lines_of(file, room), 1):
                if wanted in line.casefold():
                    matches.append({"path": file.path, "line": number, "text": line.rstrip("\r\n")[:MAX_LINE]})
                    if len(matches) >= limit:
                        break
        last = file
    return _found(matches, last if len(page) > MAX_SEARCHED_FILES else None)


@contents.read_again
def _lines_of(file: File, most: int) -> Iterable[str]:
    """The lines of a file, as it is now if it was written since it was listed."""
    try:
        return text_lines(contents.read(file.content_id, 0, most)) if file.content_id is not None else ()
    except contents.ReplacedContent:
        file.refresh_from_db()
        raise


def _found(matches: list[dict[str, Any]], last: File | None) -> dict[str, Any]:
    return {"matches": matches, "count": len(matches), "next_cursor": str(last.pk) if last is not None else None}
