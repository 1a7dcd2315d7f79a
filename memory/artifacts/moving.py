"""Verbs on more than one path: rename and copy a file or a folder, delete a folder. All of it happens, or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.authorise import may
from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux import paths
from flux.calls import files as calls
from fluxcore.errors import AlreadyExists, Forbidden, Invalid, NotFound
from memory.artifacts import contents, file_rows, names, quotas, refusals
from memory.artifacts.change_log import Writer
from memory.artifacts.files import origin_of
from memory.artifacts.models import File
from memory.artifacts.states import FileState, StoreState, read_file, read_state

MAX_FILES = 1_000  # of one call
READ, WRITE = "artifacts.read", "artifacts.write"


@dataclass(frozen=True)
class Reach:
    """What of a folder the caller may take: all files below it, the file of its name, or both.

    It is found before any file is looked for, so that a refusal is the same whatever there is.
    """

    below: bool
    itself: bool
    refusal: Forbidden  # of the files below


def _reach(principal: Principal, ref: str, *asked: tuple[str, str]) -> Reach:
    """What the caller may take of folders, each with an operation; a refusal if that is nothing."""
    where = names.target_of_ref(principal, ref)
    lacking = [one for one in asked if not names.may_below(principal, one[0], where, one[1])]
    itself = all(may(principal, operation, f"{where}/{folder}") for operation, folder in asked)
    operation, folder = (lacking or asked)[0]
    reach = Reach(not lacking, itself, names.missing(principal, operation, f"{where}/{folder}/**"))
    if not reach.below and not reach.itself:
        raise reach.refusal
    return reach


def _moves(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To read the file, write its new path and, unless it is kept, delete it. The verb checks rights on folders."""
    if given.get("recursive") is True:
        return names.asks_for_some("artifacts.write")(principal, given)
    written = ("to",) if given.get("keep") is True else ("to", "path")
    return [
        *names.asks("artifacts.write", *written)(principal, given),
        *names.asks("artifacts.read", "path")(principal, given),
    ]


@handles(calls.MoveFiles, asks=_moves, refused=refusals.noted_as("rename"))
def move_files(call: RunningCall, request: calls.MoveFiles) -> Change:
    """Rename or copy one file, or all files of a folder."""
    source, target = paths.writable_path(request.path), paths.writable_path(request.to)
    keep, overwrite = request.keep is True, request.overwrite is True
    if source == target:
        raise Invalid("path and to are the same.", field="to")
    if request.recursive and (paths.is_under(target, source) or paths.is_under(source, target)):
        raise Invalid("A folder cannot be moved into itself or into a folder above it.", field="to")
    reach = None
    if request.recursive:
        asked = [(READ, source), (WRITE, target), *([] if keep else [(WRITE, source)])]
        reach = _reach(call.principal, request.store, *asked)
    ticket = quotas.share(call, _count_below(call, request.store, source, reach) if reach else 1)

    def change() -> dict[str, Any]:
        ticket.take()
        place, file = read_state(call.principal, request.store, source)
        found = _below(place, source, reach) if reach else _existing(source, file)
        file_rows.check_expected(call, place, source, file, request.expected_sha)
        writer, moved = file_rows.writer_of(call, request.actor), []
        for path, state in found:
            to = target + path[len(source) :]
            if request.recursive:
                paths.writable_path(to)
            moved.append(_move(call, writer, place, path, state, to, keep=keep, overwrite=overwrite))
        return {"moved": moved, "count": len(moved)}

    return change


def _existing(path: str, file: FileState | None) -> list[tuple[str, FileState]]:
    if file is None or not file.sha:
        raise NotFound(f"There is no file {path!r} in this store. For a folder give recursive.", path=path)
    return [(path, file)]


def _rows_below(store: StoreState, folder: str, reach: Reach) -> QuerySet[File]:
    """The files of a folder, or the file of that name."""
    rows = File.objects.filter(store=store.id).exclude(sha="")
    itself, below = rows.filter(path=folder), rows.filter(path__gte=f"{folder}/", path__lt=f"{folder}0")
    return itself | below if reach.itself and reach.below else below if reach.below else itself  # "0" follows "/"


def _count_below(call: RunningCall, ref: str, folder: str, reach: Reach) -> int:
    """How many files a call on a folder counts for, before the write."""
    store, _ = read_state(call.principal, ref, "")
    return min(max(_rows_below(store, folder, reach).count(), 1), MAX_FILES)


def _below(store: StoreState, folder: str, reach: Reach) -> list[tuple[str, FileState]]:
    rows = _rows_below(store, folder, reach).order_by("path")
    found = [(file.path, FileState.of(file)) for file in rows[: MAX_FILES + 1]]
    if not found and not reach.below:
        raise reach.refusal
    if not found:
        raise NotFound(f"There is no folder or file {folder!r} in this store.", path=folder)
    if len(found) > MAX_FILES:
        raise Invalid(f"{folder!r} has more than {MAX_FILES} files. Take its folders one by one.", limit=MAX_FILES)
    return found


def _move(
    call: RunningCall,
    writer: Writer,
    store: StoreState,
    path: str,
    file: FileState,
    to: str,
    *,
    keep: bool,
    overwrite: bool,
) -> dict[str, Any]:
    op = "copy" if keep else "rename"
    file_rows.check_writable(call, store, to)
    existing = read_file(store, to)
    if existing is not None and existing.sha and not overwrite:
        raise AlreadyExists(f"{to!r} exists already. Choose another path, or give overwrite.", path=to)
    if file.content is None:
        raise NotFound(f"There is no file {path!r} in this store.", path=path)
    contents.use(file.content)  # before the old path gives its content up
    if not keep:
        file_rows.check_writable(call, store, path)
        file_rows.write(call, writer, store, path, file, file_rows.NewVersion(op))
    origin = origin_of(call.principal, None, content=file.origin)
    new = file_rows.NewVersion(op, file.content, file.sha, file.size, file.content_type, origin)
    return file_rows.write(call, writer, store, to, existing, new)


@handles(calls.DeleteFiles, asks=names.asks_for_some("artifacts.write"), refused=refusals.noted_as("delete"))
def delete_folder(call: RunningCall, request: calls.DeleteFiles) -> Change:
    """Delete all files of a folder, or none if one of them is protected."""
    folder = paths.writable_path(request.path)
    reach = _reach(call.principal, request.store, (WRITE, folder))
    ticket = quotas.share(call, _count_below(call, request.store, folder, reach))

    def change() -> dict[str, Any]:
        ticket.take()
        place, _ = read_state(call.principal, request.store, folder)
        writer, found = file_rows.writer_of(call, request.actor), _below(place, folder, reach)
        for path, file in found:
            file_rows.check_writable(call, place, path)
            file_rows.write(call, writer, place, path, file, file_rows.NewVersion("delete"))
        return {"deleted": [path for path, _ in found], "count": len(found)}

    return change
