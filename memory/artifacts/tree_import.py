"""Import of a folder in flyte's layout into a store: all of it in one write, or nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from accounts import origins
from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from flux.calls import stores as calls
from flux.memory import transcript
from fluxcore import blobs
from fluxcore.errors import Conflict
from memory.artifacts import content_types, contents, file_rows, names, stores, transcripts
from memory.artifacts.change_log import Writer
from memory.artifacts.contents import NewContent
from memory.artifacts.states import FileState, StoreState, read_file, read_state
from memory.artifacts.tree_folder import MemoryTree, TreeContent


def _imports(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To write the store as a whole, and to read and write its transcript if there are messages."""
    request = given["request"]
    where = names.target_of(**stores.coordinates(principal, request))
    operations = [("artifacts.write", f"{where}/")]
    if given["found"].messages:
        operations += [("transcript.read", where), ("transcript.write", where)]
    return [(operation, None if may(principal, operation) else target) for operation, target in operations]


@verb("stores.import", needs="artifacts.write", asks=_imports)
def import_tree(
    call: RunningCall,
    *,
    request: calls.CreateStore,
    found: MemoryTree,
    provenance: str | None = None,
    advance: Callable[[], object] = lambda: None,
) -> Change:
    """Write a checked tree into a store, which is created if it does not exist. Files that are as in the tree stay."""
    where = stores.coordinates(call.principal, request)
    origin = origins.capped(provenance, ceiling=call.principal.ceiling)
    _keep_large(found)

    def change() -> dict[str, Any]:
        row, created = stores.find_or_create(call, where)
        store, _ = read_state(call.principal, str(row.uuid), "")
        tally = {"files": 0, "versions": 0, "unchanged": 0}
        for path, versions in sorted(found.files.items()):
            written = _import_file(call, store, path, versions, origin)
            tally["files"] += written > 0
            tally["versions"] += max(written - 1, 0)
            tally["unchanged"] += written == 0
            advance()
        messages = _import_messages(call, store, found.messages, origin)
        call.record(f"stores/{store.target}", created=created, messages=messages, counts=tally)
        return {
            "store": str(store.uuid),
            "key": store.key,
            "created": created,
            **tally,
            "messages": messages,
            "ignored": found.ignored,
        }

    return change


def _keep_large(found: MemoryTree) -> None:
    """Put large contents into blob storage, before the write that refers to them."""
    for versions in found.files.values():
        for content in versions:
            if content.size > contents.INLINE_BYTES:
                blobs.of_instance().put(_of_file(content).parts(), digest=content.sha)


def _of_file(content: TreeContent) -> NewContent:
    return NewContent(content.sha, content.size, file=content.place)


def _import_file(call: RunningCall, store: StoreState, path: str, versions: list[TreeContent], origin: str) -> int:
    """Write what the tree has beyond the store; the number of versions that were written."""
    file_rows.check_writable(call, store, path)
    file = read_file(store, path)
    wanted = _missing(file, versions) if store.keep_versions or file is not None else versions[-1:]
    for content in wanted:
        data = _read(content)
        kind = content_types.type_of(path, data.beginning)
        op = "update" if file is not None and file.sha else "create"
        new = file_rows.hold(store, op, data, kind, origin)
        writer = Writer(call.principal.actor, content.actor, content.reason, content.at)
        file_rows.write(call, writer, store, path, file, new)
        file = read_file(store, path)
    return len(wanted)


def _missing(file: FileState | None, versions: list[TreeContent]) -> list[TreeContent]:
    """The versions that follow the one the store has; of a file that is not in the tree's history only the newest."""
    if file is None:
        return versions
    same = [at for at, content in enumerate(versions) if content.sha == file.sha]
    return versions[same[-1] + 1 :] if same else versions[-1:]


def _read(content: TreeContent) -> NewContent:
    """The bytes of a content; of a large one, which is in blob storage, only where they are."""
    if content.size > contents.INLINE_BYTES:
        return _of_file(content)
    data = content.place.read_bytes()
    if hashlib.sha256(data).hexdigest() != content.sha:
        raise Conflict(f"{content.place} was changed while it was imported. Nothing was imported; try again.")
    return NewContent(content.sha, content.size, data=data)


def _import_messages(call: RunningCall, store: StoreState, messages: list[dict[str, Any]], origin: str) -> int:
    """Append the messages that the transcript does not have already; how many."""
    if not messages:
        return 0
    base = transcript.texts(list(transcripts.all_messages(store)))
    _, added = transcript.difference(base, transcript.texts(messages))
    rows = [transcripts.prepared(message) for message in messages[len(messages) - len(added) :]]
    if rows:
        transcripts.add(call, store, rows, origin, "")
    return len(rows)
