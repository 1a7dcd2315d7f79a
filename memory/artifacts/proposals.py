"""Proposed changes of files: a file under a store's staging prefix is the proposal for the path behind the prefix.

Writing it opens or updates a review item in the same write, deleting it withdraws the item.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import RunningCall
from flux import paths
from fluxcore.errors import FluxError, Forbidden, Held, Invalid, InvalidPath, ReadOnlyPath
from fluxcore.writes import booth
from memory.artifacts import names
from memory.artifacts.models import Store
from memory.artifacts.states import StoreState, read_file
from memory.review import items, kinds
from memory.review.items import Proposal, Subject

if TYPE_CHECKING:
    from memory.artifacts.change_log import Writer
    from memory.artifacts.file_rows import NewVersion

KIND = "proposal"
PROPOSE, REVIEW = "artifacts.propose", "artifacts.review"
_writes = names.asks("artifacts.write", "path")
_KEEP_BASE = "append"  # adds to what was proposed before, so the base stays what it was then


def register() -> None:
    kinds.register(KIND, "memory.artifacts.proposal_kind.ProposalKind")


def target_of(staging: str, path: str) -> str | None:
    """The path that a staged path is the proposal for; None if the path is not staged."""
    return path[len(staging) + 1 :] if staging and path.startswith(f"{staging}/") else None


def is_staged(store: Store, path: str) -> bool:
    return target_of(store.staging, path) is not None


def checked_staging(prefix: str) -> str:
    """A staging prefix in its one form."""
    found = paths.checked_prefix(prefix)
    if not found or len(found.encode()) > paths.MAX_NAME:
        raise Invalid(f"staging_prefix must name a folder, at most {paths.MAX_NAME} bytes.", field="staging_prefix")
    return paths.writable_path(found)


def check_apart(staging: str, protected: str) -> None:
    """Refuse a staging prefix inside of a read-only prefix, or around one."""
    for prefix in protected.split("\n") if staging and protected else ():
        if paths.protecting(prefix, [staging]) or paths.protecting(staging, [prefix]):
            raise Invalid(
                f"The staging prefix {staging!r} and the read-only prefix {prefix!r} overlap. Choose another folder.",
                field="staging_prefix",
            )


def read_only(store: StoreState, path: str, prefix: str) -> ReadOnlyPath:
    """The refusal of a protected path; it names the path to write to if the store takes proposals."""
    if not store.staging:
        return ReadOnlyPath(f"{prefix!r} is read-only in this store. Write to another path.", path=path, prefix=prefix)
    staged = f"{store.staging}/{path}"
    return ReadOnlyPath(
        f"{prefix!r} is read-only in this store. To propose the change, write it to {staged!r}.",
        path=path,
        prefix=prefix,
        staged=staged,
    )


def check_may_propose(principal: Principal, store: StoreState, path: str) -> None:
    """Refuse an agent that may not write a path, unless the path is staged and the agent may propose its target."""
    target = target_of(store.staging, path)
    if target is None:
        if store.staging and may(principal, PROPOSE, f"{store.target}/{path}"):
            staged = f"{store.staging}/{path}"
            raise ReadOnlyPath(
                f"You may propose changes of {path!r}, not write it. Write the change to {staged!r}.",
                path=path,
                staged=staged,
            )
        raise _missing("artifacts.write", f"{store.target}/{path}")
    if not may(principal, PROPOSE, f"{store.target}/{target}"):
        raise _missing(PROPOSE, f"{store.target}/{target}")
    item = items.find_open(_subject(store, target))
    file = read_file(store, path) if item is None else None
    authors = item.author_names if item is not None else [file.created_by] if file is not None and file.sha else []
    if authors and authors != [principal.actor]:
        raise Held("Another proposal for this path waits for a decision. Try again when it is decided.", path=path)


def _missing(operation: str, target: str) -> Forbidden:
    missing = f"{operation}:{target}"[:600]
    return Forbidden(f"This needs the capability {missing}.", missing=missing)


def check_target(store: StoreState, path: str) -> None:
    """Refuse a new staged file for a path that no file may have."""
    if store.staging and path == store.staging:
        raise InvalidPath(f"{path!r} is the folder of proposals. Name the file: {path}/PATH.", field="path")
    target = target_of(store.staging, path)
    if target is not None:
        paths.writable_path(target)
        if paths.protecting(target, [store.staging]):
            raise InvalidPath(f"A proposal for {target!r} would be one for another proposal.", field="path")


def follow(
    call: RunningCall, writer: Writer, store: StoreState, path: str, new: NewVersion, version: int
) -> str | None:
    """Open, update or withdraw the review item of a staged file that is written or deleted; the id of an open one."""
    target = target_of(store.staging, path)
    if target is None:
        return None
    subject = _subject(store, target)
    if not new.sha:
        items.withdraw(call, subject)
        return None
    details: dict[str, Any] = {"version": version}
    opened = items.find_open(subject)
    if opened is None or new.op != _KEEP_BASE:
        existing = read_file(store, target)
        details |= {"base_sha": existing.sha if existing is not None else ""}
    if opened is None:
        details |= {"store": str(uuid.UUID(str(store.uuid))), "path": target, "staged": path}
    proposal = Proposal(
        target=f"{store.target}/{target}",
        title=f"{target} in {store.key}",
        origin=new.origin,
        label=(writer.actor or call.principal.label)[:128],
        details=details,
    )
    return str(items.open_or_update(call, subject, proposal).uuid)


def follow_same(
    call: RunningCall, writer: Writer, store: StoreState, path: str, same: NewVersion, version: int
) -> str | None:
    """The open item of a staged file that was written as it is already; opened if there is none."""
    target = target_of(store.staging, path)
    item = items.find_open(_subject(store, target)) if target is not None else None
    return str(item.uuid) if item is not None else follow(call, writer, store, path, same, version)


def _subject(store: StoreState, target: str) -> Subject:
    return Subject(store.space, KIND, str(store.id), target)


def store_deleted(store: int, *, at: datetime, by: str) -> None:
    """Withdraw the proposals of a store that is deleted."""
    items.withdraw_all(KIND, str(store), at=at, by=by, reason="The store was deleted.")


def store_restored(store: int, *, deleted_at: datetime | None, by: str) -> None:
    """Open the proposals again that the deletion of the store withdrew."""
    if deleted_at is not None:
        items.reopen_all(KIND, str(store), withdrawn_at=deleted_at, by=by)


def staging_changed(store: int, *, at: datetime, by: str) -> None:
    """Withdraw the proposals of a store whose staging prefix is another one now. Their files stay."""
    items.withdraw_all(KIND, str(store), at=at, by=by, reason="The staging prefix of the store was changed.")


def store_erased(store: int) -> None:
    """Delete the items of a store that is deleted for good."""
    items.delete_all(KIND, str(store))


def forget_decided(oldest: datetime) -> None:
    """Delete proposals that were decided before `oldest`. The audit chain keeps the decisions."""
    while booth.write(partial(items.delete_decided, KIND, oldest)) >= items.BATCH:
        pass


def asks_to_write(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """What a write of one file asks for: to write its path or, if the agent may not, to propose the change of a path.

    Whether the path is one that takes proposals is checked inside the write.
    """
    asked = list(_writes(principal, given))
    if principal.kind != "agent" or all(may(principal, *one) for one in asked) or not _proposes_some(principal):
        return asked
    try:
        store = names.find_store(principal, str(given.get("store")))
    except FluxError:
        return asked
    path = str(given.get("path"))
    wanted = f"{names.target(store)}/{target_of(store.staging, path) or path}"
    return [(PROPOSE, wanted)] if store.staging and may(principal, PROPOSE, wanted) else asked


def _proposes_some(principal: Principal) -> bool:
    return principal.capabilities.scoped(PROPOSE)
