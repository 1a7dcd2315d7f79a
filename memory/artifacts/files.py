"""Verbs that write one file: put, append, delete, and restore an earlier version."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from accounts import origins
from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from flux import paths
from flux.calls import files as calls
from fluxcore.errors import Busy, Invalid, NotFound
from memory.artifacts import (
    change_log,
    content_types,
    contents,
    file_rows,
    names,
    proposals,
    quotas,
    refusals,
    stored_bytes,
    stores,
)
from memory.artifacts.contents import NewContent
from memory.artifacts.states import FileState, StoreState, read_state

# A file up to this size that somebody else wrote meanwhile is put together again inside the write.
_AGAIN_INSIDE = 4 * 1024 * 1024
_writes = proposals.asks_to_write


@verb("files.put", needs="artifacts.write", asks=_writes, refused=refusals.noted_as("write"))
def put_file(call: RunningCall, **given: Any) -> Change:
    """Write the bytes of a request's body. `FileView` calls it; `given` are the parameters of `_put`."""
    return _put(call, **given)


@handles(calls.WriteFile, asks=_writes, refused=refusals.noted_as("write"))
def write_file(call: RunningCall, request: calls.WriteFile) -> Change:
    return _put(
        call,
        store=request.store,
        path=request.path,
        content=of_text(request.text),
        actor=request.actor,
        expected_sha=request.expected_sha,
        content_type=request.content_type,
        provenance=request.provenance,
        create=request.create is True,
    )


@verb("files.append_bytes", needs="artifacts.write", asks=_writes, refused=refusals.noted_as("append"))
def append_bytes(call: RunningCall, **given: Any) -> Change:
    """Add the bytes of a request's body. `FileView` calls it; `given` are the parameters of `_append`."""
    return _append(call, **given)


@handles(calls.AppendFile, asks=_writes, refused=refusals.noted_as("append"))
def append_file(call: RunningCall, request: calls.AppendFile) -> Change:
    return _append(
        call,
        store=request.store,
        path=request.path,
        content=of_text(request.text),
        actor=request.actor,
        expected_sha=request.expected_sha,
        provenance=request.provenance,
        create=request.create is True,
    )


def of_text(text: str) -> NewContent:
    """The content of a file with that text."""
    try:
        return NewContent.of(text.encode())
    except UnicodeEncodeError:
        raise Invalid("text must be valid Unicode: it contains half of a surrogate pair.", field="text") from None


def _put(
    call: RunningCall,
    *,
    store: str,
    path: str,
    content: NewContent,
    actor: str | None = None,
    expected_sha: str | None = None,
    content_type: str | None = None,
    provenance: str | None = None,
    create: bool = False,
) -> Change:
    paths.writable_path(path)
    content.check_size()
    given_type = content_types.check_type(content_type) if content_type is not None else None
    beginning = content.beginning
    origin = origin_of(call.principal, provenance)
    ticket = quotas.share(call, quotas.cost_of(content.size))
    if content.is_large:
        place_before, before = _state_before(call, store, path, create=create)
        _check_before_storing(call, place_before, path, before, expected_sha, content)
        content.keep()

    def change() -> dict[str, Any]:
        ticket.take()
        place, file = stores.state_or_new(call, store, path, create=create)
        file_rows.check_writable(call, place, path)
        file_rows.check_expected(call, place, path, file, expected_sha)
        writer, exists = file_rows.writer_of(call, actor), file is not None and file.sha != ""
        op = "update" if exists else "create"
        if file is not None and file.sha == content.sha and given_type in (None, file.content_type):
            return file_rows.unchanged(call, writer, place, path, file, op)
        kept_type = file.content_type if file is not None and exists else None
        kind = given_type or content_types.kept_or_guessed(kept_type, path, beginning)
        new = file_rows.hold(place, op, content, kind, origin)
        return file_rows.write(call, writer, place, path, file, new)

    return change


def _state_before(
    call: RunningCall, store: str, path: str, *, create: bool
) -> tuple[StoreState | None, FileState | None]:
    """A store and one of its files before the write, which with `create` may make the store."""
    try:
        return read_state(call.principal, store, path)
    except NotFound:
        if not create:
            raise
        return None, None


def _check_before_storing(
    call: RunningCall,
    place: StoreState | None,
    path: str,
    file: FileState | None,
    expected_sha: str | None,
    content: NewContent,
    added_to: int = 0,
) -> None:
    """Refuse what the write will refuse before large bytes are in blob storage, where they would stay for a day."""
    if place is None:
        return
    file_rows.check_writable(call, place, path)
    file_rows.check_expected(call, place, path, file, expected_sha)
    if not added_to and stored_bytes.has(place, content.sha):
        return
    if place.max_versions is None or not _size(file):  # else earlier versions make room, and the write knows how much
        grown = content.size + added_to - (0 if place.keep_versions else _size(file))
        quotas.check_room(place, files=0, size=grown)
        quotas.check_space(place.space, grown)


def _append(
    call: RunningCall,
    *,
    store: str,
    path: str,
    content: NewContent,
    actor: str | None = None,
    expected_sha: str | None = None,
    provenance: str | None = None,
    create: bool = False,
) -> Change:
    paths.writable_path(path)
    content.check_size()
    origin, beginning = origin_of(call.principal, provenance), content.beginning
    place_before, before = _state_before(call, store, path, create=create)
    ticket, prepared = quotas.share(call, quotas.cost_of(_size(before) + content.size)), None
    # Large contents are put together before the write, so that nobody waits for it.
    if _size(before) + content.size > contents.INLINE_BYTES:
        _check_before_storing(call, place_before, path, before, expected_sha, content, added_to=_size(before))
        with suppress(contents.ReplacedContent):  # then it is put together inside the write
            prepared = _joined(before, content)

    def change() -> dict[str, Any]:
        ticket.take()
        place, file = stores.state_or_new(call, store, path, create=create)
        file_rows.check_writable(call, place, path)
        file_rows.check_expected(call, place, path, file, expected_sha)
        writer = file_rows.writer_of(call, actor)
        if file is not None and file.sha and not content.size:
            same = file_rows.unchanged(call, writer, place, path, file, "append")
            return file_rows.for_writer(call, place, path, same)
        whole = prepared
        if whole is None or file != before:
            if _size(file) + content.size > _AGAIN_INSIDE:
                raise Busy("Somebody else wrote the file at this moment. Nothing was added; try again.", retry_after=1)
            whole = _joined(file, content)
        if file is None or not file.sha:
            kind, lowest = content_types.type_of(path, beginning), origin
        else:
            kind, lowest = file.content_type, origins.lowest(origin, file.origin)
        new = file_rows.hold(place, "append", whole, kind, lowest)
        answer = file_rows.write(call, writer, place, path, file, new)
        return answer if file is None or not file.sha else file_rows.for_writer(call, place, path, answer)

    return change


def _size(file: FileState | None) -> int:
    return file.size if file is not None else 0


def _joined(file: FileState | None, added: NewContent) -> NewContent:
    """The bytes of a file with more at their end; kept in blob storage if they are large."""
    if file is None or file.content is None:
        added.keep()
        return added
    return contents.joined(file.content, file.size, added)


@verb("files.delete", needs="artifacts.write", asks=_writes, refused=refusals.noted_as("delete"))
def delete_file(
    call: RunningCall, *, store: str, path: str, actor: str | None = None, expected_sha: str | None = None
) -> Change:
    """Delete a file. Its versions stay as long as the policy keeps them."""
    paths.writable_path(path)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        place, file = read_state(call.principal, store, path)
        file_rows.check_writable(call, place, path)
        file_rows.check_expected(call, place, path, file, expected_sha)
        if file is None or not file.sha:
            call.record(f"stores/{place.target}/{path}", op="delete", changed=False)
            return {"deleted": [], "count": 0}
        file_rows.write(call, file_rows.writer_of(call, actor), place, path, file, file_rows.NewVersion("delete"))
        return {"deleted": [path], "count": 1}

    return change


@handles(calls.RestoreVersion, asks=names.asks("artifacts.write", "path"), refused=refusals.noted_as("restore"))
def restore_version(call: RunningCall, request: calls.RestoreVersion) -> Change:
    """Write an earlier version again. Its provenance is the lowest of its own and the writer's."""
    path = paths.writable_path(request.path)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        place, file = read_state(call.principal, request.store, path)
        file_rows.check_writable(call, place, path)
        file_rows.check_expected(call, place, path, file, request.expected_sha)
        if file is None:
            raise NotFound(f"There never was a file {path!r} in this store.", path=path)
        old = change_log.find_kept(file.id, path, request.version)
        writer = file_rows.writer_of(call, request.actor)
        if file.sha == old.new_sha and file.content_type == old.content_type:
            same = file_rows.unchanged(call, writer, place, path, file, "restore")
            return file_rows.for_writer(call, place, path, same)
        content = change_log.content_of(old)
        contents.use(content)
        origin = origins.lowest(old.origin, origin_of(call.principal, None, content=old.origin))
        new = file_rows.NewVersion("restore", content, old.new_sha, old.size, old.content_type, origin)
        return file_rows.for_writer(call, place, path, file_rows.write(call, writer, place, path, file, new))

    return change


def origin_of(principal: Principal, claimed: str | None, *, content: str | None = None) -> str:
    """Origin of what a caller writes; with `content` that of existing content it writes again."""
    if content is not None:
        return origins.lowest(content, principal.ceiling)
    return origins.of_person_or(claimed, person=principal.kind != "agent", ceiling=principal.ceiling)
