"""Listing of files: in order of their paths, page by page, only those the caller may read.

A page reads rows in the order of the index on store and path, so that its cost does not grow with the store. For those
who may read some files only, it ends short after MAX_SCANNED rows, with a cursor to continue.
"""

from __future__ import annotations

from typing import Any

from accounts.authorise import may
from accounts.calls import handles
from accounts.principals import Principal
from flux import paths
from flux.calls import files as calls
from fluxcore import raw_sql
from fluxcore.errors import Invalid
from memory.artifacts import names
from memory.artifacts.models import File
from memory.artifacts.reading import file_facts
from memory.artifacts.states import StoreState, read_seen

DEFAULT_LIMIT = 100
MAX_SCANNED = 5_000
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
    store = read_seen(principal, request.store)
    prefix, limit = paths.checked_prefix(request.prefix or ""), request.limit or DEFAULT_LIMIT
    readable = names.reader(principal, store.target)
    after = path_after(store, request.cursor)
    if request.recursive is False and (folder := _folder(after, prefix)) is not None and readable(after):
        after = f"{folder}/\U0010ffff"  # it is on the previous page
    if request.recursive is False and may(principal, "artifacts.read"):
        return _level(store, prefix, after, limit)
    files, folders, scanned, last = list[File](), list[str](), 0, None
    while scanned < MAX_SCANNED:
        page = page_of(store, prefix, after, min(limit + 1, MAX_SCANNED - scanned))
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


def page_of(store: StoreState, prefix: str, after: str, size: int) -> list[File]:
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


def path_after(store: StoreState, cursor: str | None) -> str:
    """The path of a cursor, which is the number of a row: a path might be one the caller may not read."""
    if cursor is None:
        return ""
    path = File.objects.filter(pk=int(cursor), store=store.id).values_list("path", flat=True).first()
    if path is None:
        raise Invalid("cursor is not of this list: use next_cursor of the previous page.", field="cursor")
    return path
