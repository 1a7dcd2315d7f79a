"""Listing and search of files: in order of their paths, page by page, only those the caller may read.

A page reads rows in the order of the index on store and path, so that its cost does not grow with the store. For those
who may read some files only, it ends short after MAX_SCANNED rows, with a cursor to continue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.authorise import may
from accounts.calls import handles
from accounts.principals import Principal
from flux import paths
from flux.calls import files as calls
from fluxcore import raw_sql
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
_LAST = "\U0010ffff"  # follows every character that a path may have
_NEXT_FILE = (
    f"(SELECT path FROM {File._meta.db_table} WHERE store_id = %s AND sha <> '' AND path > {{after}} AND path < %s "  # noqa: S608
    "ORDER BY path LIMIT 1)"
)
# The first file of a level, and then each time the next one that is not in the same folder.
_AFTER = (
    "CASE WHEN {find}(substr(level.path, %s), '/') = 0 THEN level.path "
    "ELSE substr(level.path, 1, %s + {find}(substr(level.path, %s), '/')) || %s END"
)
_LEVEL = (
    f"WITH RECURSIVE level(path, place) AS (SELECT {_NEXT_FILE.format(after='%s')}, 1 UNION ALL "  # noqa: S608
    f"SELECT {_NEXT_FILE.format(after=_AFTER)}, level.place + 1 FROM level WHERE level.path IS NOT NULL "
    "AND level.place < %s) SELECT path FROM level WHERE path IS NOT NULL ORDER BY place"
)


@handles(calls.ListFiles, asks=_lists)
def list_files(principal: Principal, request: calls.ListFiles) -> dict[str, Any]:
    """List a page of files; of one level of folders if `recursive` is false."""
    store, _ = read_state(principal, request.store, "")
    prefix, limit = paths.checked_prefix(request.prefix or ""), request.limit or DEFAULT_LIMIT
    readable = names.reader(principal, store.target)
    after = _after(store, request.cursor)
    if request.recursive is False and (folder := _folder(after, prefix)) is not None and readable(after):
        after = f"{folder}/\U0010ffff"  # it is on the previous page
    if request.recursive is False and may(principal, "artifacts.read"):
        return _level(store, prefix, after, limit)
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


def _level(store: StoreState, prefix: str, after: str, limit: int) -> dict[str, Any]:
    """A page of one level for those who may read all of it: a look at the index for each file and folder."""
    below = f"{prefix}/" if prefix else ""
    begin, end, depth = max(after, below), f"{prefix}0" if prefix else _LAST, len(below)  # "0" follows "/"
    find = "strpos" if raw_sql.vendor() == "postgresql" else "instr"
    first = (store.id, begin, end)
    following = (store.id, depth + 1, depth, depth + 1, _LAST, end, limit + 1)
    paths_found = [path for (path,) in raw_sql.read(_LEVEL.format(find=find), [*first, *following])]
    if not paths_found and not after and prefix:
        paths_found = [prefix]  # a file may be asked for like a folder
    kept = paths_found[:limit]
    of_path = {path: _folder(path, prefix) for path in kept}
    wanted = [path for path, folder in of_path.items() if folder is None]
    more = kept[-1:] if len(paths_found) > limit else []
    rows = {file.path: file for file in File.objects.filter(store=store.id, path__in=[*wanted, *more]).exclude(sha="")}
    if more and more[0] not in rows:
        return _level(store, prefix, after, limit)  # the file that the cursor would name was deleted meanwhile
    folders = [folder for folder in of_path.values() if folder is not None]
    return _listed([rows[path] for path in wanted if path in rows], folders, rows.get(more[0]) if more else None)


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
